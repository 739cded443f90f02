"""Which row of an external table is recommended, cheapest, fastest, and best under a deadline or a budget?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from fireassay.verdict.claims.rubric.types import Limits, Pick, RubricRow

CLOSE: Final = 1e-9


def at_most(value: float, limit: float) -> bool:
    """Whether a value is within a limit, with tolerance for binary rounding."""
    return value <= limit or math.isclose(value, limit, rel_tol=CLOSE)


def picks(rows: Sequence[RubricRow], limits: Limits) -> tuple[Pick, ...]:
    """The recommended, cheapest and fastest row, and those under the deadline and the budget."""
    held = [row for row in rows if not row.refused]
    efficient = [row for row in held if at_most(limits.efficiency, row.efficiency)]
    in_time = [row for row in held if limits.deadline_s is None or (row.seconds is not None and at_most(row.seconds, limits.deadline_s))]
    paid = [row for row in held if limits.budget_usd is None or (row.usd is not None and at_most(row.usd, limits.budget_usd))]
    meets_all = [row for row in efficient if row in in_time and row in paid]
    chosen = [
        _pick("recommended", meets_all, lambda row: -row.workers, f"the most workers with {_conditions(rows, limits)}"),
        _pick("cheapest", [row for row in held if _priced(row)], _price, "the lowest cost of the same work"),
        _pick("fastest", held, lambda row: -row.speedup, "the largest speedup"),
    ]
    if limits.deadline_s is not None:
        goal = f"within {limits.deadline_s:g} s"
        chosen.append(_pick("under deadline", in_time, _price, f"{_cheapest_or_fewest(rows)} {goal}"))
    if limits.budget_usd is not None:
        chosen.append(_pick("under budget", paid, lambda row: -row.speedup, f"the fastest for at most ${limits.budget_usd:g}"))
    return tuple(chosen)


def _pick(goal: str, among: Sequence[RubricRow], best: Callable[[RubricRow], float], reason: str) -> Pick:
    if not among:
        return Pick(goal=goal, workers=None, sentence=reason)
    chosen = min(among, key=lambda row: (best(row), row.workers))
    return Pick(goal=goal, workers=chosen.workers, sentence=reason)


def _priced(row: RubricRow) -> bool:
    return any(price is not None for price in (row.usd_per_item, row.usd_per_step, row.usd))


def _price(row: RubricRow) -> float:
    """Cost of equal work; without prices the worker count."""
    for price in (row.usd_per_item, row.usd_per_step, row.usd):
        if price is not None:
            return price
    return float(row.workers)


def _cheapest_or_fewest(rows: Sequence[RubricRow]) -> str:
    return "the cheapest" if any(row.usd is not None for row in rows) else "the fewest workers"


def _conditions(rows: Sequence[RubricRow], limits: Limits) -> str:
    conditions = ["quality held"] if rows[0].quality is not None else []
    conditions.append(f"efficiency of at least {limits.efficiency:.2f}")
    if limits.deadline_s is not None:
        conditions.append(f"at most {limits.deadline_s:g} s")
    if limits.budget_usd is not None:
        conditions.append(f"at most ${limits.budget_usd:g}")
    return " and ".join([*([", ".join(conditions[:-1])] if conditions[1:] else []), conditions[-1]])
