"""What is the answer of timed commands, on one screen?  How many times as fast, and a row for each with time, processor time and memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Scale, bracketed, count, percent, reading, scale_for, show, with_interval
from fireassay.reports.answering import shortened
from fireassay.reports.answers.changes import doubts
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import Answer, Head, Line, Mark, Section, Table, Tile, Tone, Words, number
from fireassay.reports.page import Cell as TableCell
from fireassay.reports.rows.timing import Summary
from fireassay.units import BYTES, RATIO, SECONDS
from fireassay.verdict.comparison.change_phrases import change_text
from fireassay.verdict.comparison.types import Change, Comparison

LONGEST_LABEL: Final = 26  # characters of a command in the table
MOST_ROWS: Final = 12
MOST_TILES: Final = 4
TONES: Final[dict[str, Tone]] = {"improved": "good", "equivalent": "good", "worse": "good"}  # an answer, not a judgement


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
    section = Section(key="brief-times", title="", depth="brief", content=(table(rows),))
    known = [(name, summary.time) for name, summary in _named(summaries) if isinstance(summary.time, Estimate)]
    if len(known) < 2:
        return (section,)
    scale = _scale(summaries)
    drawn = tuple(Interval(name=name, number=number(time, scale)) for name, time in known[:MOST_ROWS])
    plot = intervals(name="times-drawn", title=f"time, {scale.label}", rows=drawn, edges=(Edge(value=0.0),))
    return (section, Section(key="drawn", title="Times", depth="first", content=(plot,)))


def _named(summaries: Sequence[Summary]) -> list[tuple[str, Summary]]:
    """Several commands by their numbers in the headline."""
    several = len(summaries) > 1
    return [(f"{i} {shortened(s.label, LONGEST_LABEL)}" if several else s.label, s) for i, s in enumerate(summaries, 1)]


def _tiles(summaries: Sequence[Summary]) -> Iterator[Tile]:
    """The time of each command, all in one unit."""
    timed, missing = Mark(word="timed", tone="good"), Mark(word="not measured", tone="absent")
    scale = _scale(summaries)
    for name, summary in _named(summaries)[:MOST_TILES]:
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
    shown = rows[:MOST_ROWS]
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
    names = [f"{index} {shortened(label, LONGEST_LABEL)}" if len(rows) > 1 else "" for index, (label, *_) in enumerate(shown, 1)]
    cells = tuple((Words(text=name), *(column[index] for column in columns)) for index, name in enumerate(names))
    left = (f"{count(len(rows) - MOST_ROWS, 'more commands')}: --full",) if len(rows) > MOST_ROWS else ()
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
    yield doubts([f"{note}." for note in notes])
    missing = [(index, summary.memory.detail) for index, summary in enumerate(summaries, 1) if isinstance(summary.memory, Absent)]
    if missing:
        text = "; ".join(f"{index}: {why}" if several else why for index, why in missing)
        yield Line(label="memory", text=shortened(text), mark=Mark(word="not measured", tone="absent"))
    floors = [summary.floor for summary in summaries if summary.floor is not None]
    if floors:
        thing = "starting an empty command" if summaries[0].trial == "starts" else "calling an empty function"
        yield Line(label="floor", text=f"{thing} takes {reading(floors[0], SECONDS)}, not subtracted")


def _record(summaries: Sequence[tuple[Summary, str]]) -> str:
    made = [summary for summary, _ in summaries]
    ids = ", ".join(path.rsplit("-", 1)[-1] for _, path in summaries)
    rounds = count(min(summary.launches for summary in made), "rounds")
    starts = " and ".join(f"{summary.trials:,}" for summary in made) + f" {made[0].trial}"
    time = made[0].time
    sure = f", {percent(time.confidence, 4)} intervals" if isinstance(time, Estimate) else ""
    return f"{ids}, {rounds}{' in turn' if len(made) > 1 else ''}, {starts}{sure}; --full shows everything"
