"""What is settled before an item is asked: is the margin below the score's scale, which stop strings are sent, and what identifies the items?

An answer is cut at all stop strings of its task in any case, so sending them saves tokens and time, and moves no score.  Not sent are those
of white space alone, which would end reasoning, or an answer that begins with a line break, before its first word, and those of programs, which
stand in chats too.  OpenAI takes four; what a user's option `json.stop` says is left as it is.

There is a digest of each part that decides a score, so that a difference is named.  Digests are of what was read, never of a file's bytes: the
same items in another order of keys, with other line ends or in another file are the same task.

How are programs judged?  Each in its own sandbox, by tests outside of it; what the machine did to a program is no wrong answer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from fireassay import catalog
from fireassay.errors import Interrupted, refuse
from fireassay.quality.rows import PROPER, Asked
from fireassay.quality.sandbox.check import program
from fireassay.quality.sandbox.outcomes import Limits
from fireassay.quality.sandbox.pool import check_all
from fireassay.quality.sandbox.probing import probe
from fireassay.quality.sandbox.tiers import signature
from fireassay.quality.scoring.items import Item, Task
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.serving import Target


def check_margin(experiment: Experiment, metric: TextMetric) -> None:
    """Check the margin against the score that decides. Raises SpecError: the margin is as wide as the score's whole scale."""
    lowest, highest = metric.scale
    if experiment.quality is None or experiment.quality.margin < highest - lowest:
        return
    allowed = f"less than {highest - lowest:g}: {metric.title} goes from {lowest:g} to {highest:g}"
    fix = f"Quality would be held whatever is answered. A loss of two points is {(highest - lowest) / 50:g}."
    raise refuse("quality.margin", f"{experiment.quality.margin:g}", allowed, fix, source="the evaluation")


MAX_STOPS: Final = 4
STOPPING: Final = ("chat", "completions", "image_chat")  # requests whose dialects know stop strings


def common_stops(tasks: Sequence[Task]) -> tuple[str, ...]:
    """The stop strings that every task of a load has, in the first one's order."""
    if any(task.method != "generation" for task in tasks):
        return ()
    return tuple(stop for stop in tasks[0].stop if stop.strip() and all(stop in task.stop for task in tasks))[:MAX_STOPS]


def sent_stops(target: Target, request: str, stops: Sequence[str]) -> tuple[str, ...]:
    """Those that this engine gets; none if its dialect knows none."""
    given = {"json.stop", "body.stop"} & target.options.keys()
    known = catalog.load("traffic.backends", target.backend).stops and request in STOPPING and not target.options.get("native")
    return tuple(stops) if known and not given else ()


def with_stops(target: Target, stops: Sequence[str]) -> Target:
    """The engine, with these in every request."""
    return target.model_copy(update={"options": {**target.options, "json.stop": json.dumps(list(stops))}}) if stops else target


def item_digests(items: Sequence[Item]) -> dict[str, str]:
    """part -> digest.

    `items` are the ids in their order, so another limit or order is another one; all other parts go by id, whatever the order.
    """
    ordered = sorted(items, key=lambda item: item.id)
    return {
        "items": f"{len(items)} items, {digest([item.id for item in items])}",
        "prompts": digest([item.prompt or json.dumps([dict(message) for message in item.messages], sort_keys=True) for item in ordered]),
        "references": _digest_of([item.references for item in ordered]),
        "choices": _digest_of([item.choices for item in ordered]),
        "clusters": _digest_of([item.cluster for item in ordered]),
        "groups": _digest_of([sorted(item.groups.items()) for item in ordered]),
        "weights": _digest_of([item.weight for item in ordered]),
        "tests": _digest_of([(item.entry_point, item.test) for item in ordered]),
    }


def _digest_of(values: Sequence[object]) -> str:
    return digest([repr(value) for value in values])


def digest(texts: Sequence[str]) -> str:
    """SHA-256 of the texts, each with its length."""
    whole = sha256()
    for text in texts:
        whole.update(len(text).to_bytes(8, "big"))
        whole.update(text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


# ---- programs --------------------------------------------------------------------------------------------------------


CODE_METRIC: Final = "pass_at_1"


def code_signature() -> str:
    """What moves a verdict: the isolation, its limits, and the interpreter.

    Raises:
        EnvironmentLacks: code cannot be isolated on this machine.
    """
    return f"metric:{CODE_METRIC}|{signature(probe(), Limits())}"


def judged_programs(asked: Sequence[Asked]) -> tuple[list[Asked], list[float | None]]:
    """The items with the outcome of their programs, and the score of each: 1, 0, or None where nothing was judged.

    Raises:
        Interrupted: the user stopped it.
    """
    places = [index for index, one in enumerate(asked) if one.outcome == PROPER]
    programs = [program(asked[index].item, _code(asked[index])) for index in places]
    checked = check_all(programs, max(1, os.cpu_count() or 1))
    if checked.interrupted:
        raise Interrupted("the programs were not all judged")
    after: list[Asked] = list(asked)
    scores: list[float | None] = [None] * len(asked)
    for index, result in zip(places, checked.results, strict=True):
        assert result is not None
        scores[index] = result.score
        outcome = PROPER if result.score is not None else result.outcome
        judged = f"{result.outcome}: {result.detail}" if result.detail else result.outcome
        after[index] = replace(asked[index], outcome=outcome, judged=judged)
    return after, scores


def _code(one: Asked) -> str:
    return (one.extraction.answer if one.extraction is not None else None) or ""
