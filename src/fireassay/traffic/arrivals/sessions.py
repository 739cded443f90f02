"""How do the requests of a conversation follow each other?

A conversation has `turns` turns; each turn is a request plus `tool_steps` further ones, each after a tool call.  A request's `turn` counts
all of them.  Pauses are exponential: think time before a turn, tool time before a step.  Every request consumes one draw, so shorter loads
are prefixes of longer ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fireassay.traffic.arrivals.draws import NS, Floats, Ints, exponential, source
from fireassay.traffic.arrivals.schedule import NONE, THINK, TOOL, Schedule, replaced, rows

if TYPE_CHECKING:
    from fireassay.spec.sections.serving import Prompts


def length(prompts: Prompts) -> int:
    """Requests per conversation."""
    return prompts.turns * (1 + prompts.tool_steps)


def paused(load: Schedule, prompts: Prompts, seed: int, between_s: float = 0.0) -> Schedule:
    """The load with its pauses: before every later request of a conversation, and of mean `between_s` before a stream's next one."""
    if not (prompts.think_s or prompts.tool_steps or between_s):
        return load
    follows = load.due_ns == NONE
    tool = (load.turn > 0) & (load.turn % (1 + prompts.tool_steps) != 0)
    mean_s: Floats = np.where(tool, prompts.tool_s, np.where(load.turn > 0, prompts.think_s, between_s))
    draws = np.rint(exponential(source(seed, "pauses"), len(load)) * mean_s * NS).astype(np.int64)
    thinking = follows & ~tool & (mean_s > 0.0)
    kinds = np.where(follows & tool, TOOL, np.where(thinking, THINK, 0))
    return replaced(load, pause_ns=np.where(follows, draws, 0), pause_kind=kinds)


def started(due_ns: Ints, steps: int) -> Schedule:
    """Conversations that start at these times, each of `steps` requests, concatenated."""
    n = len(due_ns) * steps
    turn = np.tile(np.arange(steps), len(due_ns))
    return rows(n, session=np.repeat(np.arange(len(due_ns)), steps), turn=turn, due_ns=np.where(turn == 0, np.repeat(due_ns, steps), NONE))
