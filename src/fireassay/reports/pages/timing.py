"""What is shown of timed commands and functions?  How many times as fast, and the time of each with its sample.

First the number with its interval; then its sample, the instrument's own overhead, and disturbances.
Nothing is subtracted or left out: the floor is shown next to the time, and outliers are counted and kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Scale, bracketed, count, percent, reading, scale_for, show, with_interval
from fireassay.frames.per_launch import asked_to_count, counted, outliers, states
from fireassay.frames.record_data import RecordData
from fireassay.frames.waiting import return_time, synchronised
from fireassay.metrics.calls import TRIAL_CPU_TIME, TRIAL_DEVICE_TIME, TRIAL_MEMORY, TRIAL_TIME, starter_bytes
from fireassay.reports.answering import clipped, noted_doubts, shortened
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import Answer, Cell, Facts, Head, Line, Mark, Page, Section, Table, Tile, Tone, Words, heads, notes, number
from fireassay.reports.page import Cell as TableCell
from fireassay.stats.series.trend import drift, memory, memory_limit
from fireassay.units import BYTES, RATIO, SECONDS
from fireassay.verdict.comparison.phrases import change_text
from fireassay.verdict.comparison.types import Change, Comparison
from fireassay.verdict.evidence.after_return import UNFINISHED
from fireassay.verdict.judge import Judgement

SHORT: Final = 10.0  # a command shorter than this many empty starts is mostly start-up
CERTAIN: Final = 0.01  # p of a drift worth naming
MAX_LABEL_LENGTH: Final = 26  # characters of a command in the table of a terminal
MAX_ROWS: Final = 12
MAX_TILES: Final = 4
TONES: Final[dict[str, Tone]] = {"improved": "good", "equivalent": "good", "worse": "good"}  # an answer, not a judgement


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
    device: Value | None = None  # time of a call by device events; None: no device was in use
    waited: str = ""  # which devices every trial waited for


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
        device=judgement.results[TRIAL_DEVICE_TIME.name][name] if (devices := synchronised(measured)) else None,
        waited=_waited(measured, devices),
    )


def _waited(measured: RecordData, devices: Mapping[str, float]) -> str:
    if not devices:
        return ""
    costs = ", ".join(f"{name} ({reading(seconds, SECONDS)})" for name, seconds in devices.items())
    returned = return_time(measured)
    early = "" if returned is None else f"; the call itself returns after {reading(returned, SECONDS)}"
    return f"synchronised once in each trial, with the cost of that: {costs}{early}"


def _end(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _floor(measured: RecordData) -> float | None:
    rows = measured.table("telemetry").filter((pl.col("device") == "spawn") & (pl.col("counter") == "start"))
    return _end(rows["value"].median())


# ---- caveats -----------------------------------------------------------------------------------------------------


def _notes(measured: RecordData, judgement: Judgement, rows: pl.DataFrame, time: Value, floor: float | None) -> Iterator[str]:
    yield from (f.evidence for f in judgement.verdict.findings if f.rule in UNFINISHED)
    if measured.experiment.timing.keep_output:
        yield "the time includes passing the output through assay into the record; omit --show-output to exclude it"
    yield from _about_trials(measured, rows)
    if isinstance(time, Estimate):
        yield from _about_launches(measured, time)
        is_command = measured.experiment.workload.runner == "command"
        if floor is not None and is_command and time.value < SHORT * floor:
            much, takes = ("much", reading(floor, SECONDS)) if floor < time.value else ("all", "as long")
            yield (
                f"{much} of this is process start-up: an empty command takes {takes}; "
                "do more work in one start, or time the function itself (fireassay.time in Python)"
            )
    wanted = ("warning", "invalid", "fail")
    yield from (f.evidence for f in judgement.verdict.findings if f.severity in wanted and f.rule not in UNFINISHED)


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
    if made.device is not None:
        rows.append(("device", f"{show(made.device).full}, by device events" if isinstance(made.device, Estimate) else made.device.detail))
        rows.append(("waited", made.waited))
    rows.append(("memory", _memory(made)))
    if made.floor is not None:
        thing = "starting an empty command" if made.trial == "starts" else "calling an empty function"
        rows.append(("floor", f"{reading(made.floor, SECONDS)} for {thing}; not subtracted{_slower(made)}"))
    rows += [("note", note) for note in made.notes]
    return [(name, words) for name, words in rows if words]


def _slower(made: Summary) -> str:
    """Of a floor above the time: nothing starts faster than an empty command, so the machine changed between them."""
    above = made.floor is not None and isinstance(made.time, Estimate) and made.floor > min(made.time.high, SHORT * made.time.value)
    return "; longer than the command itself: the machine was slower while that was measured" if above else ""


def _time(result: Summary) -> str:
    if isinstance(result.time, Absent):
        return f"not measured: {result.time.detail}"
    if result.launches == 1:
        return show(result.time).full
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


def title(summaries: Sequence[Summary]) -> str:
    """The command; several are numbered in the table."""
    return summaries[0].label if len(summaries) == 1 else count(len(summaries), "commands")


def answer(summaries: Sequence[tuple[Summary, str]], comparison: Comparison | None) -> Answer:
    """Which is faster, and how much; the time of one alone."""
    made = [summary for summary, _ in summaries]
    return Answer(
        mark=_mark(made, comparison),
        headline=_headline(made, comparison),
        tiles=tuple(_tiles(made)),
        lines=tuple(_lines(made)),
        record=_record(summaries),
    )


def brief(summaries: Sequence[Summary]) -> tuple[Section, ...]:
    """A row for each command, which a page draws if there are several."""
    rows = [(summary.label, summary.time, summary.processor, summary.memory) for summary in summaries]
    section = Section(key="brief-times", title="", role="answer", content=(table(rows),))
    known = [(name, summary.time) for name, summary in _named(summaries) if isinstance(summary.time, Estimate)]
    if len(known) < 2:
        return (section,)
    scale = _scale(summaries)
    drawn = tuple(Interval(name=name, number=number(time, scale)) for name, time in known[:MAX_ROWS])
    plot = intervals(name="times-drawn", title=f"time, {scale.label}", rows=drawn, edges=(Edge(value=0.0),))
    return (section, Section(key="drawn", title="Times", role="exhibit", content=(plot,)))


def _named(summaries: Sequence[Summary]) -> list[tuple[str, Summary]]:
    """Several commands by their numbers in the headline."""
    several = len(summaries) > 1
    return [(f"{i} {s.label}" if several else s.label, s) for i, s in enumerate(summaries, 1)]


def _tiles(summaries: Sequence[Summary]) -> Iterator[Tile]:
    """The time of each command, all in one unit."""
    timed, missing = Mark(word="timed", tone="good"), Mark(word="not measured", tone="absent")
    scale = _scale(summaries)
    for name, summary in _named(summaries)[:MAX_TILES]:
        shown = show(summary.time, scale)
        told = f"{count(summary.launches, 'rounds')}, {count(summary.trials, summary.trial)}"
        yield Tile(
            title=name,
            mark=timed if shown.measured else missing,
            big=shown.text if shown.measured else "",
            small=shown.interval if shown.measured else "",
            text=f"{told}; processor time {show(summary.processor).full}" if shown.measured else shown.note,
            target=f"command-{_place(name, summaries)}",
        )


def _scale(summaries: Sequence[Summary]) -> Scale:
    return scale_for(SECONDS, [summary.time.value for summary in summaries if isinstance(summary.time, Estimate)])


def _place(name: str, summaries: Sequence[Summary]) -> str:
    return name.partition(" ")[0] if len(summaries) > 1 else "1"


def table(rows: Sequence[tuple[str, Value, Value, Value]]) -> Table:
    """Label, time, processor time and memory, each column in one unit."""
    shown = rows[:MAX_ROWS]
    quantities = (
        ("time", SECONDS, [time for _, time, _, _ in shown]),
        ("CPU", SECONDS, [processor for _, _, processor, _ in shown]),
        ("peak memory", BYTES, [memory for _, _, _, memory in shown]),
    )
    heads = [Head(text="")]
    columns: list[list[TableCell]] = []
    for name, unit, values in quantities:
        if known := [value.value for value in values if isinstance(value, Estimate)]:
            scale = scale_for(unit, known)
            heads.append(Head(text=f"{name}, {scale.label}"))
            columns.append([number(value, scale, bare=True) for value in values])
    names = [f"{index} {clipped(label, MAX_LABEL_LENGTH)}" if len(rows) > 1 else "" for index, (label, *_) in enumerate(shown, 1)]
    cells = tuple((Words(text=name), *(column[index] for column in columns)) for index, name in enumerate(names))
    left = (f"{count(len(rows) - MAX_ROWS, 'more commands')}: --full",) if len(rows) > MAX_ROWS else ()
    return Table(name="times", heads=tuple(heads), rows=cells, inline=True, notes=left)


def _mark(summaries: Sequence[Summary], comparison: Comparison | None) -> Mark:
    if comparison is None:
        measured = isinstance(summaries[0].time, Estimate)
        return Mark(word="timed", tone="good") if measured else Mark(word="nothing measured", tone="bad")
    changes = comparison.decisive()
    if comparison.state == "incomparable":
        return Mark(word="not comparable", tone="void")
    if not changes or any(change.outcome not in TONES for change in changes):
        return Mark(word="inconclusive", tone="open")
    words = {change.word for change in changes}
    return Mark(word=words.pop() if len(words) == 1 else "compared", tone="good")


def _headline(summaries: Sequence[Summary], comparison: Comparison | None) -> str:
    if comparison is None:
        return show(summaries[0].time).full
    changes = comparison.decisive()
    if not changes:
        return shortened(comparison.sentence)
    told = [_against_first(change, number_) for number_, change in enumerate(changes, 2)]
    return "; ".join(told[:3]) + (f"; {len(told) - 3} more" if len(told) > 3 else "")


def _against_first(change: Change, place: int) -> str:
    """ "2 is 1.63 [1.57, 1.70] times as fast as 1"."""
    if change.ratio is None or change.low is None or change.high is None:
        return f"{place}: {change.word}"
    faster, slower = change.outcome == "improved", change.outcome == "worse"
    if not faster and not slower:
        return f"{place} against 1: {change_text(change)}"
    launches = min(value.n_launches for value in (change.baseline, change.value) if isinstance(value, Estimate))
    ends = (change.ratio, change.low, change.high) if slower else (1.0 / change.ratio, 1.0 / change.high, 1.0 / max(change.low, 1e-300))
    times = with_interval(*bracketed(*ends, RATIO, beside=(1.0,), launches=launches))
    return f"{place} is {times} times as fast as 1" if faster else f"{place} takes {times} times as long as 1"


def _lines(summaries: Sequence[Summary]) -> Iterator[Line]:
    several = len(summaries) > 1
    notes = [f"{index}: {note}" if several else note for index, summary in enumerate(summaries, 1) for note in summary.notes]
    yield noted_doubts([f"{note}." for note in notes])
    missing = [(index, summary.memory.detail) for index, summary in enumerate(summaries, 1) if isinstance(summary.memory, Absent)]
    if missing:
        text = "; ".join(f"{index}: {why}" if several else why for index, why in missing)
        yield Line(label="memory", text=shortened(text), mark=Mark(word="not measured", tone="absent"))
    for made in [summary for summary in summaries if summary.floor is not None][:1]:
        thing = "starting an empty command" if made.trial == "starts" else "calling an empty function"
        yield Line(label="floor", text=f"{thing} takes {reading(made.floor or 0.0, SECONDS)}, not subtracted{_slower(made)}")


def _record(summaries: Sequence[tuple[Summary, str]]) -> str:
    made = [summary for summary, _ in summaries]
    ids = ", ".join(path.rsplit("-", 1)[-1] for _, path in summaries)
    rounds = count(min(summary.launches for summary in made), "rounds")
    starts = " and ".join(f"{summary.trials:,}" for summary in made) + f" {made[0].trial}"
    time = made[0].time
    sure = f", {percent(time.confidence, 4)} intervals" if isinstance(time, Estimate) else ""
    return f"{ids}, {rounds}{' in turn' if len(made) > 1 else ''}, {starts}{sure}; --full shows everything"


def page(summaries: Sequence[tuple[Summary, str]], comparison: Comparison | None) -> Page:
    """The page of commands with their records; `comparison` is of each against the first."""
    return Page(
        title=title([summary for summary, _ in summaries]),
        sections=(*brief([summary for summary, _ in summaries]), *_sections(summaries, comparison)),
        answer=answer(summaries, comparison),
        footer=tuple(f"record: {record}" for _, record in summaries),
        properties={"verb": "time"},
    )


def _sections(summaries: Sequence[tuple[Summary, str]], comparison: Comparison | None) -> Iterator[Section]:
    for index, (summary, _) in enumerate(summaries, 1):
        title = summary.label if len(summaries) > 1 else "Time"
        yield Section(key=f"command-{index}", title=title, content=(Facts(rows=tuple(lines(summary))),))
    if comparison is not None:
        suffix = f" at {comparison.configuration}"  # a command has only one configuration
        sentences = [change.sentence.replace(suffix, "", 1) for change in comparison.changes if change.primary]
        yield Section(key="changes", title="Against the first", content=(notes(sentences or [comparison.sentence]),))
    yield Section(key="numbers", title="Numbers", depth="detail", content=(_table(summaries),))


def _table(summaries: Sequence[tuple[Summary, str]]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (summary.label, number(summary.time), number(summary.processor), number(summary.memory)) for summary, _ in summaries
    )
    return Table(name="numbers", heads=heads("Command", "Time", "Processor time", "Memory"), rows=rows, opens=True)
