"""What is shown of a check?  The sentence, refusals, a line per metric, and the limits.

The answer is made for logs: the first line is enough, and where nothing is wrong only what a pass assumes is added.  A regression says how it was
confirmed, with its interval against the margin; an undecided one, how to decide it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import count, limit_text, show
from fireassay.reports.answering import (
    Asked,
    brief_sections,
    change_estimate,
    change_tile,
    in_percent,
    noted_doubts,
    shell_command,
    shortened,
)
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import (
    Answer,
    Bullet,
    Bullets,
    Case,
    Cell,
    Line,
    Mark,
    Next,
    Number,
    Outcome,
    Page,
    Section,
    Table,
    Tile,
    Tone,
    heads,
    notes,
)
from fireassay.reports.pages.comparison_answer import benchmark_names, in_turn
from fireassay.reports.pages.comparison_view import effect
from fireassay.stats.comparing.comparison import Difference
from fireassay.units import FRACTION
from fireassay.verdict.checking.rows import SESSIONS
from fireassay.verdict.checking.types import SURE, Check, CheckRow, Confirmation
from fireassay.verdict.comparison.phrases import ALONE, EXPLORATORY, UNKNOWN, difference_parts, difference_text, values_apart
from fireassay.verdict.comparison.phrases import shortened as middle_cut
from fireassay.verdict.comparison.types import Mismatch

TONES: Final[dict[str, Tone]] = {
    "pass": "good",
    "improvement": "good",
    "regression": "bad",
    "nothing_measured": "bad",
    "not_comparable": "void",
}
ANYHOW: Final = Asked()
CONFIRMATIONS: Final[dict[Confirmation, str]] = {
    "not needed": "",
    "unconfirmed": "Not confirmed by fresh launches in turn.",
    "confirmed": "Suspected, then confirmed: both measured again, in turn.",
    "refuted": "Suspected, then refuted: both measured again, in turn.",
    "undecided": "Both were measured again, in turn; that did not decide either.",
}
MAX_TILES: Final = 4
MAX_NAME: Final = 34
MAX_ROWS: Final = 6  # decided rows in a plot
MAX_SENTENCE_LENGTH: Final = 240  # characters of a sentence in place of a change
MAX_CONDITIONS: Final = 6
BETWEEN: Final = ("two records", "two records and a history")  # designs that fresh launches in turn can decide
OUTCOMES: Final[dict[str, Outcome]] = {
    "regression": "failure",
    "nothing_measured": "error",
    "not_comparable": "error",
    "inconclusive": "skipped",
    "listed": "skipped",
}


def answer(check: Check, records: Sequence[str] = (), asked: Asked = ANYHOW) -> Answer:
    """State, the row that decides it, and what follows; `records` name the baseline and the record in a command."""
    forced = f"{EXPLORATORY} " if check.exploratory else ""
    opposite = f"{text[0].upper()}{text[1:]}." if (text := apart(check)) else ""
    tone = TONES.get(check.state, "open")
    return Answer(
        mark=Mark(word=f"{forced}{check.state.replace('_', ' ')}{_unsure(check)}", tone=tone),
        headline=_headline(check),
        evidence=" ".join(
            filter(None, (CONFIRMATIONS[check.confirmation], *_suspicion(check), *_others(check), opposite, *_limits(check)))
        ),
        tiles=tuple(map(_tile, _told(check)[:MAX_TILES])),
        lines=tuple(_lines(check)),
        next=tuple(_next(check, records, asked)),
        record="" if check.state == "pass" else f"{_basis(check)}; --full shows every metric",
    )


def brief(check: Check) -> tuple[Section, ...]:
    """What changed for the worse or better against its margin; the conditions that forbid a check."""
    if check.refused:
        items = tuple(_condition(mismatch) for mismatch in check.refused[:MAX_CONDITIONS])
        more = len(check.refused) - len(items)
        left = (Bullet(text=f"{count(more, 'more conditions')}: --full"),) if more else ()
        return (Section(key="brief-differs", title="", role="answer", content=(Bullets(items=(*items, *left)),)),)
    if check.state in ("pass", "nothing_measured"):
        return ()
    rows = [row for row in check.rows if row.decides and row.state == check.state and _is_ratio(row)][:MAX_ROWS]
    if not rows:
        return ()
    shown = tuple(
        Interval(name=name, number=_percent(row), mark=_mark(row), target="changes") for name, row in zip(_names(rows), rows, strict=True)
    )
    edges = {Edge(value=0.0), *(Edge(value=edge, text="margin") for row in rows if (edge := _margin(row)))}
    ordered = tuple(sorted(edges, key=lambda edge: edge.value))
    return brief_sections(intervals(name="changes", title="change, %", stub="metric", rows=shown, edges=ordered))


# ---- the row that decides ---------------------------------------------------------------------------------------------


def _deciding(check: Check) -> list[CheckRow]:
    """The rows that give the state, the primary first."""
    rows = [row for row in check.rows if row.decides]
    found = [row for row in rows if row.state == check.state] or rows
    return sorted(found, key=lambda row: not row.primary)


def _told(check: Check) -> list[CheckRow]:
    """Every row that decides, the one that gives the state first; none if the check is refused."""
    first = [] if check.refused else _deciding(check)
    return [*first, *(row for row in check.rows if row.decides and first and row not in first)]


def _headline(check: Check) -> str:
    rows = _deciding(check)
    if check.refused:
        return f"{count(len(check.refused), 'conditions')} {'differs' if len(check.refused) == 1 else 'differ'}"
    row, difference = (rows[0], rows[0].difference) if rows else (None, None)
    if row is None or difference is None:
        return _bare(check.sentence if row is None else row.sentence, check)
    claim = ""
    if check.state == "pass" and row.margin is not None:
        claim = f"; a regression of {limit_text(row.margin, FRACTION)} is excluded"
    also = f"; and {count(len(rows) - 1, 'others')}" if len(rows) > 1 and check.state == "regression" else ""
    return f"{row.title.lower()} {difference_text(difference)} at {row.configuration}{claim}{also}"


def _unsure(check: Check) -> str:
    """Says of a regression between days that nothing confirmed it, as the sentence does."""
    doubtful = check.confirmation == "unconfirmed" and any(row.in_doubt for row in _deciding(check))
    return " (unconfirmed)" if check.state == "regression" and doubtful else ""


def _suspicion(check: Check) -> Iterator[str]:
    if check.state == "inconclusive" and any(row.suspected for row in _deciding(check)):
        yield "Suspected to be worse, which is not shown."


def _bare(sentence: str, check: Check) -> str:
    """A sentence without the state that the first word says."""
    state = check.state.replace("_", " ").upper()
    return shortened(sentence.removeprefix(f"{EXPLORATORY} ").removeprefix(f"{state}: ").rstrip("."), MAX_SENTENCE_LENGTH)


def _others(check: Check) -> Iterator[str]:
    """What else decides, such as quality, in its own sentence."""
    for row in check.rows:
        if row.decides and row.difference is None and row is not _deciding(check)[0]:
            text = shortened(row.sentence.partition(";")[0])
            yield f"{text[:1].upper()}{text[1:]}{')' if text.count('(') > text.count(')') else ''}."


def apart(check: Check) -> str:
    """That two estimators of the first row that decides point opposite ways; what a pass excludes does not depend on it."""
    return "" if check.state == "pass" else next((_apart(row) for row in _deciding(check)), "")


def _apart(row: CheckRow) -> str:
    return values_apart(row.baseline, row.value, row.difference)


def _is_ratio(row: CheckRow) -> bool:
    return row.difference is not None and row.difference.scale == "ratio" and math.isfinite(row.difference.value)


def _names(rows: Sequence[CheckRow]) -> list[str]:
    """The metric of each row; of several rows of one metric the configuration or benchmark."""
    if len({row.metric for row in rows}) > 1 or len({row.configuration for row in rows}) == 1:
        return [row.title.lower() for row in rows]
    names = benchmark_names(row.configuration for row in rows)
    return [middle_cut(names[row.configuration], MAX_NAME) for row in rows]


def _margin(row: CheckRow) -> float:
    """Where a regression beyond the margin begins, as a change; 0 without one."""
    if row.margin is None or row.better == "neither":
        return 0.0
    return row.margin if row.better == "lower" else 1.0 / (1.0 + row.margin) - 1.0


def _percent(row: CheckRow) -> Number:
    difference = row.difference
    assert difference is not None
    return in_percent(
        difference.value,
        difference.low,
        difference.high,
        confidence=difference.confidence,
        method=difference.method,
        margins=(_margin(row),),
    )


def _mark(row: CheckRow) -> Mark:
    return Mark(word=row.state.replace("_", " "), tone=TONES.get(row.state, "open"))


def _tile(row: CheckRow) -> Tile:
    margin = f", margin {limit_text(row.margin, FRACTION)}" if row.margin is not None else ""
    text = f"at {row.configuration}{margin}" if _is_ratio(row) else shortened(row.sentence.partition(";")[0])
    return change_tile(row.title, _mark(row), _percent(row) if _is_ratio(row) else None, text)


def _condition(mismatch: Mismatch) -> Bullet:
    values = " against ".join(middle_cut(value, 30) for value in mismatch.values)
    return Bullet(mark=Mark(word="differs", tone="void"), title=mismatch.field, text=shortened(f"{values}: {mismatch.why}", 190))


# ---- what follows ----------------------------------------------------------------------------------------------------


def _lines(check: Check) -> Iterator[Line]:
    """Why it cannot pass, and its limits; a check that passes says no more."""
    if check.state in ("pass", "not_comparable"):
        return
    for gap in check.gaps[:2]:
        yield Line(label="gap", text=shortened(gap), mark=Mark(word="gap", tone="open"))
    notes = [note for note in check.notes if not note.startswith((SURE, UNKNOWN, SESSIONS, ALONE, f"{check.record}: "))]
    yield noted_doubts([f"{note.rstrip('.')}." for note in reversed(notes)], most=1)  # the last ones are about this check


def _limits(check: Check) -> Iterator[str]:
    """Benchmarks that one side lacks, and what was seen or assumed of the days between two sessions: a pass rests on both."""
    for beginning in (ALONE, SESSIONS):
        yield from (f"{note[0].upper()}{note[1:].rstrip('.')}." for note in check.notes if note.startswith(beginning))


def _basis(check: Check) -> str:
    based = "" if check.design == "none" else f", based on {check.design}"
    return f"{check.record}{f' against {check.baseline}' if check.baseline else ''}{based}"


def _next(check: Check, records: Sequence[str], asked: Asked) -> Iterator[Next]:
    if len(records) != 2 or check.exploratory:
        return
    baseline, record = records
    differs = "--varying" not in asked.flags and any(mismatch.declared for mismatch in check.mismatches)
    code = ("--varying", "code") if differs else ()  # as it is by default
    if check.refused:
        fields = [mismatch.field for mismatch in check.refused if mismatch.override]
        if 0 < len(fields) == len(check.refused) <= 4:
            flags = [word for field in fields for word in ("--varying", field)]
            words = ("assay", "check", record, "--against", baseline, *asked.flags, *code, *flags)
            yield Next(
                reason="measure under the baseline's conditions; if the difference is intended, say so", command=shell_command(*words)
            )
    elif check.state == "regression":
        words = ("assay", "compare", baseline, record, *asked.compare, *code, "--full")
        yield Next(reason="see what explains it", command=shell_command(*words))
    elif check.state == "inconclusive" and check.design in BETWEEN and check.confirmation == "not needed":
        words = ("assay", "check", record, "--against", baseline, *asked.flags, "--confirm", "always")
        yield in_turn("decide it here: both measured again, in turn", words, asked)


def page(check: Check, records: Sequence[str] = (), asked: Asked = ANYHOW) -> Page:
    """The page of a check; `records` name the baseline and the record in a command."""
    summary = {"state": check.state, "record": check.record, "baseline": check.baseline, "sentence": check.sentence}
    return Page(
        title=f"{check.record} against {check.baseline}" if check.baseline else check.record,
        mark=Mark(word=f"{mark_of(check)}{check.state.replace('_', ' ')}", tone=TONES.get(check.state, "open")),
        lead=check.sentence,
        sections=(*brief(check), *_sections(check)),
        answer=answer(check, records, asked),
        properties={"verb": "check", **summary},
        cases=tuple(_cases(check)),
    )


def without_answer(sections: Sequence[Section]) -> tuple[Section, ...]:
    """The sections that are not the evidence of the check's own answer."""
    return tuple(section for section in sections if section.role != "answer")


def mark_of(check: Check) -> str:
    """The prefix of every verdict forced despite differing conditions."""
    return f"{EXPLORATORY} " if check.exploratory else ""


def _sections(check: Check) -> Iterator[Section]:
    if check.refused:
        yield Section(key="differs", title="Differences", content=(Bullets(items=tuple(_refused(check))),))
    if check.rows:
        table = Table(
            name="changes",
            heads=heads("Metric", "State", "At", "Change", "Baseline", "Record"),
            rows=tuple(_row(row, check) for row in check.rows if row.state != "listed" or (row.baseline, row.value) != (None, None)),
        )
        yield Section(key="changes", title="Changes", content=(table,))
    opposite = [f"{row.title} at {row.configuration}: {text}" for row in check.rows if (text := _apart(row))]  # the table prints both
    if remarks := (*_legend(check), *opposite, *check.gaps, *check.notes):
        yield Section(key="notes", title="Notes", content=(notes(remarks),))


def _refused(check: Check) -> Iterator[Bullet]:
    for mismatch in check.refused:
        values = " against ".join(mismatch.values)
        text = f"{values}; it matters because {mismatch.why}; allowed by: {mismatch.override or 'nothing'}"
        yield Bullet(mark=Mark(word="differs", tone="bad"), title=mismatch.field, text=text)


def _legend(check: Check) -> list[str]:
    starred = any(not row.decides and row.state != "listed" for row in check.rows)
    return ["*: decides nothing; only the primary metric and quality do, unless --all is given"] if starred else []


def _row(row: CheckRow, check: Check) -> tuple[Cell, ...]:
    ends = (_number(value, row) for value in (row.baseline, row.value))
    return (row.metric, _state(row, check), row.configuration, difference_number(row.difference), *ends)


def _state(row: CheckRow, check: Check) -> Mark:
    if row.state == "listed":
        return Mark(word="listed")
    word = f"{row.state.replace('_', ' ')}{' (suspected)' if row.suspected else ''}{'' if row.decides else ' *'}"
    return Mark(word=f"{mark_of(check)}{word}", tone=TONES.get(row.state, "open"), why=row.sentence)


def difference_number(difference: Difference | None, *, unit: str = "") -> Number | None:
    """A ratio or difference as text; its value stays a number."""
    if difference is None:
        return None
    estimate = change_estimate(
        difference.value,
        difference.low,
        difference.high,
        unit="ratio" if difference.scale == "ratio" else unit,
        confidence=difference.confidence,
        method=difference.method,
    )
    return Number(shown=effect(difference_parts(difference, unit), estimate))


def _number(value: Value | None, row: CheckRow) -> Number | None:
    """A value with enough digits that two values reported as different do not print alike."""
    if value is None:
        return None
    pair = (row.baseline, row.value) if row.state in ("regression", "improvement") else ()
    return Number(shown=show(value, beside=[other.value for other in pair if isinstance(other, Estimate) and other is not value]))


def _cases(check: Check) -> Iterator[Case]:
    """One case per metric and configuration, so that the file alone matches the exit code, except for accepted states."""
    for row in check.rows:
        state = row.state if row.decides else "listed"
        yield _case(f"{row.metric} at {row.configuration}", row.configuration, state, _case_text(row, check))
    if not check.rows or (check.gaps and check.state == "inconclusive"):
        yield _case("comparison", "assay", check.state, check.sentence)


def _case(name: str, group: str, state: str, text: str) -> Case:
    return Case(name=name, group=group, outcome=OUTCOMES.get(state, "passed"), kind=state, text=text)


def _case_text(row: CheckRow, check: Check) -> str:
    """The sentence of a case, which says if its metric cannot fail the build."""
    listed = "" if row.decides else f"{row.state.replace('_', ' ')}, which decides nothing: "
    return f"{mark_of(check)}{listed}{row.sentence}"
