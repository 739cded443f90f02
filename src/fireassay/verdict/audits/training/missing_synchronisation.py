"""Was the clock read before the device had finished?

Device work is queued: without synchronisation a step ends once its work is queued, and the next synchronising call pays. Three signs, each
in most launches of a configuration: steps shorter than their own phases; a last step longer than ten medians, a fifth of all step time and
twice any other step after the first (the queue drains there); more than half of the time between the first and the last step outside steps,
evaluations and checkpoints.

Cannot tell: a queue that drains elsewhere, nor steps faster than the device's peak rate allows, which is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import found, speeds, unsaid
from fireassay.verdict.stated.kinds import is_serving
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim

FEWEST_STEPS = 8
OVERLAP = 0.05  # of a step; generous, since phases and step share one clock
LAST_TO_MEDIAN, LAST_SHARE, OUTSIDE = 10.0, 0.20, 0.50
LAST_TO_LONGEST = 2.0  # a periodic long step (averaging in local SGD) is no queue
DEVICES = ("gpu", "cuda", "tpu", "h100", "h200", "a100", "b200", "v100", "l40", "mi300", "npu", "rocm")
REMEDY = "synchronise the device before each reading of the clock, or let the probe time the phases with device events"


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """At most one warning per configuration and sign."""
    signs = _signs(measured)
    for name in measured.configurations:
        rows = signs.filter(pl.col("configuration") == name)
        for rule, words in _WORDS.items():
            affected = int(rows[rule].sum())
            if rows.height and 2 * affected > rows.height:
                yield Finding(rule, "warning", name, f"{words} in {affected} of {count(rows.height, 'launches')}", REMEDY)


_WORDS = {
    "steps_shorter_than_phases": "most steps are shorter than their own phases together",
    "last_step_drains_queue": "the last step takes more than 10 times the median, a fifth of all step time and twice any other after the first",
    "time_outside_steps": "more than half of the time from the first to the last step lies in no step, evaluation or checkpoint",
}


def _signs(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, one column per sign) for timed launches with enough steps."""
    step = pl.col("step_s")
    per_launch = (
        measured.global_steps.join(measured.timed.select("launch", "configuration"), on="launch")
        .sort("launch", "step")
        .group_by("launch", "configuration", maintain_order=True)
        .agg(
            pl.len().alias("steps"),
            step.sum().alias("inside"),
            step.last().alias("last"),
            step.median().alias("median"),
            step.slice(1, pl.len() - 2).max().alias("longest"),
            (pl.col("unknown_s") < -OVERLAP * step).mean().fill_null(0.0).alias("overlap"),
        )
        .filter(pl.col("steps") >= FEWEST_STEPS)
    )
    spanned = per_launch.join(_spans(measured), on="launch")
    paused = spanned.join(_paused(measured), on="launch", how="left").with_columns(pl.col("paused").fill_null(0.0))
    return paused.select(
        "launch",
        "configuration",
        (pl.col("overlap") > 0.5).alias("steps_shorter_than_phases"),
        (
            (pl.col("last") > LAST_TO_MEDIAN * pl.col("median"))
            & (pl.col("last") > LAST_SHARE * pl.col("inside"))
            & (pl.col("last") > LAST_TO_LONGEST * pl.col("longest"))
        ).alias("last_step_drains_queue"),
        (pl.col("span") - pl.col("inside") - pl.col("paused") > OUTSIDE * pl.col("span")).alias("time_outside_steps"),
    )


def _spans(measured: RecordData) -> pl.DataFrame:
    """(launch, span): seconds from first to last step of the rank that took longest; times of different hosts are never subtracted."""
    span = (pl.col("end_ns").max() - pl.col("begin_ns").min()) / 1e9
    return measured.table("steps").group_by("launch", "rank").agg(span).group_by("launch").agg(pl.col("end_ns").max().alias("span"))


def _paused(measured: RecordData) -> pl.DataFrame:
    """(launch, paused): seconds of evaluations, checkpoints and peak measurements on the slowest rank, inside or outside steps."""
    kinds = ("evaluation", "checkpoint_save", "checkpoint_load", "flops")  # flops: peak measurement between two steps
    pauses = measured.table("events").filter(pl.col("kind").is_in(kinds) & pl.col("duration_ns").is_not_null())
    by_rank = pauses.group_by("launch", "rank").agg(pl.col("duration_ns").sum() / 1e9)
    return by_rank.group_by("launch").agg(pl.col("duration_ns").max().alias("paused"))


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind with too few marked steps."""
    if _signs(measured).height:
        return None
    return f"no timed launch marked {count(FEWEST_STEPS, 'steps')}"


def claim(said: Claim) -> tuple[Finding, ...]:
    """Numbers read from an unsynchronised device, and device numbers that leave it unstated."""
    wrong = [
        found("clock_read_early", "invalid", number, "the device was not synchronised when the clock was read", REMEDY, "synchronised")
        for number in speeds(said)
        if number.synchronised is False
    ]
    judged = _on_device(said) and not is_serving(said)  # a client times answers that have arrived: nothing is queued
    silent = [number for number in speeds(said) if number.synchronised is None] if judged else []
    return (
        *wrong,
        *unsaid(
            "synchronisation_unsaid",
            silent,
            "whether the device had finished when the clock was read",
            "state synchronised",
            "synchronised",
        ),
    )


def _on_device(said: Claim) -> bool:
    """Whether the claim concerns a device with queued work."""
    sides = (said.conditions.baseline, said.conditions.candidate, *(number.conditions for number in said.number))
    words = " ".join([said.claim.text, *(f"{key} {value}" for side in sides for key, value in side.items())])
    return re.search(rf"(?<![a-wyz])({'|'.join(DEVICES)})", words.casefold()) is not None


AUDIT = Audit(
    name="missing_synchronisation",
    title="missing synchronisation",
    question="Was the clock read before the device had finished?",
    examine=examine,
    claim=claim,
    blind=blind,
)
