"""How much memory does one call hold at most?

trial_memory = largest resident set of a command's process (wait4(2)), or of the process that calls a function; a launch's
value is the median of its counted trials, Student t on the logs.  Linux counts the memory of the process that spawned a
command into it (exec keeps the high-water mark), so a command smaller than assay's own starter shows the starter's size:
`assay time` says so.  It cannot tell memory that is shared with others from memory of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.metrics.base import Metric, Results
from assay.metrics.estimate import Value
from assay.metrics.measured import Measured
from assay.metrics.per_launch import from_frame
from assay.metrics.trials import counted, per_launch, refused
from assay.units import BYTES


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The median per launch, then over launches."""
    if (absent := refused(measured)) is not None:
        return dict.fromkeys(measured.configurations, absent)
    return from_frame(
        measured, per_launch(counted(measured), "max_rss_bytes", "median"), unit=BYTES, name="trial_memory", trials="trials",
        missing="this system did not say how much memory the calls used", aggregate="median of the counted trials",
    )  # fmt: skip


METRIC = Metric(
    name="trial_memory", title="Memory of a call", unit=BYTES, kind="level", better="lower", dimension="performance",
    formula="median over trials of the largest resident set", compute=compute,
)  # fmt: skip
