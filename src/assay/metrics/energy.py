"""How many joules does one run use?

energy = joules of all counters (RAPL packages and DRAM, NVML GPUs) between the launch's first and last reading.  Where
the machine has no counter it is Absent with the reason.  A modelled estimate exists only on request and says so in its
method and signature.  Counters measure whole devices: what others used meanwhile is in the joules too.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.joules import energy_method, launch_joules, no_energy
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.metrics.base import EVERYTHING, Metric, Results
from assay.units import JOULES


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Joules per run."""
    method = energy_method(measured)
    if method is None:
        return dict.fromkeys(measured.configurations, no_energy(measured))
    label = "MODELLED, not measured: watts per worker x time" if method == "modelled" else "sum of hardware counters"
    return from_frame(
        measured,
        launch_joules(measured),
        unit=JOULES,
        name=f"energy|method:{method}",
        trials="",
        missing=f"no {method} energy reading in these launches",
        aggregate=label,
    )


METRIC = Metric(
    name="energy",
    title="Energy of a run",
    unit=JOULES,
    kind="cost",
    better="lower",
    dimension="cost",
    formula="sum over devices of the energy counter over the launch",
    compute=compute,
    about=EVERYTHING,
)
