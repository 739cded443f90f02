"""Which numbers does a report show, in which order, and what did measuring them cost?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Shown, scale_for, show
from fireassay.metrics.metric import Metric
from fireassay.metrics.training.time import INSTRUMENT_OVERHEAD
from fireassay.reports.rows.types import MetricRow
from fireassay.reports.words import WHOLE, place_of
from fireassay.verdict.types import DIMENSIONS

if TYPE_CHECKING:
    from fireassay.verdict.judge import Judgement


def metrics(judgement: Judgement, work: str) -> tuple[MetricRow, ...]:
    """Every metric that was judged: by dimension, the primary ones first, then by rank."""
    dimensions = {dimension: index for index, dimension in enumerate(DIMENSIONS)}

    def order(metric: Metric) -> tuple[int, bool, int, str]:
        return dimensions.get(metric.dimension, len(dimensions)), not metric.primary, metric.rank, metric.name

    shown = sorted((judgement.metrics[name] for name in judgement.results), key=order)
    return tuple(metric_row(metric, judgement.results[metric.name], work) for metric in shown)


def metric_row(metric: Metric, values: Mapping[str, Value], work: str) -> MetricRow:
    """A metric's values in one common scale; `work` names an item of work."""
    scale = scale_for(metric.unit, (v.value for v in values.values() if isinstance(v, Estimate)), work)
    return MetricRow(
        name=metric.name,
        title=metric.title,
        dimension=metric.dimension,
        unit=metric.unit,
        shown_unit=scale.label,
        better=metric.better,
        formula=metric.formula,
        primary=metric.primary,
        cells={key: show(value, scale) for key, value in values.items()},
        tool=metric.tool,
        shown=metric.shown,
    )


def overhead(metrics: tuple[MetricRow, ...], labels: Mapping[str, str]) -> tuple[tuple[str, Shown], ...]:
    """The instrument's own cost by configuration label, or why it is unknown."""
    row = next((row for row in metrics if row.name == INSTRUMENT_OVERHEAD.name), None)
    if row is None or not row.cells:
        missing = Absent(reason="not_measured", detail="the record does not hold the instrument's own cost")
        return ((WHOLE, show(missing)),)
    return tuple((labels.get(key, place_of(key)), shown) for key, shown in row.cells.items())
