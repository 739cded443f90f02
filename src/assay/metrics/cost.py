"""What does one run cost?

cost = workers x price x wall time of the launch (METRICS.md, "Cost, energy"): start-up and evaluation are paid too.
The price is an input with its date and source.  It cannot tell what idle or reserved machines cost beside the run.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.per_launch import from_frame
from assay.frames.prices import NO_PRICES, launch_usd, usd_per_worker_second
from assay.frames.record_data import Measured
from assay.metrics.base import EVERYTHING, Metric, Results
from assay.units import USD


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Dollars per run."""
    price = usd_per_worker_second(measured)
    if price is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    return from_frame(
        measured,
        launch_usd(measured.timed, price),
        unit=USD,
        name="cost",
        trials="",
        missing="no launch has ended",
        aggregate="workers x price x wall time",
    )


METRIC = Metric(
    name="cost",
    title="Cost of a run",
    unit=USD,
    kind="cost",
    better="lower",
    dimension="cost",
    formula="workers x price x wall_time",
    compute=compute,
    about=EVERYTHING,
    primary=True,
)
