"""How much did a row of an external table cost, and for what?

    C = compute + unused reservation + storage + egress + lost work

Compute is the table's own cost, or hours x its price per hour, or x the price that the user gives; a column called "total cost" holds the
other parts already.  All sums are of the whole row.  Cannot tell: prices that differ between rows, unless the table has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fireassay.errors import Problem
from fireassay.spec.sections.prices import HOURS_PER_MONTH, Prices, of_launches
from fireassay.spec.tables.columns import PARTS, Column
from fireassay.spec.tables.rows import Values

SECONDS_PER_HOUR: Final = 3600.0
Parts = tuple[tuple[str, float], ...]


@dataclass(frozen=True, kw_only=True)
class Billed:
    """The time that a row is paid for."""

    workers: float
    seconds: float
    whole_run: bool  # False: the seconds are those of a step, or of a unit of work
    steps: float | None = None  # in these seconds


def row_cost(at: int, values: Values, billed: Billed, given: tuple[Mapping[str, Column], Prices | None], problems: list[Problem]) -> Parts:
    """(part, US dollars) of a row, compute first; empty: its compute is not priced."""
    columns, prices = given
    others = {part.removesuffix("_usd"): value for part in PARTS if (value := values.get(part)) is not None}
    others |= _given_parts(prices, billed)
    others |= _unused(prices, billed)
    if others and not billed.whole_run:
        problems.append(_of_a_run(at, others))
        return ()
    compute = _compute(values, billed, columns, prices)
    if compute is None:
        if others:
            found = f"{' and '.join(others)} without the cost of compute"
            problems.append(
                Problem(f"row {at}", found, "a price per hour, or a cost of compute", "Give --price USD of one worker for one hour.")
            )
        return ()
    if "usd" in columns and columns["usd"].heading.word == "total":
        compute -= sum(others.values())
        if compute < -1e-9:
            found = f"{values['usd']:g}, less than {' and '.join(others)} together"
            problems.append(Problem(f"row {at}, column {columns['usd'].name.strip()}", found, "a total of at least its parts"))
    return (("compute", max(0.0, compute)), *others.items())


def _of_a_run(at: int, others: Mapping[str, float]) -> Problem:
    found = f"{' and '.join(others)} of a whole run beside the time of a step, or a rate"
    return Problem(f"row {at}", found, "the time of the run", "Add a column with the seconds of each run, or leave these costs out.")


def _compute(values: Values, billed: Billed, columns: Mapping[str, Column], prices: Prices | None) -> float | None:
    """Dollars of compute, or of everything if the column is a total: a price per hour covers all workers of the row, unless stated per worker."""
    if (cost := values.get("usd")) is not None:
        return cost
    if (of_step := values.get("usd_per_step")) is not None and billed.steps is not None:
        return of_step * billed.steps
    hours = billed.seconds / SECONDS_PER_HOUR
    if (hour := values.get("usd_per_hour")) is not None:
        return hour * (billed.workers if columns["usd_per_hour"].heading.per_worker else 1.0) * hours
    if prices is None or math.isnan(rate := of_launches(prices, int(billed.workers))):
        return None
    return rate * hours


def _unused(prices: Prices | None, billed: Billed) -> dict[str, float]:
    """Reserved hours that the row does not use."""
    if prices is None or prices.reserved_worker_hours is None or math.isnan(rate := of_launches(prices, int(billed.workers))):
        return {}
    of_worker = rate / (prices.fleet_workers or billed.workers)
    return {"reserved": max(0.0, of_worker * prices.reserved_worker_hours - rate * billed.seconds / SECONDS_PER_HOUR)}


def _given_parts(prices: Prices | None, billed: Billed) -> Iterator[tuple[str, float]]:
    """Storage and egress of a run by the user's prices."""
    if prices is None:
        return
    if prices.storage_usd is not None:
        yield "storage", prices.storage_usd
    elif prices.storage_gb is not None and prices.storage_usd_per_gb_month is not None:
        hours = billed.seconds / SECONDS_PER_HOUR if prices.storage_hours is None else prices.storage_hours
        yield "storage", prices.storage_gb * prices.storage_usd_per_gb_month * hours / HOURS_PER_MONTH
    if prices.egress_usd is not None:
        yield "egress", prices.egress_usd
    elif prices.egress_gb is not None and prices.egress_usd_per_gb is not None:
        yield "egress", prices.egress_gb * prices.egress_usd_per_gb


def refuse_of_tables(prices: Prices) -> Iterator[Problem]:
    """Prices that no table of timings can use."""
    if prices.prices_tokens:
        yield Problem(
            "--prices", "prices of tokens", "prices of workers, storage and egress", "A table of timings has no prompt and output tokens."
        )
    if prices.market == "spot":
        remedy = 'Give their cost in a column "interruption cost ($)", and the price of the workers as on demand.'
        yield Problem(
            "--prices", 'market = "spot"', "on_demand or reserved: a table of timings does not say what interruptions cost", remedy
        )
    if any(role.workers is None for role in prices.roles):
        yield Problem(
            "--prices", "prices of engines", "usd_per_worker_hour, or roles with their workers", "A row of the table names no engine."
        )
