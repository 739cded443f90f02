"""Do a table's own speedups, efficiencies and scores fit what follows from its times?

A published speedup is rounded, and may be relative to a row that is not shown: then it is the same multiple of the computed one in every
row.  Anything else contradicts the times.  Cannot tell: which of the two is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fireassay.estimates.format import number
from fireassay.spec.timings import Score, Timings
from fireassay.verdict.claims.rubric_types import Limits, RubricRow

# Tolerance for binary rounding: 0.871 - 0.866 > 0.005 in floating point.
CLOSE: Final = 1e-9


def beside(value: float, limit: float, decimals: int) -> str:
    """A value as it is printed, on its side of a limit; what is within binary rounding of the limit is the limit."""
    return number(limit if math.isclose(value, limit, rel_tol=CLOSE) else value, decimals, beside=(limit,))


def limit_text(limit: float) -> str:
    """A limit with two decimals, or as many as it was given."""
    return f"{limit:.2f}" if float(f"{limit:.2f}") == limit else f"{limit:.12g}"


def at_most(value: float, limit: float) -> bool:
    """True if a value is within a limit, with tolerance for binary rounding."""
    return value <= limit or math.isclose(value, limit, rel_tol=CLOSE)


def tolerance_of(score: Score, limits: Limits) -> float:
    """Its own, or that of all."""
    return limits.tolerance if score.tolerance is None else score.tolerance


def better(rows: Sequence[RubricRow], limits: Limits, timings: Timings) -> Iterator[str]:
    """Rows whose quality is better than the base's by more than the tolerance: no loss, and perhaps another training."""
    for place, score in enumerate(timings.scores):
        sign, factor = (-1.0 if score.lower else 1.0), (100.0 if score.percent else 1.0)
        drifts = {row.workers: drift for row in rows if (drift := row.scores[place].drift) is not None}
        gained = [workers for workers, drift in drifts.items() if not at_most(sign * drift, tolerance_of(score, limits))]
        if not gained:
            continue
        counts = ", ".join(map(str, gained))
        most = max(abs(drifts[workers]) for workers in gained) * factor
        yield f"The {score.name} at p = {counts} is better than that of the base row, by up to {most:.3g}: no loss, but was it the same training?"


OWN_AGREES: Final = 0.05  # relative difference between a table's own number and the computed one: both were rounded
OWN_ROUNDED: Final = {"speedup": 0.05, "efficiency": 0.01}  # and the absolute one
MAX_CONTRADICTED: Final = 3  # rows in the sentence


def own_numbers(rows: Sequence[RubricRow], timings: Timings) -> Iterator[str]:
    """Where the table's own speedups and efficiencies are not those that follow from its times."""
    for name in ("speedup", "efficiency"):
        given = {timing.workers: getattr(timing, f"own_{name}") for timing in timings.rows}
        known = [row for row in rows if given[row.workers] is not None]
        own = {row.workers: given[row.workers] / (100.0 if name == "efficiency" and _in_percent(given) else 1.0) for row in known}
        pairs = [(row, own[row.workers], getattr(row, name)) for row in known]
        off = [pair for pair in pairs if abs(pair[1] - pair[2]) > OWN_AGREES * pair[2] + OWN_ROUNDED[name]]
        if off:
            yield _contradicted(name, pairs, off, rows[0].workers)


def _in_percent(given: Mapping[int, float | None]) -> bool:
    return max((value for value in given.values() if value is not None), default=0.0) > MAX_AS_FRACTION


MAX_AS_FRACTION: Final = 5.0  # of a parallel efficiency; above it, it is in percent


def _contradicted(
    name: str, pairs: Sequence[tuple[RubricRow, float, float]], off: Sequence[tuple[RubricRow, float, float]], base_workers: int
) -> str:
    ratios = [own / computed for _, own, computed in pairs if computed]
    middle = sorted(ratios)[len(ratios) // 2]
    if all(abs(ratio / middle - 1.0) <= OWN_AGREES for ratio in ratios):
        return f"The table's own {name} is {middle:.3g} times the computed one in every row: it is relative to another base than its first row."
    form = "{:.3g}".format if name == "speedup" else "{:.1%}".format
    shown = "; ".join(f"{form(own)} at {row.workers}, computed {form(computed)}" for row, own, computed in off[:MAX_CONTRADICTED])
    more = f"; {len(off) - MAX_CONTRADICTED} more" if len(off) > MAX_CONTRADICTED else ""
    divides = base_workers > 1 and all(abs(own * base_workers - computed) <= 2 * OWN_AGREES * computed for _, own, computed in off)
    why = f" It divides by all workers, although its base row has {base_workers}." if name == "efficiency" and divides else ""
    return f"The table's own {name} contradicts its times: {shown}{more}.{why}"
