"""Which share of what the devices can do does the model use?

mfu = achieved_flops / peak of all devices in the precision of the products (dense).  Source: METRICS.md; PaLM, appendix B.
The convention of the operations and the source of the peak are part of the number.  A device or a precision without a known peak, and
quantised products, give no number (achieved_flops is there); above 1 something is wrong, and the audit `above_peak` says so.
It cannot tell why the rest is not used, nor what another convention would say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.frames.training.flops import Amount, absent, of_steps, peaks, precisions, source
from assay.metrics.achieved_flops import SCHEMA, speeds_of
from assay.metrics.base import Metric, Results
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Share of the peak per configuration."""
    return share_of_peak(measured, of_steps(measured), "mfu")


def share_of_peak(measured: Measured, amounts: Mapping[int, Amount], name: str) -> Mapping[str, Value]:
    """These operations of a step by launch, per second, over what the devices could do."""
    speeds = speeds_of(measured, amounts)
    most = peaks(measured)
    known = {launch: peak.value for launch, peak in most.items() if peak.value}
    shares = [(launch, speed / known[launch]) for launch, speed in speeds.items() if launch in known]
    missing = absent(amounts.values()) if not speeds else absent(most.values())
    convention, origin, types = measured.experiment.flops.convention, source(measured), "+".join(precisions(measured))
    found = from_frame(
        measured,
        pl.DataFrame(shares, schema=SCHEMA, orient="row"),
        unit=FRACTION,
        trials="",
        missing=missing.detail,
        name=f"{name}|conv:{convention}|peak:{origin}|in:{types or 'unknown'}",
        aggregate=f"operations per second, convention {convention}, / the {_WORDS[origin]} peak of its devices in {types or 'unknown'}",
    )
    return {
        one: replace(value, reason=missing.reason) if isinstance(value, Absent) and value.detail == missing.detail else value
        for one, value in found.items()
    }


_WORDS = {"datasheet": "published", "measured": "measured", "given": "given"}

METRIC = Metric(
    name="mfu",
    title="Model FLOP/s utilisation",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    dimension="performance",
    formula="achieved_flops / peak of the devices in the precision used",
    compute=compute,
    about=("training",),
)
