"""What do the streams of a closed loop send?

Each stream sends its next request when the previous one has ended.  Request j of stream s has number j * streams + s: the sending order
if all took equally long.  A stream runs one conversation after another; users are streams with think time between conversations as well
as between turns.

How many a stream will send depends on the engine, so more are scheduled than any engine can answer: 5000 per second per stream, 20,000
per second in total, and a million per launch.  Beyond that `arrivals.requests` must be set, which is then exact.

Which client process sends a request, and which request must end first?

How do the requests of a conversation follow each other?

A conversation has `turns` turns; each turn is a request plus `tool_steps` further ones, each after a tool call.  A request's `turn` counts
all of them.  Pauses are exponential: think time before a turn, tool time before a step.  Every request consumes one draw, so shorter loads
are prefixes of longer ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from fireassay.traffic.arrivals.draws import NS, Floats, exponential, horizon_ns, source
from fireassay.traffic.arrivals.schedule import COLD, NONE, THINK, TOOL, Ints, Schedule, chosen, replaced, rows

if TYPE_CHECKING:
    from fireassay.spec.sections.serving import Arrivals, Prompts, Serving


def mine(schedule: Schedule, k: int, n: int) -> Ints:
    """Numbers of the requests that client process `k` of `n` sends, ascending; shape [requests of this client].

    All cold requests belong to process 0.  A request belongs to the same process as its predecessor.
    """
    if not 0 <= k < n:
        raise ValueError(f"no client process {k} of {n}")
    return np.flatnonzero(_owners(schedule, n) == k)


def predecessors(schedule: Schedule) -> Ints:
    """Each request's predecessor, -1 where it has its own due time; shape [requests].

    With `together` it is the last request of the previous group, all of which must have ended.
    """
    previous = np.full(len(schedule), NONE, dtype=np.int64)
    cold = schedule.phase == COLD
    _chain(previous, np.where(cold, 0, NONE))
    _chain(previous, np.where(cold, NONE, schedule.stream))
    later = _chain(np.full_like(previous, NONE), schedule.session)
    previous = np.where((schedule.session >= 0) & (schedule.turn > 0), later, previous)
    if schedule.together:
        positions = np.arange(len(schedule)) - int(cold.sum())
        group = positions // schedule.together
        previous = np.where(cold, previous, group * schedule.together - 1 + int(cold.sum()))
    return np.where(schedule.due_ns == NONE, previous, NONE)


def _owners(schedule: Schedule, n: int) -> Ints:
    if schedule.together:
        return np.zeros(len(schedule), dtype=np.int64)
    key = np.where(schedule.session >= 0, schedule.session, np.arange(len(schedule), dtype=np.int64))
    key = np.where(schedule.stream >= 0, schedule.stream, key)
    return np.where(schedule.phase == COLD, 0, key % n)


def _chain(previous: Ints, keys: Ints) -> Ints:
    """Write into `previous` the nearest earlier number with the same key, for non-negative keys."""
    order = np.argsort(keys, kind="stable")
    order = order[keys[order] >= 0]
    same = keys[order[1:]] == keys[order[:-1]]
    previous[order[1:][same]] = order[:-1][same]
    return previous


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


PER_STREAM: Final = 5000.0  # requests per second that no stream reaches
IN_ALL: Final = 20_000.0
MAX_REQUESTS: Final = 1_000_000


def count(arrivals: Arrivals, streams: int) -> int:
    """Requests to schedule for this many streams."""
    if arrivals.requests is not None:
        return arrivals.requests
    seconds = horizon_ns(arrivals) / NS
    expected = int(seconds * min(PER_STREAM * streams, IN_ALL)) + 1
    return max(min(expected, MAX_REQUESTS), 2 * streams)


def closed(serving: Serving, streams: int, seed: int) -> Schedule:
    """Requests of this many streams, conversation after conversation without pauses between them."""
    load = _streams(serving, streams)
    return _possible(paused(load, serving.prompts, seed), serving.arrivals, streams)


def users(serving: Serving, streams: int, seed: int) -> Schedule:
    """Requests of this many users. At the start each user is thinking, as in steady state."""
    think_s = serving.prompts.think_s
    first_ns = np.rint(exponential(source(seed, "users"), streams) * think_s * NS).astype(np.int64)
    load = _streams(serving, streams, first_ns, always_sessions=True)
    return _possible(paused(load, serving.prompts, seed, think_s), serving.arrivals, streams)


def queries(arrivals: Arrivals) -> Schedule:
    """MLPerf's MultiStream: one query of several requests at a time."""
    together = arrivals.samples_per_query
    n = count(arrivals, together)
    numbers = np.arange(n, dtype=np.int64)
    load = rows(n, stream=numbers % together, due_ns=np.where(numbers < together, 0, NONE))
    return replace(load, together=together)


def _streams(serving: Serving, streams: int, first_ns: Ints | None = None, *, always_sessions: bool = False) -> Schedule:
    n = count(serving.arrivals, streams)
    numbers = np.arange(n, dtype=np.int64)
    stream, position = numbers % streams, numbers // streams
    starts_ns = np.zeros(streams, dtype=np.int64) if first_ns is None else first_ns
    load = rows(n, stream=stream, due_ns=np.where(position == 0, starts_ns[stream], NONE))
    steps = length(serving.prompts)
    if steps == 1 and not always_sessions:
        return load
    return replaced(load, session=position // steps * streams + stream, turn=position % steps)


def _possible(load: Schedule, arrivals: Arrivals, streams: int) -> Schedule:
    """Drop requests that cannot become due in time, by the pauses before them alone."""
    if arrivals.requests is not None or not (load.pause_ns.any() or load.due_ns.max(initial=0)):
        return load
    rounds = -(-len(load) // streams)
    waits_ns = np.zeros((rounds, streams))
    waits_ns.ravel()[: len(load)] = load.pause_ns + np.maximum(load.due_ns, 0)
    earliest = np.cumsum(waits_ns, axis=0).ravel()[: len(load)]
    return chosen(load, np.flatnonzero(earliest < horizon_ns(arrivals)))
