"""Which stop strings does an engine get, so that it ends there instead of writing what is cut off?

An answer is cut at all stop strings of its task in any case, so sending them saves tokens and time, and moves no score.  Not sent are those
of white space alone, which would end reasoning, or an answer that begins with a line break, before its first word, and those of programs, which
stand in chats too.  OpenAI takes four; what a user's option `json.stop` says is left as it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from fireassay import catalog
from fireassay.quality.scoring.items import Task
from fireassay.spec.sections.serving import Target

MOST: Final = 4
STOPPING: Final = ("chat", "completions", "image_chat")  # requests whose dialects know stop strings


def common(tasks: Sequence[Task]) -> tuple[str, ...]:
    """The stop strings that every task of a load has, in the first one's order."""
    if any(task.method != "generation" for task in tasks):
        return ()
    return tuple(stop for stop in tasks[0].stop if stop.strip() and all(stop in task.stop for task in tasks))[:MOST]


def sent(target: Target, request: str, stops: Sequence[str]) -> tuple[str, ...]:
    """Those that this engine gets; none if its dialect knows none."""
    given = {"json.stop", "body.stop"} & target.options.keys()
    known = catalog.load("traffic.backends", target.backend).stops and request in STOPPING and not target.options.get("native")
    return tuple(stops) if known and not given else ()


def with_stops(target: Target, stops: Sequence[str]) -> Target:
    """The engine, with these in every request."""
    return target.model_copy(update={"options": {**target.options, "json.stop": json.dumps(list(stops))}}) if stops else target
