"""What are the steady step times of each timed launch, in order?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.over_launches import Series
from fireassay.frames.record_data import RecordData

MARK_STEPS = "the script did not mark its steps, and no torch optimizer stepped in the started process; iterate over probe.steps(loader)"


def steady_series(measured: RecordData) -> dict[str, Series]:
    """Per configuration: the steady step times of every timed launch in order, launches by block; [] if none has steps."""
    series: dict[str, list[NDArray[np.float64]]] = {configuration: [] for configuration in measured.configurations}
    groups = measured.steady_steps.sort("block", "launch", "step").partition_by("launch", maintain_order=True)
    for group in groups:
        series[group["configuration"][0]].append(group["step_s"].to_numpy())
    return dict(series)
