"""Does the timed region include data loading?

A step that waits for its batch also times the storage. Records: the share of steady step time that the slowest rank waits for data; above a
fifth, speedups partly measure the loader. A prefetching loader hides its cost until it falls behind. Claims: whether the timed region
included loading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import found, speeds, unsaid
from fireassay.verdict.stated.kinds import is_collective, is_serving
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim

MOST = 0.20  # of the steady step time


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A warning per configuration that waits long for its data."""
    shares = _shares(measured)
    return tuple(
        Finding(
            "data_in_step_time",
            "warning",
            name,
            f"{shares[name]:.0%} of the steady step time is waiting for data: the step time is partly the loader's",
            "prefetch with more loader processes, or compare the steps without data_time",
        )
        for name in measured.configurations
        if shares.get(name, 0.0) > MOST
    )


def _shares(measured: RecordData) -> dict[str, float]:
    known = measured.steady_steps.filter(pl.col("data_s").is_not_null())
    sums = known.group_by("configuration").agg(pl.col("data_s").sum(), pl.col("step_s").sum())
    return {name: data / step for name, data, step in sums.iter_rows() if step > 0.0}


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without a data-loading phase."""
    return None if _shares(measured) else "no step records how long it waited for its data; iterate over probe.steps(loader)"


def claim(said: Claim) -> tuple[Finding, ...]:
    """Numbers that include loading, and numbers that leave it unstated."""
    fast = tuple(number for number in speeds(said) if not is_collective(number))
    silent = () if is_serving(said) else fast  # requests carry their data
    held = [
        found(
            "data_loading_timed",
            "warning",
            number,
            "data loading was timed with it, so it measures the storage too",
            "time data loading separately (data_time), or state that the claim is about the whole pipeline",
            "data_time",
        )
        for number in fast
        if number.data_loading_timed is True
    ]
    return (
        *held,
        *unsaid(
            "data_loading_unsaid",
            [number for number in silent if number.data_loading_timed is None],
            "whether data loading was timed",
            "state data_loading_timed",
            "data_time",
        ),
    )


AUDIT = Audit(
    name="data_loading",
    title="data loading in the timed region",
    question="Does the timed region include data loading?",
    examine=examine,
    claim=claim,
    blind=blind,
)
