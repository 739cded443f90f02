"""Is more work reported than the devices can do?

A utilisation above 1 has a cause: the peak of another device or precision, a sparse or a lower peak, all workers' operations counted for
one device, recomputation counted as model FLOPs, or steps timed without synchronisation. Other tools print 152 % and 563 %
(torchtitan#4779, Primus#772). INVALID: either the work or the time is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import percent
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.flops import source
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding


def examine(measured: RecordData, results: Results) -> Iterator[Finding]:
    """One finding per configuration with a utilisation above 1."""
    for name in measured.configurations:
        value = results.get("mfu", {}).get(name)
        if isinstance(value, Estimate) and value.value > 1.0:
            evidence = (
                f"the model would use {percent(value.value, beside=(1.0,))} of the devices' peak ({value.signature.partition('|agg')[0]})"
            )
            yield Finding("above_peak", "invalid", name, evidence, _likely(measured, value))


def _likely(measured: RecordData, value: Estimate) -> str:
    """Possible causes, the likeliest first."""
    flops, origin = measured.experiment.flops, source(measured)
    likely = []
    if origin == "given":
        likely.append("flops.peak_tflops is that of another device or precision, or of one device while a worker uses several")
    if origin == "measured":
        likely.append("the device was slower while its peak was measured than in the training: measure it on a quiet machine")
    if flops.precision is not None:
        likely.append(f"the products are not computed in {flops.precision}, as flops.precision declares")
    if flops.convention != "counter":
        likely.append("the formula's numbers are those of another model, or flops.tokens_per_step is not that of one step")
    likely.append("the steps were stamped before the device had finished them: synchronise, or read the loss in each step")
    return "; or ".join(likely)


def blind(measured: RecordData, results: Results) -> str | None:
    """Blind without a utilisation."""
    values = results.get("mfu", {})
    if any(isinstance(value, Estimate) for value in values.values()):
        return None
    first = next((value for value in values.values() if isinstance(value, Absent)), None)
    return first.detail if first is not None else "utilisation was not computed"


AUDIT = Audit(
    name="above_peak",
    title="utilisation above the peak",
    question="Is more work reported than the devices can do?",
    examine=examine,
    about=("training",),
    blind=blind,
)
