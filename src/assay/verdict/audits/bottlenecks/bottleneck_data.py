"""Does the loading of data hold the workers up, and does it scale with them?

share = time that the slowest rank waits for its batches / time of the steps, both summed over the steady steps of a launch; quotient of
sums over launches.  Sums and no medians: a loader with several processes hands over several batches at once and then lets a step wait
for long, so that the usual step does not wait at all.  A note from a tenth on, with what waiting grew by against the base: waiting that
does not fall as the work per worker does is a loader that does not scale.  `data_loading` says whether step times are still comparable;
this one says what could be gained.  Cannot tell which part of the loading is slow.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from assay.estimates.format import bracketed, percent, reading
from assay.frames.record_data import Measured
from assay.metrics.base import Results
from assay.stats.intervals.means import quotient
from assay.units import FRACTION, SECONDS
from assay.verdict.audits.support.audit import Audit
from assay.verdict.evidence.possible_gain import LEAST_SHARE, gain_words
from assay.verdict.types import Finding

KNOB: Final = "more loader workers (num_workers), prefetching, data in memory or on a faster disk; `assay tune` tries them out"
RARE: Final = 0.5  # a usual step waits less than this part of the mean: it comes in bursts


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """A note per worker count whose steps wait long for their data."""
    steps = measured.steady_steps.filter(pl.col("data_s").is_not_null())
    launches = steps.group_by("configuration", "launch", maintain_order=True).agg(
        pl.col("data_s").sum(), pl.col("step_s").sum(), pl.len().alias("steps"), pl.col("data_s").median().alias("usual")
    )
    by = {str(name): own for (name,), own in launches.partition_by("configuration", as_dict=True).items()}
    return tuple(one for name in measured.configurations if name in by for one in _of(measured, name, by[name], by.get(measured.base)))


def _of(measured: Measured, name: str, own: pl.DataFrame, base: pl.DataFrame | None) -> tuple[Finding, ...]:
    if not own["step_s"].sum() > 0.0:
        return ()
    found = quotient(own["data_s"].to_list(), own["step_s"].to_list(), measured.confidence)
    if not found.value >= LEAST_SHARE:
        return ()
    each, low, high = (min(max(one, 0.0), 1.0) for one in (found.value, found.low, found.high))
    mean, usual = _mean(own), float(own["usual"].to_numpy().mean())
    told = [f"a usual step waits {reading(usual, SECONDS)}: it comes in bursts"] if usual < RARE * mean else []
    if name != measured.base and base is not None and _mean(base) > 0.0:
        told.append(f"{mean / _mean(base):.2g} times that of the base")
    beside = f" ({', '.join(told)})" if told else ""
    text, ends = bracketed(each, low, high, FRACTION) if low < high else (percent(each), "")
    return (
        Finding(
            rule="bottleneck_data",
            severity="note",
            configuration=name,
            remedy=KNOB,
            evidence=f"waiting for data{beside} takes {reading(mean, SECONDS)} of a step on average, {f'{text} of it {ends}'.rstrip()}; "
            f"{gain_words((each, low, high))}",
        ),
    )


def _mean(launches: pl.DataFrame) -> float:
    """Seconds a step."""
    return float(launches["data_s"].to_numpy().sum() / launches["steps"].to_numpy().sum())


AUDIT = Audit(
    name="bottleneck_data",
    title="data that holds the workers up",
    question="Could faster loading make the steps shorter?",
    examine=examine,
    about=("training",),
)
