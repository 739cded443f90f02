"""Which numbers of calls that another program timed are shown?  The time of each benchmark over launches, and the program's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, reading, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.calls import TRIAL_TIME
from fireassay.reports import answering
from fireassay.reports.answering import clipped, noted_doubts
from fireassay.reports.build_view import contradictions
from fireassay.reports.page import Answer, Head, Line, Section, Table, Words, number
from fireassay.reports.pages import record
from fireassay.reports.view import Column, Fact, View
from fireassay.verdict.gates.gate import MIN_LAUNCHES
from fireassay.verdict.phrases import titled

NO_TIME: Final = Absent(reason="not_measured", detail="it was not measured")
MAX_ROWS: Final = 12
MAX_NAME: Final = 34
SHOWN: Final = ("median", "mean")  # of the program's own numbers, in the table
NO_INTERVAL: Final = "one launch, no interval over launches"


def columns(measured: RecordData) -> tuple[Column, ...]:
    """A benchmark by its own name; a timing of ours by what it is."""
    return tuple(Column(key=one.name, label=one.target or measured.kind.label or one.name, workers=one.workers) for one in measured.varied)


def facts(measured: RecordData) -> Iterator[Fact]:
    """What the file says of itself, its numbers, and what it lacks."""
    foreign = measured.foreign or {}
    yield from (Fact(name=f"Their {name}", text=str(words)) for name, words in (foreign.get("meanings") or {}).items())
    yield from contradictions(foreign)
    for benchmark, words in own_numbers(foreign, None).items():
        yield Fact(name=f"{benchmark} by {foreign.get('title')}", text=words)


def own_numbers(foreign: Mapping[str, Any], names: Sequence[str] | None) -> dict[str, str]:
    """benchmark -> its numbers by the program that timed it; of several files the smallest and the largest; `names`: which of them."""
    reported: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for entry in foreign.get("reported") or ():
        name, value = str(entry.get("name")), entry.get("value")
        if isinstance(value, int | float) and (names is None or name in names):
            reported.setdefault(str(entry.get("benchmark")), {}).setdefault(name, []).append((float(value), str(entry.get("unit"))))
    return {benchmark: ", ".join(_ends(name, values) for name, values in found.items()) for benchmark, found in reported.items()}


def _ends(name: str, values: Sequence[tuple[float, str]]) -> str:
    low, high = (reading(*end) for end in (min(values), max(values)))
    return f"{name} {low}" if low == high else f"{name} {low} to {high}"


def answer(view: View) -> Answer:
    """The time of each benchmark, and whether it has an interval."""
    invalid = view.status == "INVALID"
    return Answer(
        mark=answering.mark(view.status),
        headline=f"no number counts: {answering.verdict_words(view)}" if invalid else _headline(view),
        lines=tuple(_lines(view)),
        next=answering.remedies(view, ("invalid",)) if invalid else (),
        record=answering.record_line(view, answering.launches_words(view)),
    )


def _times(view: View) -> dict[str, Value]:
    return {column.key: view.value(TRIAL_TIME.name, column.key) or NO_TIME for column in view.columns}


def _headline(view: View) -> str:
    values = list(_times(view).values())
    if len(values) == 1:
        return _time(values[0], _call(view))
    known = [value for value in values if isinstance(value, Estimate)]
    single = sum(value.n_launches == 1 for value in known)
    enough = sum(value.n_launches >= MIN_LAUNCHES for value in known)
    parts = [
        *([f"{enough} with an interval over launches"] if enough else []),
        *([f"{single} of {NO_INTERVAL}"] if single else []),
        *([f"{len(values) - len(known)} without a time"] if len(known) < len(values) else []),
    ]
    return f"{count(len(values), 'benchmarks')}{', ' if parts else ''}{', '.join(parts)}"


def _time(value: Value, call: str) -> str:
    if isinstance(value, Absent):
        return value.detail
    return f"{show(value).text} {call}: {NO_INTERVAL}" if value.n_launches == 1 else f"{show(value).full} {call}"


def _call(view: View) -> str:
    """What the program calls a call."""
    return str(((view.measured.foreign or {}).get("meanings") or {}).get("call") or "a call")


def _lines(view: View) -> Iterator[Line]:
    foreign = view.measured.foreign or {}
    meanings = foreign.get("meanings") or {}
    others = len(foreign.get("files") or ()) - 1
    file = f"{foreign.get('file')}{f' and {others} more' if others > 0 else ''}"
    text = f"{titled(foreign)}, {file}; timed by it, not by assay. It waits {meanings.get('waits', 'for what its file does not say')}"
    yield Line(label="imported", text=text)
    few = any(isinstance(value, Estimate) and value.n_launches < MIN_LAUNCHES for value in _times(view).values())
    if few:
        yield Line(label="launches", text=f"a launch is {meanings.get('launch')}; import files of {MIN_LAUNCHES} or more runs together")
    if totals := foreign.get("totals"):
        yield Line(
            label="totals", text=f"{count(len(totals), 'benchmarks')} without single times: the file's own statistic stands for them"
        )
    audits = answering.doubts(view, stated=("few_launches",) if few else ())
    failed = _failed(view.measured)
    yield noted_doubts([*failed, *([audits.text] if audits.mark else [])])


def _failed(measured: RecordData) -> list[str]:
    codes = measured.table("trials")["exit_code"]
    failed = int((codes.fill_null(0) != 0).sum())
    return [f"{failed:,} of {count(len(codes), 'trials')} ended with an exit code other than 0"] if failed else []


def brief(view: View) -> tuple[Section, ...]:
    """A row for each benchmark."""
    if view.status == "INVALID":
        return ()
    return (Section(key="brief-times", title="", role="answer", content=(_table(view, MAX_ROWS),)),)


def _table(view: View, most: int | None = None) -> Table:
    foreign = view.measured.foreign or {}
    theirs = own_numbers(foreign, SHOWN)
    heads = (Head(text="benchmark"), Head(text=f"time of {_call(view)}"), Head(text="launches"), Head(text=f"by {foreign.get('title')}"))
    times, shared = _times(view), _shared([column.label for column in view.columns])
    rows = tuple(
        (
            Words(text=clipped(column.label.removeprefix(shared), MAX_NAME) if most else column.label),
            number(times[column.key]),
            f"{value.n_launches:,}" if isinstance(value := times[column.key], Estimate) else "-",
            Words(text=theirs.get(column.label, "-")),
        )
        for column in view.columns[:most]
    )
    left = (f"{count(len(view.columns) - most, 'more benchmarks')}: --full",) if most and len(view.columns) > most else ()
    return Table(name="times" if most else "benchmarks", heads=heads, rows=rows, notes=left)


def _shared(names: Sequence[str]) -> str:
    """The file that all names begin with ("tests/test_sort.py::"), which a row can do without."""
    files = {name.rpartition("::")[0] for name in names}
    return f"{files.pop()}::" if len(files) == 1 and "" not in files else ""


def page_sections(view: View) -> tuple[Section, ...]:
    """The benchmarks, all of them, and what is known of their origin."""
    return (
        Section(key="rest", title="Benchmarks", content=(_table(view),)),
        Section(key="origin", title="Imported", content=(record.facts(view.foreign),)),
    )
