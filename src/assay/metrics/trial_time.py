"""How long does one call take: a start of a command, or a call of a function?

trial_time = (end - begin) / calls of a trial, monotonic clock; a launch's value is the median of its counted trials, and the
interval is Student t on the logs of the launch values (methodology 3.1).  Warm-up is left out (`metrics/trials.py`).
The cost of starting a process is inside a command's time; `assay time` shows what an empty command takes beside it.
It cannot tell where the time went, or what the call costs in a process that does other things as well.
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
    """The median per launch, then over launches."""
    if (absent := refused(measured)) is not None:
        return dict.fromkeys(measured.configurations, absent)
    return from_frame(
        measured,
        per_launch(counted(measured), "seconds", "median"),
        unit=SECONDS,
        name="trial_time",
        trials="trials",
        missing="no counted trial has ended",
        aggregate="median of the counted trials",
    )


METRIC = Metric(
    name="trial_time",
    title="Time of a call",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over trials of (end - begin) / calls",
    compute=compute,
)
