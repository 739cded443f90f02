"""What does the view of timed calls show in addition to that of every record?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.metrics.calls import of_calls
from fireassay.reports.rows.conditions import requested
from fireassay.reports.rows.metrics import metric_row, overhead
from fireassay.reports.rows.timing import lines, summary
from fireassay.reports.rows.types import Fact, View
from fireassay.reports.view import KindView
from fireassay.verdict.judge import Judgement
from fireassay.verdict.phrases import launch_words


def _conditions(measured: RecordData, base: str) -> Mapping[str, str]:
    return {**requested(measured, base), "Launches": _rounds(measured)}


def _rounds(measured: RecordData) -> str:
    """A timing has no seeds and one configuration: its requested launches."""
    words = launch_words(measured).replace(" per configuration in randomised blocks", "")
    timing = measured.experiment.timing
    each = f"{count(timing.trials, 'trials')} each" if timing.trials else f"of at least {given(timing.round_s)} s"
    return f"{words}, {each}, after at least {timing.warm_up} for warm-up"


def _fields(view: View, measured: RecordData, judgement: Judgement) -> Mapping[str, Any]:
    """All metrics of calls are primary: a single command has no speedup, and the wall time of a round is no result."""
    results = of_calls(judgement.results)
    metrics = tuple(replace(metric_row(judgement.metrics[name], values, "calls"), primary=True) for name, values in results.items())
    labels = {column.key: column.label for column in view.columns}
    return {"metrics": metrics, "overhead": overhead(metrics, labels), "timing": _facts(measured, judgement)}


def _facts(measured: RecordData, judgement: Judgement) -> tuple[Fact, ...]:
    """The sample behind the time and its caveats, without the numbers and findings, which are shown elsewhere."""
    evidence = {finding.evidence for finding in judgement.verdict.findings}
    rows = lines(summary(measured, judgement, measured.experiment.name))
    return tuple(Fact(name=name, text=words) for name, words in rows if name in ("spread", "floor", "note") and words not in evidence)


VIEW = KindView(conditions=_conditions, fields=_fields)
