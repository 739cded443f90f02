"""How much processor time does one call use, in user mode and in the kernel together?

trial_cpu_time = sum over counted trials of (user + system) / sum of their calls; for a command by wait4(2), so that children
that it waited for are in it.  Above trial_time: several processors worked.  Below: it waited, or others had the processor.
Student t on the logs of the launch values.  The mean and not the median, because kernels that count in ticks give 0 for
short calls.  It cannot tell user from kernel time (the record holds both), nor what a daemon used that it left behind.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.frames.trials import counted, per_launch, refused
from assay.metrics.base import Metric, Results
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The mean per launch, then over launches."""
    if (absent := refused(measured)) is not None:
        return dict.fromkeys(measured.configurations, absent)
    return from_frame(
        measured,
        per_launch(counted(measured), "cpu_s", "mean"),
        unit=SECONDS,
        name="trial_cpu_time",
        trials="trials",
        missing="this system did not say how much processor time the calls used",
        aggregate="mean of the counted trials",
    )


METRIC = Metric(
    name="trial_cpu_time",
    title="Processor time of a call",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="mean over trials of (user + system) / calls",
    compute=compute,
)
