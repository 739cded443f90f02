"""Did the instrument disturb what it measured?

Compares its self-measured cost per step with the step time.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

MOST = 0.01  # of a step


def examine(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A warning per configuration with an overhead above one per cent of the step."""
    for name in measured.configurations:
        value = results["instrument_overhead"][name]
        if isinstance(value, Estimate) and value.value > MOST:
            evidence = f"the probe costs {show(value, beside=(MOST,)).text} of a step"
            remedy = "mark fewer phases, or make a step larger; steps below a millisecond are hard to measure from inside"
            yield Finding("instrument_overhead", "warning", name, evidence, remedy)


AUDIT = Audit(name="overhead", title="instrument overhead", question="Did the instrument disturb what it measured?", examine=examine)
