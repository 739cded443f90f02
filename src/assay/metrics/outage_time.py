"""How long was the struck replica away?

outage_time = from when the struck replica stopped answering until it answered again, as probed every 50 ms apart from the
load. Of a replica that assay starts again after faults[].for_s it is that time and the engine's start; what assay itself
took beyond for_s until the process was there is left out.  It cannot tell
whether users felt it: see recovery_time_serving.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.serving.outages import Outage, between, seconds
from assay.metrics.base import Metric, Results
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Seconds per configuration."""
    missing = "the struck replica was not seen to stop and answer again, or nobody probed it"
    how = "the struck replica stopped answering until it answered again"
    return seconds(measured, "outage_time", how, lambda outage: _away_s(outage, missing), delayed=True)


def _away_s(outage: Outage, missing: str) -> float | Absent:
    found = between(outage.down_ns, outage.up_ns, missing)
    return found if isinstance(found, Absent) else found - outage.delay_s


METRIC = Metric(
    name="outage_time",
    title="Outage of the replica",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="reliability",
    formula="struck replica stopped answering until it answered again",
    compute=compute,
    about=("serving",),
)
