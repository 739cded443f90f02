"""Do a table's own costs fit each other, its prices and its times?

    cost of a row = price x time;  of a step = cost / steps;  of an item = cost / work;  items per dollar = work / cost

Without a column of work, the cost of an item and the items per dollar are the table's own, and cost / (cost of an item) is the work that they
imply.  If that changes from row to row the rows did different work, and a speedup of their times is none.  Cannot tell: which column is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from fireassay.spec.timings import Timing, Timings
from fireassay.verdict.claims.own_numbers import MAX_CONTRADICTED, OWN_AGREES
from fireassay.verdict.claims.rubric_types import Mode

CENT: Final = 0.005  # what a cost with two decimals may be rounded by
SAME_WORK: Final = 0.03  # relative difference of works that are implied by rounded costs
COSTS: Final[Mapping[str, tuple[str, float]]] = {  # of `Timing.own_...`: its name in a sentence, and what it may be rounded by
    "usd": ("cost", CENT),
    "usd_per_step": ("cost of a step", 0.0),
    "usd_per_item": ("cost of an item", 0.0),
    "items_per_usd": ("items per dollar", 0.0),
}
_COMPUTED: Final[Mapping[str, Callable[[Timing], float | None]]] = {
    "usd": lambda row: row.usd,
    "usd_per_step": lambda row: _ratio(row.usd, row.steps),
    "usd_per_item": lambda row: _ratio(row.usd, row.work),
    "items_per_usd": lambda row: _ratio(row.work, row.usd),
}


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None


def costs_of_work(row: Timing) -> tuple[float | None, float | None]:
    """Dollars per item and items per dollar: from cost and work, else the table's own."""
    if row.work is not None:
        return _ratio(row.usd, row.work), _ratio(row.work, row.usd)
    per_item, per_usd = row.own_usd_per_item, row.own_items_per_usd
    return (per_item if per_item is not None else _ratio(1.0, per_usd)), (per_usd if per_usd is not None else _ratio(1.0, per_item))


def own_costs(timings: Timings, mode: Mode) -> Iterator[str]:
    """Where the table's own costs are not those that follow from its other columns."""
    for name, (title, rounded) in COSTS.items():
        pairs = [
            (row.workers, own, computed)
            for row in timings.rows
            if (own := getattr(row, f"own_{name}")) is not None and (computed := _COMPUTED[name](row)) is not None
        ]
        if any(_differ(own, computed, rounded) for _, own, computed in pairs):
            yield _contradicted(title, pairs, rounded)
    yield from _reciprocals(timings.rows)
    if mode == "assumed strong":
        yield from _implied_work(timings.rows)


def _differ(own: float, computed: float, rounded: float) -> bool:
    return abs(own - computed) > OWN_AGREES * abs(computed) + rounded


def _contradicted(title: str, pairs: Sequence[tuple[int, float, float]], rounded: float) -> str:
    ratios = sorted(own / computed for _, own, computed in pairs if computed)
    middle = ratios[len(ratios) // 2] if ratios else 0.0
    if len(ratios) == len(pairs) > 1 and middle and all(abs(ratio / middle - 1.0) <= OWN_AGREES for ratio in ratios):
        return f"The table's own {title} is {middle:.3g} times the computed one in every row: by another price, or with costs that are not shown."
    off = [pair for pair in pairs if _differ(pair[1], pair[2], rounded)]
    shown = "; ".join(f"{own:.4g} at {workers}, computed {computed:.4g}" for workers, own, computed in off[:MAX_CONTRADICTED])
    more = f"; {len(off) - MAX_CONTRADICTED} more" if len(off) > MAX_CONTRADICTED else ""
    return f"The table's own {title} contradicts its other columns: {shown}{more}. The computed one is used."


def _reciprocals(rows: Sequence[Timing]) -> Iterator[str]:
    """A cost of an item that is not the reciprocal of the items per dollar."""
    off = [
        f"{own:.4g} at {row.workers} times {per_usd:.4g}"
        for row in rows
        if (own := row.own_usd_per_item) is not None and (per_usd := row.own_items_per_usd) is not None and _differ(own * per_usd, 1.0, 0.0)
    ]
    if off:
        yield f"The table's own cost of an item is not the reciprocal of its items per dollar: {'; '.join(off[:MAX_CONTRADICTED])}, not 1."


def _implied_work(rows: Sequence[Timing]) -> Iterator[str]:
    """Works that follow from rounded costs and differ by more than the rounding."""
    works = [
        (row.workers, row.usd * per_usd, CENT / row.usd)
        for row in rows
        if row.work is None and row.usd and (per_usd := costs_of_work(row)[1]) is not None
    ]
    if len(works) < 2:
        return
    (first, base, rounded), *others = works
    off = [(workers, work) for workers, work, error in others if abs(work / base - 1.0) > SAME_WORK + error + rounded]
    if off:
        shown = ", ".join(f"{work:.4g} at {workers}" for workers, work in off[:MAX_CONTRADICTED])
        yield (
            f"By its own costs the table did other work in each row: {base:.4g} at {first}, {shown}. Then its speedups are none: add a column of "
            "work, or use --scaling weak if the work grows with the workers."
        )
