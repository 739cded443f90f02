"""Which number decides a load?  The throughput at the recommended load, else at the largest one."""

from __future__ import annotations

from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.verdict.headline import in_words, recommended
from fireassay.verdict.judge import Judgement

RATES = (("output_throughput", "tok/s"), ("request_throughput", "requests/s"))


def headline(measured: RecordData, judgement: Judgement) -> str:
    """ "2,700 [2,650, 2,750] tok/s at rate=8"; requests where the reply has no tokens."""
    for metric, unit in RATES:
        values = judgement.results.get(metric, {})
        known = [name for name in measured.configurations if isinstance(values.get(name), Estimate)]
        if known:
            pick = recommended(judgement)
            name = pick if pick in known else known[-1]
            return f"{in_words(values[name], unit)}{f' at {name}' if len(values) > 1 else ''}"
    return ""
