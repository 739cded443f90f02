"""Which numbers does a report show, in which order, and what did making them cost?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Shown, scale_for, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.calls import of_calls
from fireassay.metrics.metric import Metric
from fireassay.metrics.serving.latency import SEND_LAG
from fireassay.metrics.training.time import INSTRUMENT_OVERHEAD
from fireassay.reports.rows.types import Fact, MetricRow
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
    return tuple(_metric_row(metric, judgement.results[metric.name], work) for metric in shown)


def timing_metrics(judgement: Judgement) -> tuple[MetricRow, ...]:
    """What a timing is about, all of it in the summary: no speedup of one command over itself, no wall time of a round."""
    rows = (_metric_row(judgement.metrics[name], values, "calls") for name, values in of_calls(judgement.results).items())
    return tuple(replace(row, primary=True) for row in rows)


def timing_facts(measured: RecordData, judgement: Judgement) -> tuple[Fact, ...]:
    """What the time rests on and what to beware of, besides the numbers and the findings, which stand elsewhere."""
    from fireassay.reports.rows.timing import lines, summary

    timings = summary(measured, judgement, measured.experiment.name)
    evidence = {finding.evidence for finding in judgement.verdict.findings}
    rows = lines(timings, what="starts" if measured.experiment.workload.runner == "command" else "trials")
    return tuple(Fact(name=name, text=words) for name, words in rows if name in ("spread", "floor", "note") and words not in evidence)


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
        tool=metric.tool,
        shown=metric.shown,
    )


def overhead(metrics: tuple[MetricRow, ...], labels: Mapping[str, str]) -> tuple[tuple[str, Shown], ...]:
    row = next((row for row in metrics if row.name == INSTRUMENT_OVERHEAD.name), None)
    if row is None or not row.cells:
        missing = Absent(reason="not_measured", detail="the record does not say what the instrument itself cost")
        return ((WHOLE, show(missing)),)
    return tuple((labels.get(key, place_of(key)), shown) for key, shown in row.cells.items())


def lag(metrics: tuple[MetricRow, ...], labels: Mapping[str, str]) -> tuple[tuple[str, Shown], ...]:
    """What a client costs is that it sends late: the worst of the loads."""
    cells = next((row.cells for row in metrics if row.name == SEND_LAG.name), {})
    known = [(shown.value.value, key) for key, shown in cells.items() if isinstance(shown.value, Estimate)]
    if not known:
        missing = Absent(reason="insufficient", detail="no load has enough requests for the p99 of how late they were sent")
        return (("send lag, p99", next(iter(cells.values()), show(missing)) if len(cells) == 1 else show(missing)),)
    worst = max(known)[1]
    return ((f"send lag, p99, at its worst ({labels[worst]})", cells[worst]),)
