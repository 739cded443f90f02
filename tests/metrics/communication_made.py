"""Collectives written down by hand, in milliseconds after their step began."""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.estimates.estimate import Estimate, Value
from tests.handmade import Handmade

MS = 1_000_000
Call = tuple[float, float | None]  # from, until, ms after the step's begin; None: its end was not seen


def calls(
    made: Handmade,
    number: int,
    rank: int,
    step: int,
    spans: Sequence[Call],
    *,
    step_s: float = 0.1,
    ranks: int = 2,
    group: str = "0",
    op: str = "all_reduce",
    incarnation: int = 0,
    phase: str = "",
    first: int | None = None,
) -> None:
    """A rank's collectives of one step; calls are numbered on from step to step, as many in each."""
    origin = made.begin[number] + round(step * step_s * 1e9)
    for place, (begin, end) in enumerate(spans):
        made.rows["collectives"].append(
            (
                number,
                rank,
                incarnation,
                group,
                (step * len(spans) if first is None else first) + place,
                step,
                op,
                ranks,
                1000,
                "float32",
                phase,
                None,
                origin + round(begin * MS),
                None if end is None else origin + round(end * MS),
                None,
                None,
                None,
                "host",
            )
        )


def told(
    made: Handmade,
    number: int,
    rank: int,
    step: int,
    method: str,
    exposed_ms: float | None,
    *,
    total_ms: float | None = None,
    compute_ms: float | None = None,
    incarnation: int = 0,
) -> None:
    """What a step's communication took by one way."""
    total, exposed, compute = (None if one is None else round(one * MS) for one in (total_ms, exposed_ms, compute_ms))
    made.rows["communication"].append((number, rank, incarnation, step, method, total, exposed, compute, None))


def ms(value: Value) -> float:
    """An estimate in milliseconds."""
    assert isinstance(value, Estimate), value
    return value.value * 1e3
