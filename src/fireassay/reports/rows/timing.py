"""How is the time of one command or function shown, in a few lines?

First the number with its interval; then its sample, the instrument's own overhead, and disturbances.
Nothing is subtracted or left out: the floor is shown next to the time, and outliers are counted and kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, percent, reading, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.trials import asked_to_count, counted, outliers, states
from fireassay.metrics.calls import TRIAL_CPU_TIME, TRIAL_MEMORY, TRIAL_TIME, starter_bytes
from fireassay.stats.series.trend import drift, memory, memory_limit
from fireassay.units import SECONDS
from fireassay.verdict.judge import Judgement

SHORT: Final = 10.0  # a command shorter than this many empty starts is mostly start-up
CERTAIN: Final = 0.01  # p of a drift worth naming


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A timing, folded; seconds and bytes."""

    label: str
    trial: str  # "starts" of a command or "trials" of a function
    time: Value
    processor: Value
    memory: Value
    launches: int
    trials: int  # counted
    per_launch: int | None  # counted trials of a launch, if all have the same number
    calls: int  # of a trial
    warm_ups: int  # kept, not counted
    fastest: float | None  # of all counted trials
    slowest: float | None
    floor: float | None  # time of an empty start or call
    floor_memory: float | None
    notes: tuple[str, ...]


def summary(measured: RecordData, judgement: Judgement, label: str) -> Summary:
    """Fold a record of the runners command and function."""
    (name,) = measured.configurations
    time, processor, memory = (judgement.results[metric][name] for metric in (TRIAL_TIME.name, TRIAL_CPU_TIME.name, TRIAL_MEMORY.name))
    rows, every = counted(measured), measured.table("trials")
    sizes = rows.group_by("launch").len()["len"].unique().to_list()
    floor, floor_memory = _floor(measured), starter_bytes(measured)
    return Summary(
        label=label,
        trial="starts" if measured.experiment.workload.runner == "command" else "trials",
        time=time,
        processor=processor,
        memory=memory,
        launches=measured.timed.height,
        trials=rows.height,
        per_launch=int(sizes[0]) if len(sizes) == 1 else None,
        calls=int(rows["calls"].max() or 1) if rows.height else 1,  # type: ignore[arg-type]
        warm_ups=every.height - rows.height,
        fastest=_end(rows["seconds"].min()),
        slowest=_end(rows["seconds"].max()),
        floor=floor,
        floor_memory=floor_memory,
        notes=tuple(_notes(measured, judgement, rows, time, floor)),
    )


def _end(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _floor(measured: RecordData) -> float | None:
    rows = measured.table("telemetry").filter((pl.col("device") == "spawn") & (pl.col("counter") == "start"))
    return _end(rows["value"].median())


# ---- caveats -----------------------------------------------------------------------------------------------------


def _notes(measured: RecordData, judgement: Judgement, rows: pl.DataFrame, time: Value, floor: float | None) -> Iterator[str]:
    if measured.experiment.timing.keep_output:
        yield "the time includes passing the output through assay into the record; omit --show-output to exclude it"
    yield from _about_trials(measured, rows)
    if isinstance(time, Estimate):
        yield from _about_launches(measured, time)
        is_command = measured.experiment.workload.runner == "command"
        if floor is not None and is_command and time.value < SHORT * floor:
            yield (
                f"much of this is process start-up: an empty command takes {reading(floor, SECONDS)}; "
                "do more work in one start, or time the function itself (fireassay.time in Python)"
            )
    wanted = ("warning", "invalid", "fail")
    yield from (f.evidence for f in judgement.verdict.findings if f.severity in wanted)


def _about_trials(measured: RecordData, rows: pl.DataFrame) -> Iterator[str]:
    if (failed := rows.filter(pl.col("exit_code") != 0).height) > 0:
        yield f"{failed:,} of {count(rows.height, 'trials')} ended with an exit code other than 0, ignored as requested"
    launch_states = list(states(asked_to_count(measured)).values())
    warm = [state.warmup for state in launch_states if state.kind == "warm-up"]
    if warm:
        yield f"warm-up seen in {len(warm)} of {count(len(launch_states), 'launches')}: up to {count(max(warm), 'trials')} left out"
    for kind in ("slow-down", "no steady state"):
        n_affected = sum(state.kind == kind for state in launch_states)
        if n_affected > len(launch_states) / 2:
            yield f"{kind} inside {n_affected} of {count(len(launch_states), 'launches')}: see what changes in the trials"
    if (n_outliers := outliers(rows)) > 0:
        yield f"{count(n_outliers, 'outliers')} among {count(rows.height, 'trials')}, far above the median of their launch; they are counted"


def _about_launches(measured: RecordData, time: Estimate) -> Iterator[str]:
    """Drift and memory from one launch to the next."""
    begins = measured.timed.sort("block")["begin_ns"].to_list()
    values = time.launch_values
    if len(begins) != len(values):
        return
    trend = drift([begin / 1e9 for begin in begins], values)
    if trend is not None and trend.p_value < CERTAIN:
        yield f"the launches drift: {percent(trend.over_the_run)} from the first to the last"
    resembles = memory(values)
    if resembles is not None and abs(resembles) > memory_limit(len(values)) and len(values) >= 8:
        yield "successive launches are correlated, so the interval may be too narrow; a longer pause or more launches help"


# ---- text ----------------------------------------------------------------------------------------------------------


def text(made: Summary) -> str:
    """The summary as a few lines of text."""
    return "\n".join([made.label, *(f"  {name:<10}{words}" for name, words in lines(made))])


def lines(made: Summary) -> list[tuple[str, str]]:
    """The name and the words of each line."""
    rows = [("time", _time(made)), ("spread", _spread(made))]
    if isinstance(made.processor, Estimate):
        rows.append(("processor", f"{show(made.processor).full}, user and kernel time"))
    rows.append(("memory", _memory(made)))
    if made.floor is not None:
        thing = "starting an empty command" if made.trial == "starts" else "calling an empty function"
        rows.append(("floor", f"{reading(made.floor, SECONDS)} for {thing}; not subtracted"))
    rows += [("note", note) for note in made.notes]
    return [(name, words) for name, words in rows if words]


def _time(result: Summary) -> str:
    if isinstance(result.time, Absent):
        return f"not measured: {result.time.detail}"
    return f"{show(result.time).full}, {percent(result.time.confidence, 4)} over {count(result.launches, 'launches')}"


def _spread(result: Summary) -> str:
    if isinstance(result.time, Absent) or result.fastest is None:
        return ""
    launches = result.time.launch_values or (result.time.value,)  # equal whole numbers keep no launch values
    ends = (reading(end, SECONDS) for end in (min(launches), max(launches), result.fastest, result.slowest))
    low, high, fastest, slowest = ends
    each = f"{result.per_launch:,} in each launch" if result.per_launch is not None else "in all"
    if result.calls > 1:
        each += f" of {count(result.calls, 'calls')}"
    return f"launches {low} to {high}; {count(result.trials, result.trial)} {fastest} to {slowest}, {each}, after {result.warm_ups:,} for warm-up"


def _memory(result: Summary) -> str:
    if isinstance(result.memory, Absent):
        return result.memory.detail
    return f"{show(result.memory).full}, at its largest"
