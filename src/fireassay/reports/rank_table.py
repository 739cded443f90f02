"""How is each phase of a step distributed on each rank?  Tables over the steady steps of a training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import Scale, reading, scale_for
from fireassay.reports.charts.ranks import PARTS, PHASES, own_phases, rank_phases
from fireassay.reports.page import Cell, Table, Words, heads
from fireassay.reports.view import View
from fireassay.stats.intervals.quantiles import BEYOND
from fireassay.units import NS_PER_S

MOMENTS: Final = ("mean", "deviation", "min", "max")
TAILS: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def rank_table(view: View) -> tuple[Table, ...]:
    """A table for one worker and one for the largest count: a row per rank and phase, and only percentiles with enough steps beyond them."""
    of = view.measured
    ranks = {name: [0] for name, level in zip(of.configurations, of.levels, strict=True) if level == 1}
    for shown in rank_phases(of):
        ranks.setdefault(shown.configuration, []).append(shown.rank)
    return tuple(table for place, (name, some) in enumerate(ranks.items()) if (table := _table(view, name, some, place)) is not None)


def _table(view: View, configuration: str, ranks: list[int], place: int) -> Table | None:
    rows = own_phases(view.measured, configuration, ranks)
    if not rows.height:
        return None
    scale = scale_for("s", (rows.select(pl.col("step_s").median()).item() / NS_PER_S,))
    steps = rows.group_by("rank").len()["len"].max()
    tails = {name: p for name, p in TAILS.items() if isinstance(steps, int) and steps * (1.0 - p) >= BEYOND}
    return Table(
        name=f"rank-phases-{place}",
        title=f"Phases of each rank, {scale.label}, {view.label(configuration)}",
        heads=heads("rank", "phase", "steps", *MOMENTS, *tails),
        rows=tuple(row for (rank,), of in rows.partition_by("rank", as_dict=True).items() for row in _rows(int(rank), of, scale, tails)),
        stub=2,
        notes=(f"Over the steady steps of all timed launches; a percentile needs {BEYOND} of a rank beyond it.",),
    )


def _rows(rank: int, of: pl.DataFrame, scale: Scale, tails: Mapping[str, float]) -> Iterator[tuple[Cell, ...]]:
    names = {**{f"own_{part}": PHASES[part].text for part in PARTS}, "exposed_s": PHASES["exposed"].text, "step_s": "whole step"}
    for column, name in names.items():
        seconds = of[column].drop_nulls() / NS_PER_S
        if seconds.len():
            values: list[Any] = [seconds.mean(), seconds.std(), seconds.min(), seconds.max()]
            values += [seconds.quantile(p, "linear") if seconds.len() * (1.0 - p) >= BEYOND else None for p in tails.values()]
            yield (rank, name, seconds.len(), *(_cell(value, scale) for value in values))


def _cell(value: float | None, scale: Scale) -> Cell:
    return None if value is None else Words(text=reading(value, "s", scale).removesuffix(scale.after).strip())
