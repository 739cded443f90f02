"""Which number decides a record, in a few words for a list?

The number with its interval, or what is wrong where no number may be quoted. By default it is the metric by which records of this kind
are compared, at the recommended configuration, else at the last that has a value; where there is none (results of another tool), the
first main metric that is a time, by its title. A kind that decides by another number defines
`headline` in `kinds/<kind>/judging.py`.
"""

from __future__ import annotations

from typing import Protocol

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.metrics.results import deciding_metrics
from fireassay.verdict.judge import Judgement
from fireassay.verdict.phrases import in_words


class OfKind(Protocol):
    """A kind's own headline of an admissible record, where items decide of a failed one too; empty: the default one."""

    def __call__(self, measured: RecordData, judgement: Judgement) -> str: ...


def headline(measured: RecordData, judgement: Judgement) -> str:
    """The deciding number, or what is wrong."""
    if wrong := _found(judgement):
        return wrong
    own: OfKind | None = catalog.part("kinds", measured.kind.name, "judging", "headline", None)
    failed = _failed(judgement)
    if failed and not measured.kind.judges_quality:
        return failed
    return (own and own(measured, judgement)) or failed or _compared(measured, judgement) or "no number"


# ---- below -----------------------------------------------------------------------------------------------------------


def _found(judgement: Judgement) -> str:
    """What makes the record inadmissible or its result wrong: the rule of the worst finding."""
    for severity in ("invalid", "fail"):
        for finding in judgement.verdict.findings:
            if finding.severity == severity and judgement.verdict.status in ("INVALID", "FAIL"):
                where = f" at {finding.configuration}" if finding.configuration else ""
                return f"{finding.rule.replace('_', ' ')}{where}"
    return ""


def _failed(judgement: Judgement) -> str:
    """The first failed gate, with its number."""
    gate = next((gate for gate in judgement.verdict.gates if gate.status == "FAIL"), None)
    if gate is None or judgement.verdict.status not in ("INVALID", "FAIL"):
        return ""
    value = judgement.results.get(gate.gate, {}).get(gate.configuration)
    number = in_words(value) if value is not None else ""
    return f"{gate.gate.replace('_', ' ')} {number} at {gate.configuration}".replace("  ", " ")


def _compared(measured: RecordData, judgement: Judgement) -> str:
    deciding = deciding_metrics(measured.kind)
    others = (name for name, metric in judgement.metrics.items() if metric.primary and metric.unit == "s" and name not in deciding)
    for metric in (*deciding, *others):
        values = judgement.results.get(metric, {})
        known = [name for name, value in values.items() if isinstance(value, Estimate)]
        if known:
            pick = judgement.verdict.recommended
            name = pick if pick in known else known[-1]
            several = f" at {name}" if len(values) > 1 else ""
            rate = f"{measured.experiment.workload.work}/s" if judgement.metrics[metric].unit == "1/s" else ""
            title = "" if metric in deciding else f"{judgement.metrics[metric].title}: "
            return f"{title}{in_words(values[name], rate)}{several}"
    return ""
