"""Which metrics cannot be made of a record that another program measured, and why?

An imported record (`assay.runners.foreign`) holds what its file had.  Totals alone give no metric; requests without times of day
give no rates; a clock that starts at sending says nothing of how late a request was sent; and the definitions of yet other
programs need chunks of known kinds.  Those metrics are Absent with their reason; all others are computed as always, on the program's
time stamps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from assay.estimates.estimate import Absent, Estimate, Value
from assay.estimates.over_launches import no_launch
from assay.frames.record_data import Measured
from assay.frames.serving.other_tools import NAMES
from assay.frames.serving.requests import WINDOW
from assay.metrics.inside import BEHIND_A_SERVER

PEERS: Final = tuple(name for name in NAMES if not name.startswith("gaps_"))
WINDOWED: Final = (
    "output_throughput",
    "input_throughput",
    "request_throughput",
    "goodput",
    "achieved_rate",
    "offered_rate",
    "in_flight_mean",
    "little_ratio",
    "cost_per_request",
    "cost_per_token",
    "cost_per_good_token",
    "tokens_per_dollar",
    "energy_per_request",
    "energy_per_token",
    "energy_per_good_token",
)
WHOLE: Final = "all requests of the imported file, for it has no measured window"
PROFILED: Final = Absent(reason="not_measured", detail="this record only profiles, and no launch was timed; `assay run` times them")
OF_THE_CLIENT: Final = ("send_lag_p99", "offered_rate")  # need the time at which a request was due


def unknowable(measured: Measured, metrics: Collection[str]) -> Mapping[str, Absent]:
    """Metric -> why it cannot be known of this record; empty for a record of our own."""
    foreign = measured.foreign
    if foreign is None or measured.kind.sweeps:  # of these the file holds every time that a metric needs
        return {}
    title = str(foreign.get("title"))
    if not foreign.get("requests"):
        words = f"the imported file of {title} holds totals only, no requests; what it reported stands beside our numbers"
        return dict.fromkeys(metrics, Absent(reason="not_measured", detail=words))
    found = {name: _of_peers(title) for name in PEERS if not name.endswith(f"_{foreign.get('tool')}")}
    found |= {name: Absent(reason="not_applicable", detail=BEHIND_A_SERVER) for name in ("tokenize_time_p50", "prefill_time_p50")}
    found["connect_time_p50"] = Absent(
        reason="not_measured", detail=f"the imported file of {title} does not say how long connections took to set up"
    )
    if foreign.get("clock") != "scheduled":
        words = f"the imported file of {title} does not say when requests were due, only when they were sent"
        found |= dict.fromkeys(OF_THE_CLIENT, Absent(reason="not_measured", detail=words))
    if measured.timeless:
        found |= dict.fromkeys(WINDOWED, _of_times(title, sampled=foreign.get("times") == "sampled"))
    return {name: absent for name, absent in found.items() if name in metrics}


def reworded(measured: Measured, values: Mapping[str, Value]) -> Mapping[str, Value]:
    """The values with what their methods say of a measured window put right, where the record has none; of a profile alone,
    with why no launch was timed."""
    if measured.experiment.profile is not None and measured.experiment.profile.only:
        untimed = [no_launch(name) for name in measured.configurations]
        return {name: PROFILED if value in untimed else value for name, value in values.items()}
    if not measured.timeless:
        return values
    return {
        name: replace(value, method=value.method.replace(WINDOW, WHOLE)) if isinstance(value, Estimate) else value
        for name, value in values.items()
    }


def _of_peers(title: str) -> Absent:
    return Absent(
        reason="not_applicable",
        detail=f"imported from {title}: another tool's definition needs the kinds of chunks, which only our own log has",
    )


def _of_times(title: str, *, sampled: bool) -> Absent:
    why = "keeps only a sample of its requests" if sampled else "does not say when its requests were sent"
    return Absent(
        reason="not_measured",
        detail=f"the imported file of {title} {why}, so there is no measured window and no rate; what it reported stands beside",
    )
