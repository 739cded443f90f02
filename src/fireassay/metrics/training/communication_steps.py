"""How long do the collectives of a step take, and how much of that is waiting?

Per rank and step, mean over ranks; a launch's value is the median over its steady steps. One worker does not communicate;
unrecorded values are absent with their reason. Transfer is the minimum over ranks, as in TraceLens: it compares durations only, so
that the ranks' clocks need not agree.

How many bytes does a rank communicate in a step?

Bytes are counted as in nccl-tests' `GetBw`. DDP sends gradients once, FSDP parameters three times (Zhao 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import average, averaged, no_launch
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.listed_collectives import Inventory, inventory, why_none
from fireassay.frames.training.communication.watched_steps import named
from fireassay.metrics.metric import Metric, Results
from fireassay.units import BYTES, NS_PER_S, SECONDS

NOT_SEEN: Final = "no collective was recorded in its steps (workload.attach = false records none)"
NO_END: Final = "its collectives have no recorded end, as on a GPU; profile some steps: assay profile"
NO_PARTNER: Final = "its calls cannot be matched across ranks: some are missing or point-to-point"
UNSEEN: Final = (
    "torch's flight recorder lists {listed:.3g} collectives a step but the hooks saw {seen:.3g}: the others have no time, so any "
    "total would be too small; profile some steps: assay profile"
)
ONE: Final = Absent("not_applicable", "a single worker does not communicate")


def of_several(measured: RecordData, value: Callable[[str], Value]) -> Mapping[str, Value]:
    """A value per configuration of several workers."""
    return {configuration.name: ONE if configuration.workers == 1 else value(configuration.name) for configuration in measured.varied}


def step_numbers(measured: RecordData, column: str, words: str, name: str, missing: str = NO_END) -> Mapping[str, Value]:
    """One number of the calls per configuration: the median over steady steps of the mean over ranks, then over launches."""
    calls = measured.communicated.calls
    per_step = calls.group_by("launch", "step").agg(
        pl.when(pl.col(column).null_count() == 0).then(pl.col(column).mean()).alias("value"), pl.col("unseen").sum()
    )
    per_launch = per_step.group_by("launch").agg(
        (pl.col("value").median() / NS_PER_S).alias("value"), pl.col("value").count().alias("steps"), pl.col("unseen").sum()
    )
    joined = measured.timed.join(per_launch, on="launch", how="left").sort("block")
    return of_several(measured, lambda configuration: _number(measured, joined, configuration, words, name, missing))


def _number(measured: RecordData, joined: pl.DataFrame, configuration: str, words: str, name: str, missing: str) -> Value:
    rows = joined.filter(pl.col("configuration") == configuration)
    if rows.height == 0:
        return no_launch(configuration)
    present = rows.filter(pl.col("value").is_not_null())
    listed = inventory(measured, configuration)
    if listed is not None and listed.unseen and listed.seen is not None:
        return Absent("not_measured", UNSEEN.format(listed=listed.calls, seen=listed.seen))
    if present.height == 0:
        return Absent("not_measured", missing if rows["steps"].count() else NOT_SEEN)
    unseen = int(present["unseen"].sum())
    left_out = f"; {unseen} calls whose end was not seen are left out" if unseen else ""
    return averaged(
        present["value"].to_list(),
        measured.confidence,
        name=name,
        n_trials=int(present["steps"].sum()),
        aggregate=f"median over {named(measured, present)} of the mean over ranks of {words}{left_out}",
    )


def _of_kernels(measured: RecordData, configuration: str, value: Value, column: str) -> Value:
    """The same from profiled kernels if the calls' ends were not recorded; without a profile the total from torch's own list."""
    if not isinstance(value, Absent) or value.reason != "not_measured":
        return value
    of_configuration = pl.col("configuration") == configuration
    if column == "total_ns":
        ways = measured.communicated.ways.filter(of_configuration & (pl.col("method") == "kineto") & pl.col("total_s").is_not_null())
        seconds, steps = ways["total_s"].to_list(), int(ways["steps"].sum())
    else:
        launches = measured.table("launches").filter(of_configuration).select("launch")
        rows = measured.communicated.kernels.join(launches, on="launch", how="semi").filter(pl.col(column).is_not_null())
        per_step = rows.group_by("launch", "step").agg(pl.col(column).mean() / NS_PER_S)
        seconds = per_step.group_by("launch").agg(pl.col(column).median()).sort("launch")[column].to_list()
        steps = per_step.height
    name = f"comm_{column.removesuffix('_ns')}"
    if seconds:
        return averaged(
            seconds,
            measured.confidence,
            name=f"{name}|by:kineto",
            n_trials=steps,
            aggregate=f"median over profiled steps of the mean over ranks of {_KERNELS[column]}",
        )
    return (_by_recorder(measured, configuration) if column == "total_ns" else None) or value


_KERNELS: Final = {
    "total_ns": "the time in which a collective's kernel ran",
    "transfer_ns": "the time in which a collective's kernel ran, each counted as on the rank where it was shortest",
    "wait_ns": "the time in which a collective's kernel ran beyond that on the rank where it was shortest",
}


def _by_recorder(measured: RecordData, configuration: str) -> Value | None:
    """Total communication from torch's flight recorder, as a sum: it does not record when a call began to run."""
    listed = inventory(measured, configuration)
    if listed is None or listed.seconds is None:
        return None
    return averaged(
        listed.seconds,
        measured.confidence,
        name="comm_total|by:flight_recorder",
        n_trials=listed.steps,
        aggregate="median over steady steps of the mean over ranks of the sum of durations in torch's flight recorder (calls that run at once "
        "count twice)",
    )


def _step_number(measured: RecordData, _: Results, *, part: str, words: str, missing: str) -> Mapping[str, Value]:
    values = step_numbers(measured, f"{part}_ns", words, f"comm_{part}", missing)
    return {name: _of_kernels(measured, name, value, f"{part}_ns") for name, value in values.items()}


measure = partial(Metric, unit=SECONDS, kind="cost", better="lower", dimension="performance", about=("training",))

STEP_NUMBERS = (  # part, title, formula, in words, why there is none, question, caveat
    (
        "total",
        "Communication",
        "median over steps of the mean over ranks of |union of its collectives|",
        "the time in which collectives were in progress",
        NO_END,
        "For how much of a step is a collective in progress?",
        "It separates neither transfer from waiting for slower ranks, nor hidden from exposed communication.",
    ),
    (
        "transfer",
        "Transfer",
        "median over steps of |union of its collectives, each as long as the least over ranks|",
        "the least that any rank needed for each collective",
        NO_PARTNER,
        "How much of a step's communication moves data rather than waits for other ranks?",
        "Point-to-point calls are left out; a wait that all ranks share counts as transfer.",
    ),
    (
        "wait",
        "Waiting for ranks",
        "median over steps of the mean over ranks of (comm_total - comm_transfer)",
        "the time in collectives beyond their transfer",
        NO_PARTNER,
        "How long do ranks wait in collectives for slower ranks?",
        "The rank that waits least is the one waited for; the audit `stragglers` looks for the reason.",
    ),
)
COMM_TOTAL, COMM_TRANSFER, COMM_WAIT = (
    measure(
        name=f"comm_{part}",
        title=title,
        formula=formula,
        compute=partial(_step_number, part=part, words=words, missing=missing),
        question=question,
        caveat=caveat,
        rank=rank,
    )
    for rank, (part, title, formula, words, missing, question, caveat) in enumerate(STEP_NUMBERS, 1450)
)


UNSIZED: Final = (
    "torch's flight recorder lists {listed:.3g} collectives a step, of which the hooks saw {seen:.3g}: the bytes of the others are unknown, since "
    "the list has a type of unknown size"
)


def _volume(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """From the hooks, otherwise from torch's own list."""
    calls = measured.communicated.calls.group_by("launch", "step").agg(pl.col("bytes").mean())
    per_launch = calls.group_by("launch").agg(pl.col("bytes").median(), pl.len().alias("steps"))
    joined = measured.timed.join(per_launch, on="launch", how="left").sort("block")
    return of_several(measured, lambda configuration: _volume_of(measured, joined, configuration))


def _volume_of(measured: RecordData, joined: pl.DataFrame, configuration: str) -> Value:
    rows = joined.filter(pl.col("configuration") == configuration)
    if rows.height == 0:
        return no_launch(configuration)
    listed, known = inventory(measured, configuration), rows.filter(pl.col("bytes").is_not_null())
    if known.height and (listed is None or not listed.unseen):
        return average(
            known["bytes"].to_list(),
            measured.confidence,
            unit=BYTES,
            name="comm_volume|by:hooks",
            n_trials=int(known["steps"].sum()),
            aggregate=f"median over {named(measured, known)} of the mean over ranks of the bytes of the collectives "
            f"that the hooks saw; {_listed_beside(measured, configuration, listed)}",
        )
    if known.height and listed is not None and listed.nbytes is None:
        return Absent("not_measured", UNSIZED.format(listed=listed.calls, seen=listed.seen or 0.0))
    if listed is None or listed.nbytes is None:
        reason = why_none(measured, configuration)
        return Absent("not_measured", f"{NOT_SEEN}{f'; nor by torch itself: {reason}' if reason else ''}")
    left = f", of which the hooks saw {listed.seen:.3g}" if listed.seen is not None else ""
    return average(
        listed.nbytes,
        measured.confidence,
        unit=BYTES,
        name="comm_volume|by:flight_recorder",
        n_trials=listed.steps,
        aggregate=f"median over its last steps of the mean over ranks of the bytes that torch's flight recorder lists: {listed.words}{left}",
    )


def _listed_beside(measured: RecordData, configuration: str, listed: Inventory | None) -> str:
    if listed is not None:
        return f"torch's flight recorder lists no others: {listed.words}"
    reason = why_none(measured, configuration)
    return f"torch's flight recorder cannot be compared{f': {reason}' if reason else ''}"


COMM_VOLUME = Metric(
    name="comm_volume",
    title="Communicated bytes",
    unit=BYTES,
    kind="count",
    better="neither",
    dimension="performance",
    about=("training",),
    formula="median over steps of the mean over ranks of the bytes of its collectives",
    compute=_volume,
    question="How many bytes does a rank send into the collectives of a step?",
    caveat="Not what went over a link: a ring all_reduce moves 2 (n - 1) / n of it.",
    rank=1459,
)


METRICS = (COMM_TOTAL, COMM_TRANSFER, COMM_WAIT, COMM_VOLUME)
