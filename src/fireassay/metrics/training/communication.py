"""How much of a step is communication, exposed, hidden, waiting?

Per rank and step, mean over ranks; a launch's value is the median over its steady steps. One worker does not communicate;
unrecorded values are absent with their reason, and every value names its method (`fireassay.frames.training.communication.step_communication`).
Overlap is HTA's |M and C| / |M|; transfer is the minimum over ranks, as in TraceLens, and compares durations only, so that the ranks'
clocks need not agree; bytes are those of nccl-tests' `GetBw`. DDP sends gradients once, FSDP parameters three times (Zhao 2023).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import average, averaged, no_launch
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.listed_collectives import Inventory, inventory, why_none
from fireassay.frames.training.communication.step_communication import IN_TRAINING, METHODS, replayed
from fireassay.frames.training.communication.watched_steps import named
from fireassay.metrics.metric import Metric, Results
from fireassay.units import BYTES, FRACTION, NS_PER_S, RATIO, SECONDS

NOT_SEEN: Final = "no collective of its steps was seen (with workload.attach = false none can be)"
NO_END: Final = "its collectives were seen to begin but not to end, as on a GPU; profile some steps: assay profile"
NO_PARTNER: Final = "its calls cannot be put together over the ranks: some are missing, or are point to point"
UNSEEN: Final = (
    "torch's flight recorder lists {listed:.3g} collectives a step and the hooks saw {seen:.3g}: of the others no time is known, so that any "
    "total would be too small; profile some steps: assay profile"
)
UNSIZED: Final = (
    "torch's flight recorder lists {listed:.3g} collectives a step, of which the hooks saw {seen:.3g}: the bytes of the others are not known, since "
    "it lists a type whose size is not known"
)
ONE: Final = Absent(reason="not_applicable", detail="one worker has nobody to communicate with")


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
    return {
        configuration.name: ONE if configuration.workers == 1 else _number(measured, joined, configuration.name, words, name, missing)
        for configuration in measured.varied
    }


def _number(measured: RecordData, joined: pl.DataFrame, configuration: str, words: str, name: str, missing: str) -> Value:
    rows = joined.filter(pl.col("configuration") == configuration)
    if rows.height == 0:
        return no_launch(configuration)
    present = rows.filter(pl.col("value").is_not_null())
    listed = inventory(measured, configuration)
    if listed is not None and listed.unseen and listed.seen is not None:
        return Absent(reason="not_measured", detail=UNSEEN.format(listed=listed.calls, seen=listed.seen))
    if present.height == 0:
        return Absent(reason="not_measured", detail=missing if rows["steps"].count() else NOT_SEEN)
    unseen = int(present["unseen"].sum())
    left_out = f"; {unseen} calls whose end was not seen are left out" if unseen else ""
    return averaged(
        present["value"].to_list(),
        measured.confidence,
        name=name,
        n_trials=int(present["steps"].sum()),
        aggregate=f"median over {named(measured.table('communication'), present)} of the mean over ranks of {words}{left_out}",
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
    "transfer_ns": "the time in which a collective's kernel ran, each as long as on the rank where it was shortest",
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


def exposed(measured: RecordData) -> Mapping[str, Value]:
    """Exposed communication per configuration, by the best available method; its method text gives the others."""
    return {
        configuration.name: ONE if configuration.workers == 1 else _exposed(measured, configuration.name)
        for configuration in measured.varied
    }


def _exposed(measured: RecordData, configuration: str) -> Value:
    method = measured.communicated.best(configuration)
    if method is None:
        ran = configuration in measured.timed["configuration"]
        reason = "; ".join((_why_none(measured, configuration), *_unsure(measured, configuration)))
        return Absent(reason="not_measured", detail=reason) if ran else no_launch(configuration)
    others = {name: value for name, value in by_method(measured, configuration).items() if isinstance(value, Estimate)}
    chosen = others.pop(method)
    beside = ", ".join(f"{name} {value.value * 1e3:.4g} ms" for name, value in others.items())
    notes = [f"other ways: {beside}"] if beside else []
    return replace(chosen, method="; ".join((chosen.method, *_unsure(measured, configuration), *notes)))


def _unsure(measured: RecordData, configuration: str) -> Iterator[str]:
    """What steps with and without synchronisation could not determine."""
    ways = measured.communicated.ways
    undetermined = ways.filter((pl.col("configuration") == configuration) & pl.col("unsure_s").is_not_null())
    for value, half, steps in undetermined.select("unsure_s", "half_s", "steps").iter_rows():
        within = f" -+ {half * 1e3:.3g}" if half is not None else ""
        yield f"steps with and without synchronising in turn cannot tell: {value * 1e3:.3g}{within} ms by {steps} steps; more steps or a quieter machine"


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
            note = "" if not isinstance(cut, float) or cut == 0.0 else f"; {_NOTES[method == 'unsynchronised']} in {cut:.1%} of them"
            steps = named(measured.table("communication"), rows) if method in IN_TRAINING else "steps"
            estimates[method] = averaged(
                rows["exposed_s"].to_list(),
                measured.confidence,
                name=f"comm_exposed|by:{method}",
                n_trials=int(rows["steps"].sum()),
                aggregate=f"median over {steps} of the mean over ranks, by {words}{note}",
            )
    return estimates


_NOTES: Final = {False: "cut to the time in which collectives were under way", True: "raised to 0 from below"}


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


def calibrated(measured: RecordData, part: pl.Expr, name: str, words: str, *, of: Sequence[str]) -> Mapping[str, Value]:
    """A part of communication in each calibrating launch, from that launch's own data (`of`: keys of `_LACKING`); not below 0."""
    launches = measured.once("calibrating communication", _calibrating).with_columns(part.alias("value"))
    return {
        configuration.name: ONE if configuration.workers == 1 else _calibrated(measured, launches, configuration.name, name, words, of)
        for configuration in measured.varied
    }


_LACKING: Final = {
    "alone_s": "its collectives were not made again alone: too few steps, or some are no all_reduce, broadcast, all_gather or reduce_scatter",
    "exposed_s": "no step went without synchronising: too few steps, or no DistributedDataParallel (of FSDP none can)",
    "thread_s": "what its threads waited for in these steps was not seen, as where a GPU computes",
}
NOT_ASKED: Final = "no launch calibrated its communication; ask for some: workload.calibrate_communication = 3"
FAILED: Final = "no launch that calibrates its communication was made and succeeded; the launches table says what became of them"
UNPAIRED: Final = "no launch knows both of what it is made of, and two launches are not subtracted from one another"
UNMATCHED: Final = (
    "torch's flight recorder lists {listed:.3g} collectives a step and the hooks saw {seen:.3g}: of the others it is not known what they take "
    "alone nor what was waited for"
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
    unsure = tuple(_unsure(measured, configuration)) if "exposed_s" in of else ()
    if present.height == 0:
        lacking = [text for key, text in _LACKING.items() if key in of and not rows[key].count()]
        reasons = [*unsure, *(text for text in lacking if not unsure or text != _LACKING["exposed_s"])]
        return Absent(reason="not_measured", detail="; ".join(reasons or [UNPAIRED]))
    values = present["value"].to_list()
    below = sum(value < 0.0 for value in values) / len(values)
    notes = (f"{_NOTES[True]} in {below:.1%} of them",) if below else ()
    estimate = averaged(
        [max(0.0, value) for value in values],
        measured.confidence,
        name=name,
        aggregate=words,
        n_trials=int(present["steps" if "exposed_s" in of else "replays"].sum()),
    )
    return replace(estimate, method="; ".join((estimate.method, *notes, *unsure)))


def _step_number(measured: RecordData, _: Results, *, part: str, words: str, missing: str) -> Mapping[str, Value]:
    values = step_numbers(measured, f"{part}_ns", words, f"comm_{part}", missing)
    return {name: _of_kernels(measured, name, value, f"{part}_ns") for name, value in values.items()}


measure = partial(Metric, unit=SECONDS, kind="cost", better="lower", dimension="performance", about=("training",))

STEP_NUMBERS = (  # part, title, formula, in words, why there is none, question, caveat
    (
        "total",
        "Communication",
        "median over steps of the mean over ranks of |union of its collectives|",
        "the time in which collectives were under way",
        NO_END,
        "In how much of a step is some collective under way?",
        "It does not separate transfer from waiting for slower ranks, nor say what of it computing hides.",
    ),
    (
        "transfer",
        "Transfer",
        "median over steps of |union of its collectives, each as long as the least over ranks|",
        "the least that any rank needed for each collective",
        NO_PARTNER,
        "How much of a step's communication moves data, and waits for nobody?",
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

COMM_EXPOSED = measure(
    name="comm_exposed",
    title="Exposed communication",
    formula="step time that communication adds: with - without synchronising, else |communication without computing|",
    compute=lambda measured, _: exposed(measured),
    question="By how much does communication lengthen a step?",
    caveat="Part of the phases in which it happens; includes waiting for slower ranks and collectives of a script's own evaluation.",
    rank=1453,
)


def _overlap(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return ratios(
        measured,
        (1.0 - pl.col("exposed_s") / pl.col("total_s")).clip(0.0, 1.0),
        "overlap",
        "1 - exposed / total communication of its median steps, not below 0",
        "its steps communicate nothing, of which nothing is hidden",
    )


OVERLAP = measure(
    name="overlap",
    title="Hidden communication",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    formula="1 - comm_exposed / comm_total",
    compute=_overlap,
    question="Which share of the communication does computing hide?",
    caveat="A step that hides all of much communication waits no less than one that has little: see comm_exposed.",
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
    question="How much is communicated for what is computed?",
    caveat="Above 1 not all of it can be hidden; overlap says how much is.",
    rank=1455,
)


def _alone(measured: RecordData, _: Results) -> Mapping[str, Value]:
    words = "median over replays of the mean over ranks of the time that a step's collectives take with nothing else running"
    return calibrated(measured, pl.col("alone_s"), "comm_alone|by:replay", words, of=("alone_s",))


COMM_ALONE = measure(
    name="comm_alone",
    title="Communication alone",
    formula="median over replays of the time of a step's collectives with nothing else running",
    compute=_alone,
    question="How long do a step's collectives take when nothing else runs?",
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
    question="What does communication cost beyond what is waited for?",
    caveat="Slower computing and filling buckets cannot be told apart; nothing is known of a GPU, whose kernels no thread waits for.",
    rank=1458,
)


def _volume(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """From the hooks, otherwise from torch's own list."""
    calls = measured.communicated.calls.group_by("launch", "step").agg(pl.col("bytes").mean())
    per_launch = calls.group_by("launch").agg(pl.col("bytes").median(), pl.len().alias("steps"))
    joined = measured.timed.join(per_launch, on="launch", how="left").sort("block")
    return {
        configuration.name: ONE if configuration.workers == 1 else _volume_of(measured, joined, configuration.name)
        for configuration in measured.varied
    }


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
            aggregate=f"median over {named(measured.table('communication'), known)} of the mean over ranks of the bytes of the collectives "
            f"that the hooks saw; {_listed_beside(measured, configuration, listed)}",
        )
    if known.height and listed is not None and listed.nbytes is None:
        return Absent(reason="not_measured", detail=UNSIZED.format(listed=listed.calls, seen=listed.seen or 0.0))
    if listed is None or listed.nbytes is None:
        reason = why_none(measured, configuration)
        return Absent(reason="not_measured", detail=f"{NOT_SEEN}{f'; nor by torch itself: {reason}' if reason else ''}")
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
        return f"torch's flight recorder lists no more of them: {listed.words}"
    reason = why_none(measured, configuration)
    return f"torch's flight recorder cannot be held against it{f': {reason}' if reason else ''}"


COMM_VOLUME = measure(
    name="comm_volume",
    title="Communicated bytes",
    unit=BYTES,
    kind="count",
    better="neither",
    formula="median over steps of the mean over ranks of the bytes of its collectives",
    compute=_volume,
    question="How many bytes does a rank send into the collectives of a step?",
    caveat="Not what went over a link: a ring all_reduce moves 2 (n - 1) / n of it.",
    rank=1459,
)

METRICS = (
    COMM_TOTAL,
    COMM_TRANSFER,
    COMM_WAIT,
    COMM_EXPOSED,
    OVERLAP,
    COMM_TO_COMPUTE,
    COMM_ALONE,
    COMM_HIDDEN,
    COMM_CONTENTION,
    COMM_VOLUME,
)
