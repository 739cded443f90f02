"""How are steps and sessions laid out in a table?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Scale, scale_for
from fireassay.reports.cell import Cell, Words, number
from fireassay.reports.page import Head, Table, heads
from fireassay.reports.sessions import NOT_HERE, SessionRow
from fireassay.units import FRACTION, SECONDS

UNREPORTED: Final = (
    "Cold against warm cache: the server's usage reports no cached tokens. Step 1 finds nothing of its session in a cache; later steps may."
)
Column = tuple[str, Callable[[SessionRow], Value]]
COLUMNS: Final[tuple[Column, ...]] = (
    ("TTFT p50", lambda row: row.ttft),
    ("TTFT p95", lambda row: row.ttft_p95),
    ("TPOT p50", lambda row: row.tpot),
    ("Time p50", lambda row: row.time),
    ("Time p95", lambda row: row.time_p95),
)


def session_table(rows: tuple[SessionRow, ...], labels: dict[str, str]) -> tuple[Table, ...]:
    """A row for each step, session and part; `labels`: configuration -> its name on the page. Nothing without rows."""
    if not rows:
        return ()
    several = len({row.configuration for row in rows}) > 1
    shown = [column for column in COLUMNS if any(isinstance(column[1](row), Estimate) for row in rows)]
    scales = {name: scale_for(SECONDS, [value.value for row in rows if isinstance(value := of(row), Estimate)]) for name, of in shown}
    cached = any(row.cached is not None for row in rows)
    head = (
        *(heads("Configuration") if several else ()),
        *heads("Part", "Number"),
        *(Head(text=f"{name}, {scales[name].label}") for name, _ in shown),
        *(heads("Cached, %") if cached else ()),
    )
    body = tuple(_cells(row, shown, scales, labels if several else {}, cached) for row in rows)
    notes = (
        "A session's time includes thinking and external calls; generation is the sum of its answers' times.",
        *(() if cached else (UNREPORTED,)),
        *_absent(rows, [name for name, _ in shown]),
    )
    return (Table(name="sessions", title="Steps and sessions", heads=head, rows=body, stub=2 if several else 1, notes=notes),)


def _absent(rows: tuple[SessionRow, ...], shown: list[str]) -> tuple[str, ...]:
    """Why columns are not there."""
    missing = ((name, of(rows[0])) for name, of in COLUMNS if name not in shown)
    return tuple(f"No {name}: {value.detail}." for name, value in missing if isinstance(value, Absent))


def _cells(row: SessionRow, shown: list[Column], scales: dict[str, Scale], labels: dict[str, str], cached: bool) -> tuple[Cell, ...]:
    values = (None if (value := of(row)) is NOT_HERE else number(value, scales[name], bare=True) for name, of in shown)
    share = () if not cached else (None if row.cached is None else number(_exact(row), bare=True),)
    stub = (Words(text=labels[row.configuration]),) if labels else ()
    return (*stub, Words(text=row.name), row.count, *values, *share)


def _exact(row: SessionRow) -> Estimate:
    """A share of counted tokens."""
    assert row.cached is not None
    return Estimate(
        value=row.cached, low=row.cached, high=row.cached, unit=FRACTION, confidence=0.95, n_launches=1, n_trials=row.count,
        method="cached prompt tokens / prompt tokens of these requests", signature="cached_share|exact|v:1",
    )  # fmt: skip
