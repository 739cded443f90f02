"""Which numbers does a report show, in which order, and what did making them cost?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.estimates.estimate import Absent, Estimate, Value
from assay.estimates.format import Shown, scale_for, show
from assay.frames.record_data import Measured
from assay.metrics.base import Metric
from assay.reports.reading import ORDER, tool_of
from assay.reports.rows.types import Fact, MetricRow
from assay.reports.words import WHOLE, place_of
from assay.verdict.timing import own
from assay.verdict.types import DIMENSIONS

if TYPE_CHECKING:
    from assay.verdict.judge import Judgement


def metrics(judgement: Judgement, work: str) -> tuple[MetricRow, ...]:
    """Every metric that was judged: by dimension, the primary ones first, then in the order in which people look."""
    rows = [_metric_row(judgement.metrics[name], values, work) for name, values in judgement.results.items()]
    dimensions = {dimension: place for place, dimension in enumerate(DIMENSIONS)}
    reading = {name: place for place, name in enumerate(ORDER)}

    def place(row: MetricRow) -> tuple[int, bool, int, str]:
        known = reading.get(row.name, len(reading))
        return dimensions.get(row.dimension, len(dimensions)), not row.primary, known, row.name

    return tuple(sorted(rows, key=place))


def timing_metrics(judgement: Judgement) -> tuple[MetricRow, ...]:
    """What a timing is about, all of it in the summary: no speedup of one command over itself, no wall time of a round."""
    rows = (_metric_row(judgement.metrics[name], values, "calls") for name, values in own(judgement.results).items())
    return tuple(replace(row, primary=True) for row in rows)


def timing_facts(measured: Measured, judgement: Judgement) -> tuple[Fact, ...]:
    """What the time rests on and what to beware of, besides the numbers and the findings, which stand elsewhere."""
    from assay.reports.rows.timing import lines, summary

    made = summary(measured, judgement, measured.experiment.name)
    found = {finding.evidence for finding in judgement.verdict.findings}
    rows = lines(made, what="starts" if measured.experiment.workload.runner == "command" else "trials")
    return tuple(Fact(name=name, text=words) for name, words in rows if name in ("spread", "floor", "note") and words not in found)


def _metric_row(metric: Metric, values: Mapping[str, Value], work: str) -> MetricRow:
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
        tool=tool_of(metric.name),
    )


def overhead(metrics: tuple[MetricRow, ...], labels: Mapping[str, str]) -> tuple[tuple[str, Shown], ...]:
    row = next((row for row in metrics if row.name == "instrument_overhead"), None)
    if row is None or not row.cells:
        missing = Absent(reason="not_measured", detail="the record does not say what the instrument itself cost")
        return ((WHOLE, show(missing)),)
    return tuple((labels.get(key, place_of(key)), shown) for key, shown in row.cells.items())


def lag(metrics: tuple[MetricRow, ...], labels: Mapping[str, str]) -> tuple[tuple[str, Shown], ...]:
    """What a client costs is that it sends late: the worst of the loads."""
    cells = next((row.cells for row in metrics if row.name == "send_lag_p99"), {})
    known = [(shown.value.value, key) for key, shown in cells.items() if isinstance(shown.value, Estimate)]
    if not known:
        missing = Absent(reason="insufficient", detail="no load has enough requests for the p99 of how late they were sent")
        return (("send lag, p99", next(iter(cells.values()), show(missing)) if len(cells) == 1 else show(missing)),)
    worst = max(known)[1]
    return ((f"send lag, p99, at its worst ({labels[worst]})", cells[worst]),)
