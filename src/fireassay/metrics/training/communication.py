"""How much of the communication lengthens a step, and how much does computing hide?

By the best of several methods, named with every value (`fireassay.frames.training.communication.step_communication`).
Overlap is HTA's |M and C| / |M|.

How long does communication take alone, and how much of it is hidden or contended?

From the launches that calibrate communication (`workload.calibrate_communication`), each by its own data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import averaged, no_launch
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.listed_collectives import inventory
from fireassay.frames.training.communication.step_communication import IN_TRAINING, METHODS, replayed
from fireassay.frames.training.communication.watched_steps import named
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.training.communication_steps import NO_END, NOT_SEEN, of_several
from fireassay.units import FRACTION, RATIO, SECONDS


def exposed(measured: RecordData) -> Mapping[str, Value]:
    """Exposed communication per configuration, by the best available method; its method text gives the others. Memoised."""
    return measured.once("exposed communication", lambda data: of_several(data, partial(_exposed, data)))


def _exposed(measured: RecordData, configuration: str) -> Value:
    method = measured.communicated.best(configuration)
    if method is None:
        ran = configuration in measured.timed["configuration"]
        reason = "; ".join((_why_none(measured, configuration), *undecided(measured, configuration)))
        return Absent("not_measured", reason) if ran else no_launch(configuration)
    others = {name: value for name, value in by_method(measured, configuration).items() if isinstance(value, Estimate)}
    chosen = others.pop(method)
    rest = ", ".join(f"{name} {value.value * 1e3:.4g} ms" for name, value in others.items())
    notes = [f"other methods: {rest}"] if rest else []
    return replace(chosen, method="; ".join((chosen.method, *undecided(measured, configuration), *notes)))


def undecided(measured: RecordData, configuration: str) -> Iterator[str]:
    """What steps with and without synchronisation could not determine."""
    ways = measured.communicated.ways
    undetermined = ways.filter((pl.col("configuration") == configuration) & pl.col("unsure_s").is_not_null())
    for value, half, steps in undetermined.select("unsure_s", "half_s", "steps").iter_rows():
        within = f" -+ {half * 1e3:.3g}" if half is not None else ""
        seen = f"{value * 1e3:.3g}{within} ms from {steps} steps"
        yield f"alternating steps with and without synchronising are inconclusive: {seen}; use more steps or a quieter machine"


def _why_none(measured: RecordData, configuration: str) -> str:
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    recorded = measured.table("collectives").join(launches, on="launch", how="semi").height > 0
    listed = inventory(measured, configuration)
    known = f" (torch's flight recorder lists {listed.words}, but not what of them computing hides)" if listed is not None else ""
    return f"{NO_END if recorded else NOT_SEEN}{known}"


def by_method(measured: RecordData, configuration: str) -> Mapping[str, Value]:
    """Exposed communication of a configuration by every method with data."""
    ways = measured.communicated.ways.filter((pl.col("configuration") == configuration) & pl.col("exposed_s").is_not_null())
    estimates: dict[str, Value] = {}
    for method, words in METHODS.items():
        rows = ways.filter(pl.col("method") == method).sort("block", "launch")
        if rows.height:
            cut = rows["cut"].mean()
            note = "" if not isinstance(cut, float) or cut == 0.0 else f"; {CLAMPED[method == 'unsynchronised']} in {cut:.1%} of them"
            steps = named(measured, rows) if method in IN_TRAINING else "steps"
            estimates[method] = averaged(
                rows["exposed_s"].to_list(),
                measured.confidence,
                name=f"comm_exposed|by:{method}",
                n_trials=int(rows["steps"].sum()),
                aggregate=f"median over {steps} of the mean over ranks, by {words}{note}",
            )
    return estimates


CLAMPED: Final = {False: "capped at the time in which collectives were in progress", True: "raised to 0 from below"}


def ratios(measured: RecordData, ratio: pl.Expr, name: str, words: str, undefined: str, unit: str = FRACTION) -> Mapping[str, Value]:
    """A ratio of `exposed_s`, `total_s` and `compute_s` of each launch, by the method used for exposed communication."""
    values: dict[str, Value] = {}
    exposing = exposed(measured)
    for configuration in measured.varied:
        value = exposing[configuration.name]
        method = measured.communicated.best(configuration.name)
        if isinstance(value, Absent) or method is None:
            values[configuration.name] = value
            continue
        ways = measured.communicated.ways.filter((pl.col("configuration") == configuration.name) & (pl.col("method") == method))
        present = ways.sort("block", "launch").with_columns(ratio.alias("value")).filter(pl.col("value").is_finite())
        if present.height == 0:
            values[configuration.name] = Absent(
                reason="undefined" if ways["total_s"].count() else "not_measured", detail=undefined if ways["total_s"].count() else NO_END
            )
            continue
        values[configuration.name] = averaged(
            present["value"].to_list(),
            measured.confidence,
            unit=unit,
            name=f"{name}|by:{method}",
            n_trials=int(present["steps"].sum()),
            aggregate=f"{words}, exposed communication by {METHODS[method]}",
        )
    return values


measure = partial(Metric, unit=SECONDS, kind="cost", better="lower", dimension="performance", about=("training",))

COMM_EXPOSED = measure(
    name="comm_exposed",
    title="Exposed communication",
    formula="step time that communication adds: with - without synchronising, else |communication without computing|",
    compute=lambda measured, _: exposed(measured),
    question="By how much does communication lengthen a step?",
    caveat="Part of the phases in which it occurs; includes waiting for slower ranks and collectives of a script's own evaluation.",
    rank=1453,
)


def _overlap(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return ratios(
        measured,
        (1.0 - pl.col("exposed_s") / pl.col("total_s")).clip(0.0, 1.0),
        "overlap",
        "1 - exposed / total communication of its median steps, not below 0",
        "its steps communicate nothing that could be hidden",
    )


OVERLAP = measure(
    name="overlap",
    title="Hidden communication",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    formula="1 - comm_exposed / comm_total",
    compute=_overlap,
    question="What share of the communication does computing hide?",
    caveat="Much communication fully hidden costs a step no more than little communication: see comm_exposed.",
    rank=1454,
)


def _to_compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
    total = "total communication / computing of its median steps"
    return ratios(measured, pl.col("total_s") / pl.col("compute_s"), "comm_to_compute", total, "its steps compute nothing", RATIO)


COMM_TO_COMPUTE = measure(
    name="comm_to_compute",
    title="Communication to computing",
    unit=RATIO,
    kind="ratio",
    formula="comm_total / (step - data wait - comm_exposed)",
    compute=_to_compute,
    question="How does communication compare with computing?",
    caveat="Above 1 not all of it can be hidden; overlap says how much was.",
    rank=1455,
)


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
        return Absent("not_measured", FAILED if requested else NOT_ASKED)
    listed = inventory(measured, configuration)
    if listed is not None and listed.unseen and listed.seen is not None:
        return Absent("not_measured", UNMATCHED.format(listed=listed.calls, seen=listed.seen))
    present = rows.filter(pl.col("value").is_not_null())
    doubts = tuple(undecided(measured, configuration)) if "exposed_s" in of else ()
    if present.height == 0:
        lacking = [text for key, text in _LACKING.items() if key in of and not rows[key].count()]
        reasons = [*doubts, *(text for text in lacking if not doubts or text != _LACKING["exposed_s"])]
        return Absent("not_measured", "; ".join(reasons or [UNPAIRED]))
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


METRICS = (COMM_EXPOSED, OVERLAP, COMM_TO_COMPUTE, COMM_ALONE, COMM_HIDDEN, COMM_CONTENTION)
