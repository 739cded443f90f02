"""How are programs judged?  Each in its own sandbox, by tests outside of it; what the machine did to a program is no wrong answer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from fireassay.errors import Interrupted
from fireassay.quality.rows import PROPER, Asked
from fireassay.quality.sandbox.check import check_all, program
from fireassay.quality.sandbox.probing import probe
from fireassay.quality.sandbox.tiers import Limits, signature

METRIC: Final = "pass_at_1"


def code_signature() -> str:
    """What moves a verdict: the isolation, its limits, and the interpreter.

    Raises:
        EnvironmentLacks: code cannot be isolated on this machine.
    """
    return f"metric:{METRIC}|{signature(probe(), Limits())}"


def judged(asked: Sequence[Asked]) -> tuple[list[Asked], list[float | None]]:
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
