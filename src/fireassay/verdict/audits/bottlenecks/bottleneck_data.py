"""Does data loading delay the workers, and does it scale with them?

share = time that the slowest rank waits for batches / step time, both summed over the steady steps of a launch; ratio of sums over
launches. Sums, not medians: a loader with several processes delivers batches in bursts, so the usual step does not wait at all. A note from
a tenth on, with the growth of waiting relative to the base: waiting that does not fall with the work per worker means a loader that does
not scale. `data_loading` judges whether step times are comparable; this audit estimates the gain. Cannot tell: which part of loading is
slow.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.estimates.format import bracketed, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.stats.intervals.means import quotient
from fireassay.units import FRACTION, SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.possible_gain import LEAST_SHARE, gain_words
from fireassay.verdict.types import Finding

KNOB: Final = "more loader workers (num_workers), prefetching, data in memory or on a faster disk; `assay tune` tries them"
RARE: Final = 0.5  # waiting comes in bursts if the usual step waits less than this share of the mean


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A note per worker count with long waits for data."""
    steps = measured.steady_steps.filter(pl.col("data_s").is_not_null())
    launches = steps.group_by("configuration", "launch", maintain_order=True).agg(
        pl.col("data_s").sum(), pl.col("step_s").sum(), pl.len().alias("steps"), pl.col("data_s").median().alias("usual")
    )
    by = {str(name): rows for (name,), rows in launches.partition_by("configuration", as_dict=True).items()}
    return tuple(
        finding for name in measured.configurations if name in by for finding in _of(measured, name, by[name], by.get(measured.base))
    )


def _of(measured: RecordData, name: str, rows: pl.DataFrame, base: pl.DataFrame | None) -> tuple[Finding, ...]:
    if not rows["step_s"].sum() > 0.0:
        return ()
    share = quotient(rows["data_s"].to_list(), rows["step_s"].to_list(), measured.confidence)
    if not share.value >= LEAST_SHARE:
        return ()
    each, low, high = (min(max(bound, 0.0), 1.0) for bound in (share.value, share.low, share.high))
    mean, usual = _mean(rows), float(rows["usual"].to_numpy().mean())
    remarks = [f"a typical step waits {reading(usual, SECONDS)}: waiting comes in bursts"] if usual < RARE * mean else []
    if name != measured.base and base is not None and _mean(base) > 0.0:
        remarks.append(f"{mean / _mean(base):.2g} times that of the base")
    remark = f" ({', '.join(remarks)})" if remarks else ""
    text, ends = bracketed(each, low, high, FRACTION) if low < high else (percent(each), "")
    evidence = (
        f"waiting for data{remark} takes {reading(mean, SECONDS)} of a step on average, {f'{text} of it {ends}'.rstrip()}; "
        f"{gain_words((each, low, high))}"
    )
    return (Finding("bottleneck_data", "note", name, evidence, KNOB),)


def _mean(launches: pl.DataFrame) -> float:
    """Seconds per step."""
    return float(launches["data_s"].to_numpy().sum() / launches["steps"].to_numpy().sum())


AUDIT = Audit(
    name="bottleneck_data",
    title="slow data loading",
    question="Would faster loading shorten the steps?",
    examine=examine,
    about=("training",),
)
