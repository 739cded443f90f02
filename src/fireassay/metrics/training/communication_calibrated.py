"""How long does communication take alone, and how much of it is hidden or contended?

From the launches that calibrate communication (`workload.calibrate_communication`), each by its own data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import averaged
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.listed_collectives import inventory
from fireassay.frames.training.communication.step_communication import METHODS, replayed
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.training.communication import CLAMPED, undecided
from fireassay.metrics.training.communication_steps import of_several
from fireassay.units import SECONDS


def calibrated(measured: RecordData, part: pl.Expr, name: str, words: str, *, of: Sequence[str]) -> Mapping[str, Value]:
    """A part of communication in each calibrating launch, from that launch's own data (`of`: keys of `_LACKING`); not below 0."""
    launches = measured.once("calibrating communication", _calibrating).with_columns(part.alias("value"))
    return of_several(measured, lambda configuration: _calibrated(measured, launches, configuration, name, words, of))


_LACKING: Final = {
    "alone_s": "its collectives were not replayed alone: too few steps, or some are not all_reduce, broadcast, all_gather or reduce_scatter",
    "exposed_s": "no step ran without synchronising: too few steps, or no DistributedDataParallel (FSDP cannot)",
    "thread_s": "the waiting time of its threads in these steps was not recorded, as on a GPU",
}
NOT_ASKED: Final = "no launch calibrated its communication; add some: workload.calibrate_communication = 3"
FAILED: Final = "no launch that calibrates its communication succeeded; see the launches table"
UNPAIRED: Final = "no launch has both of its terms, and terms of two launches are not subtracted"
UNMATCHED: Final = (
    "torch's flight recorder lists {listed:.3g} collectives a step but the hooks saw {seen:.3g}: the others have neither a time "
    "alone nor a waiting time"
)


def _calibrating(measured: RecordData) -> pl.DataFrame:
    """(configuration, block, launch, alone_s, replays, exposed_s, thread_s, steps) of the launches that calibrate communication."""
    good = measured.table("launches").filter((pl.col("role") == "communication") & (pl.col("status") == "ok"))
    replays = replayed(measured.tables).select("launch", "alone_s", "replays")
    turns = measured.communicated.ways.filter(pl.col("method") == "unsynchronised").select("launch", "exposed_s", "thread_s", "steps")
    joined = good.select("configuration", "block", "launch").join(replays, on="launch", how="left")
    return joined.join(turns, on="launch", how="left").sort("block", "launch")


def _calibrated(measured: RecordData, launches: pl.DataFrame, configuration: str, name: str, words: str, of: Sequence[str]) -> Value:
    rows = launches.filter(pl.col("configuration") == configuration)
    if rows.height == 0:
        requested = measured.experiment.workload.calibrate_communication > 0
        return Absent(reason="not_measured", detail=FAILED if requested else NOT_ASKED)
    listed = inventory(measured, configuration)
    if listed is not None and listed.unseen and listed.seen is not None:
        return Absent(reason="not_measured", detail=UNMATCHED.format(listed=listed.calls, seen=listed.seen))
    present = rows.filter(pl.col("value").is_not_null())
    doubts = tuple(undecided(measured, configuration)) if "exposed_s" in of else ()
    if present.height == 0:
        lacking = [text for key, text in _LACKING.items() if key in of and not rows[key].count()]
        reasons = [*doubts, *(text for text in lacking if not doubts or text != _LACKING["exposed_s"])]
        return Absent(reason="not_measured", detail="; ".join(reasons or [UNPAIRED]))
    values = present["value"].to_list()
    below = sum(value < 0.0 for value in values) / len(values)
    notes = (f"{CLAMPED[True]} in {below:.1%} of them",) if below else ()
    estimate = averaged(
        [max(0.0, value) for value in values],
        measured.confidence,
        name=name,
        aggregate=words,
        n_trials=int(present["steps" if "exposed_s" in of else "replays"].sum()),
    )
    return replace(estimate, method="; ".join((estimate.method, *notes, *doubts)))


measure = partial(Metric, unit=SECONDS, kind="cost", better="lower", dimension="performance", about=("training",))


def _alone(measured: RecordData, _: Results) -> Mapping[str, Value]:
    words = "median over replays of the mean over ranks of the time that a step's collectives take with nothing else running"
    return calibrated(measured, pl.col("alone_s"), "comm_alone|by:replay", words, of=("alone_s",))


COMM_ALONE = measure(
    name="comm_alone",
    title="Communication alone",
    formula="median over replays of the time of a step's collectives with nothing else running",
    compute=_alone,
    question="How long do a step's collectives take with nothing else running?",
    caveat="All are requested at once after a barrier: it excludes waiting for slower ranks and the time between calls.",
    rank=1456,
)


def _hidden(measured: RecordData, _: Results) -> Mapping[str, Value]:
    words = f"time of its collectives alone less exposed communication by {METHODS['unsynchronised']}, of the same launch, not below 0"
    hidden = pl.col("alone_s") - pl.col("exposed_s")
    return calibrated(measured, hidden, "comm_hidden|by:unsynchronised", words, of=("alone_s", "exposed_s"))


COMM_HIDDEN = measure(
    name="comm_hidden",
    title="Hidden communication time",
    better="neither",
    formula="max(0, comm_alone - comm_exposed) of the same launch, by unsynchronised steps",
    compute=_hidden,
    question="How much of the communication does computing hide, in seconds?",
    caveat="A lower bound: contention and waiting for slower ranks lengthen only what is exposed; a script's own calls count as hidden.",
    rank=1457,
)


def _contention(measured: RecordData, _: Results) -> Mapping[str, Value]:
    words = f"exposed communication by {METHODS['unsynchronised']}, less what the threads waited for in the same launch, not below 0"
    beyond = pl.col("exposed_s") - pl.col("thread_s")
    return calibrated(measured, beyond, "comm_contention|by:unsynchronised", words, of=("exposed_s", "thread_s"))


COMM_CONTENTION = measure(
    name="comm_contention",
    title="Contention of communication",
    formula="max(0, comm_exposed by unsynchronised steps - time the thread waited) of the same launch",
    compute=_contention,
    question="How much does communication cost beyond the time that threads wait?",
    caveat="It cannot separate slower computing from filling buckets, and says nothing of a GPU, whose kernels no thread waits for.",
    rank=1458,
)


METRICS = (COMM_ALONE, COMM_HIDDEN, COMM_CONTENTION)
