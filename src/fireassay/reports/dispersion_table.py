"""How far do the launches of each configuration lie apart, in numbers?  A row per primary metric and configuration."""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.dispersion import Dispersion, dispersion
from fireassay.estimates.format import Scale, Shown, percent, reading
from fireassay.reports.page import Cell, Table, Words, heads
from fireassay.reports.view import MetricRow, View

NOTE = "One value per launch; of a ratio, one per round. Deviation: n - 1; variation: deviation / mean."


def dispersion_table(view: View) -> tuple[Table, ...]:
    """Mean, standard deviation, smallest, largest and coefficient of variation over launches."""
    rows = tuple(row for metric in view.primary for row in _rows(view, metric))
    top = heads("Metric", "Configuration", "Launches", "Mean", "Deviation", "Min", "Max", "Variation")
    return (Table(name="scatter", title="Dispersion over launches", heads=top, rows=rows, stub=2, notes=(NOTE,)),) if rows else ()


def _rows(view: View, metric: MetricRow) -> Iterator[tuple[Cell, ...]]:
    for column in view.columns:
        shown = metric.cells.get(column.key)
        found = dispersion(shown.value) if shown is not None else None
        if shown is not None and found is not None:
            unit = shown.scale.label
            yield (f"{metric.title}, {unit}" if unit else metric.title, column.label, found.count, *_numbers(metric, shown, found))


def _numbers(metric: MetricRow, shown: Shown, found: Dispersion) -> Iterator[Cell]:
    for value in (found.mean, found.deviation, found.smallest, found.largest):
        yield Words(text=_bare(value, metric.unit, shown.scale))
    yield Words(text=percent(found.variation)) if found.variation is not None else None


def _bare(value: float, unit: str, scale: Scale) -> str:
    """A number without its unit, which stands in its row's name."""
    return reading(value, unit, scale).removeprefix(scale.before).removesuffix(scale.after).strip()
