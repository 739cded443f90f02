"""Which share of what the devices can do is used, with what is computed a second time?

hfu = (the model's operations + those made again) / time / peak of all devices in the precision of the products (dense).  Made again:
activations that are checkpointed, and the scores of fused attention in its backward pass.  Source: PaLM, appendix B (hardware FLOPs
utilization); Korthikanti et al., arXiv 2205.05198.  It shows how busy the device is; mfu shows how far that brings the model: the same
training with checkpointing has a higher hfu and a lower mfu.  Only where the products were counted: a formula does not say what a
script computes again.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.flops import of_steps
from assay.metrics.base import Metric, Results
from assay.metrics.mfu import share_of_peak
from assay.units import FRACTION

BY_FORMULA = Absent(reason="not_applicable", detail='a formula does not say what is computed again; flops.convention = "counter" counts it')


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Share of the peak per configuration."""
    if measured.experiment.flops.convention != "counter":
        return dict.fromkeys(measured.configurations, BY_FORMULA)
    return share_of_peak(measured, of_steps(measured, with_recomputed=True), "hfu")


METRIC = Metric(
    name="hfu",
    title="Hardware FLOP/s utilisation",
    unit=FRACTION,
    kind="ratio",
    better="neither",
    dimension="performance",
    formula="(achieved_flops + operations made again per second) / peak of the devices in the precision used",
    compute=compute,
    about=("training",),
)
