"""Do the devices reach a reasonable share of their peak?

mfu below a fifth with its whole interval: the model's own arithmetic uses little of the peak. Other bottleneck audits name further causes;
if none does, the cause is small kernels, memory traffic or a small batch, which a profile distinguishes. Absent without a known peak:
another device's is never substituted.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import bracketed, given, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

LOW = 0.20
KNOB = "a larger batch, lower precision, torch.compile or fused kernels; `assay profile` shows which operators take the time"


def examine(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A note per worker count with low utilisation."""
    for name in measured.configurations:
        value = results.get("mfu", {}).get(name)
        if isinstance(value, Estimate) and value.high < LOW:
            evidence = (
                f"the model's own arithmetic uses {show(value).full} of the devices' peak; "
                f"at the peak a step would be {_gain(value)}, which is out of reach: 0.3 to 0.5 is good"
            )
            yield Finding("bottleneck_utilisation", "note", name, evidence, KNOB)


def _gain(value: Estimate) -> str:
    if value.low == value.high or value.low <= 0.0:
        return f"{given(1.0 / value.value, 3)} times as fast"
    text, ends = bracketed(1.0 / value.value, 1.0 / value.high, 1.0 / value.low)
    return f"{text} times as fast {ends}"


AUDIT = Audit(
    name="bottleneck_utilisation",
    title="low device utilisation",
    question="Do the devices reach a reasonable share of their peak?",
    examine=examine,
    about=("training",),
)
