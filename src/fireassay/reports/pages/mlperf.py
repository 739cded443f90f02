"""What does the page of a check against MLPerf's rules show?

The verdict, the rules that fail, what could not be checked, the score; in full every rule with its requirement, finding, line and source.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fireassay.estimates.format import count
from fireassay.reports.answering import shortened
from fireassay.reports.page import (
    Answer,
    Bullet,
    Bullets,
    Case,
    Cell,
    Line,
    Mark,
    Outcome,
    Page,
    Section,
    Table,
    Tile,
    Tone,
    Words,
    heads,
    notes,
    number,
)

if TYPE_CHECKING:
    from fireassay.verdict.mlperf.types import MlperfCheck, Rule

MAX_FAILURES: Final = 8  # on the first screen
TONES: Final[dict[str, Tone]] = {"pass": "good", "fail": "bad", "excused": "open", "unchecked": "absent"}
WORDS: Final = {"pass": "pass", "fail": "FAIL", "excused": "excused", "unchecked": "not checked"}
OUTCOMES: Final[dict[str, Outcome]] = {"pass": "passed", "fail": "failure", "excused": "passed", "unchecked": "skipped"}
EXCUSED: Final = "one file may break the rules, as the fastest and the slowest are dropped"


def page(result: MlperfCheck) -> Page:
    """The page of a check."""
    return Page(
        title=result.title,
        mark=_mark(result),
        lead=f"{'PASS' if result.passed else 'FAIL'}: {_headline(result)}.",
        answer=_answer(result),
        sections=(*_brief(result), *_sections(result)),
        properties={
            "verb": "mlperf",
            "suite": result.suite,
            "round": result.round,
            "division": result.division,
            "benchmark": result.benchmark,
        },
        cases=tuple(_case(rule) for rule in result.rules),
    )


def _mark(result: MlperfCheck) -> Mark:
    return Mark(word="PASS", tone="good") if result.passed else Mark(word="FAIL", tone="bad")


def _headline(result: MlperfCheck) -> str:
    failed, passed, open_ = (len(result.of(status)) for status in ("fail", "pass", "unchecked"))
    left = f", {open_} not checked" if open_ else ""
    if failed:
        return f"{failed} of {count(failed + passed, 'rules')} fail{'s' if failed == 1 else ''}{left}"
    return f"all {count(passed, 'rules')} that the logs can show hold{left}"


def _answer(result: MlperfCheck) -> Answer:
    return Answer(
        mark=_mark(result),
        headline=_headline(result),
        tiles=tuple(_tiles(result)),
        lines=tuple(_lines(result)),
        record=f"{count(result.files, 'log files' if result.round else 'launches')}; --full shows every rule with its line and source",
        source="logs" if result.round else "record",
        about=result.title,
    )


def _tiles(result: MlperfCheck) -> Iterator[Tile]:
    for status, title in (("fail", "Rules that fail"), ("pass", "Rules that hold"), ("unchecked", "Not checked")):
        found = len(result.of(status))  # type: ignore[arg-type]
        mark = Mark(word=WORDS[status], tone=TONES[status] if found else "plain")
        yield Tile(title=title, mark=mark, big=str(found), text="", target="rules")


def _lines(result: MlperfCheck) -> Iterator[Line]:
    if result.score is not None:
        text = f"{result.score.title} {result.score.text}"
        if result.score.estimate is not None:
            shown = number(result.score.estimate).shown
            text = f"{text} {shown.interval}".rstrip()
        yield Line(label="score", text=text if result.passed else f"{text}, of no valid result", target="rules")
    if excused := result.of("excused"):
        files = sorted({rule.file or rule.where for rule in excused})
        yield Line(label="excused", text=f"{', '.join(files)}: {excused[0].rule}, found {excused[0].found}; {EXCUSED}", target="rules")
    if open_ := result.of("unchecked"):
        words = "; ".join(f"{rule.rule} ({rule.found})" for rule in open_)
        yield Line(label="unchecked", text=words, mark=Mark(word="not checked", tone="absent", sign="~"), target="rules")
    for text in result.notes:
        yield Line(label="note", text=text)


def _brief(result: MlperfCheck) -> Iterator[Section]:
    failed = result.of("fail")
    if not failed:
        return
    groups: dict[tuple[str, str, str], list[str]] = {}
    for rule in failed:
        groups.setdefault((rule.rule, rule.required, rule.found), []).append(rule.where)
    items = [
        Bullet(mark=Mark(word="FAIL", tone="bad"), title=name, text=f"required {required}; found {found}{_at(places)}")
        for (name, required, found), places in list(groups.items())[:MAX_FAILURES]
    ]
    if len(groups) > MAX_FAILURES:
        items.append(Bullet(text=f"{count(len(groups) - MAX_FAILURES, 'more failures')}: --full"))
    yield Section(key="brief-failures", title="", role="answer", content=(Bullets(items=tuple(items)),))


def _at(places: list[str]) -> str:
    """Where a failure is, and in how many other files."""
    if not places[0]:
        return ""
    return f" ({places[0]}{f' and {len(places) - 1} more' if len(places) > 1 else ''})"


def _sections(result: MlperfCheck) -> Iterator[Section]:
    order = ("fail", "excused", "unchecked", "pass")
    rows = tuple(_row(rule) for rule in sorted(result.rules, key=lambda rule: order.index(rule.status)))
    table = Table(name="rules", heads=heads("rule", "result", "required", "found", "where", "source"), rows=rows)
    yield Section(key="rules", title="Rules", content=(table,))
    if result.notes:
        yield Section(key="notes", title="Notes", content=(notes(result.notes),))


def _row(rule: Rule) -> tuple[Cell, ...]:
    mark = Mark(word=WORDS[rule.status], tone=TONES[rule.status])
    return rule.rule, mark, rule.required, Words(text=rule.found), rule.where, rule.source


def _case(rule: Rule) -> Case:
    text = f"required {rule.required}; found {rule.found}"
    return Case(
        name=shortened(f"{rule.rule} {rule.where}".rstrip()), group="mlperf", outcome=OUTCOMES[rule.status], kind=rule.status, text=text
    )
