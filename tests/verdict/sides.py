"""Records for tests of checks: one configuration, five launches whose wall times are given; written by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fireassay.spec.experiment import Quality
from fireassay.verdict.comparison.types import Side
from tests.handmade import Handmade
from tests.verdict.judging import judge_once

RIPPLE = (-0.02, 0.01, 0.0, 0.02, -0.01)  # logs; mean 0, sd sqrt(0.001/4) = 0.015811


def made(
    seconds: Sequence[float] | float = 10.0,
    *,
    day: int = 1,
    identifier: str = "",
    session: str | None = None,
    right: int | None = None,
    failed: int = 0,
    reason: str = "made to fail",
) -> Handmade:
    """A record of 1 worker; a single number is the geometric mean of five launches that scatter as RIPPLE."""
    walls = [seconds * math.exp(x) for x in RIPPLE] if isinstance(seconds, (int, float)) else list(seconds)
    quality = None if right is None else Quality(metric="accuracy", margin=0.02)
    record = Handmade(levels=(1,), blocks=len(walls) + failed, quality=quality)
    for block, wall in enumerate(walls):
        number = record.launch(workers=1, block=block, wall_s=wall)
        if right is not None:
            record.scores(number, [1.0 if example < right else 0.0 for example in range(400)])
    for extra in range(failed):
        record.launch(workers=1, block=len(walls) + extra, status="failed", reason=reason)
    record.manifest |= {"id": identifier or f"day-{day}", "created_utc": f"2026-01-{day:02d}T00:00:00Z", "name": "handmade"}
    if session is not None:
        record.manifest["session"] = {"id": session}
    return record


def side(label: str, record: Handmade, **how: Any) -> Side:
    """The record, judged."""
    measured = record.measured(**how)
    return Side(label=label, measured=measured, judgement=judge_once(record, measured))
