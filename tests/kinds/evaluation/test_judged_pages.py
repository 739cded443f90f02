"""Does a page show what a judge said beside the answers, hold nothing that nobody checked, and ask for labels before a margin?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.frames.evaluation.flipped import flipped
from fireassay.frames.evaluation.judgements import judgements
from fireassay.frames.record_data import RecordData
from fireassay.reports.build_view import build
from fireassay.reports.documents import record as document
from fireassay.reports.page import Answer, Bullets, Mark, Page, Section, Table
from fireassay.reports.pages.record import page
from fireassay.runners.evaluating.replies import MAX_REASON
from fireassay.verdict.judge import judge
from tests.kinds.evaluation.judged import Says, by_worth, rating, record

pytestmark = pytest.mark.slow

HOSTILE = "<script>alert('x')</script>"
ITEMS = 60
WORTHS = {"a": [3] * ITEMS, "b": [3] * (ITEMS - 4) + [2, 2, 4, 4]}


def because(says: Says, reason: str) -> Says:
    """The same judge with a reason."""
    return lambda answers, request: json.dumps({**json.loads(str(says(answers, request))), "reason": reason})


def shown(measured: RecordData) -> Page:
    return page(build(measured, judge(measured)))


def answer(measured: RecordData) -> Answer:
    found = shown(measured).answer
    assert found is not None
    return found


def tables(sections: Sequence[Section]) -> dict[str, Table]:
    return {block.name: block for section in sections for block in section.blocks if isinstance(block, Table)}


def test_the_items_that_changed_have_the_reason_of_each_judgement(tmp_path: Path) -> None:
    measured = record(tmp_path, WORTHS, because(rating(), f"{HOSTILE} {'x' * MAX_REASON}"), "scale")
    said = {flip.item: flip.judged for flip in flipped((measured, "answers=a"), (measured, "answers=b"), "b")}
    assert len(said) == 4
    first, second = said["q58"].splitlines()
    assert first == f"a: 3, {f'{HOSTILE} ' + 'x' * (MAX_REASON - len(HOSTILE) - 1)}"
    assert second.startswith("b: 4, <script>")
    view = build(measured, judge(measured))
    text = catalog.load("reports.writers", "html").write(page(view))
    assert HOSTILE not in text
    assert "&lt;script&gt;alert" in text


def test_of_a_pair_both_orders_are_told(tmp_path: Path) -> None:
    measured = record(tmp_path, WORTHS, because(by_worth(), "because"))
    (one,) = (flip for flip in flipped((measured, "answers=a"), (measured, "answers=b"), "b") if flip.item == "q59")
    assert one.judged.splitlines() == ["a before b: second, because", "b before a: first, because"]


def test_without_a_judge_there_is_no_column_for_it(tmp_path: Path) -> None:
    from tests.answered import rows, scored

    measured = scored(tmp_path, {"a": rows(["yes"] * 20), "b": rows(["yes"] * 19 + ["no"])})
    assert judgements(measured) == ()
    assert [head.text for head in tables(shown(measured).sections)["flips"].heads][-1] == "Answer"


def test_json_has_every_judgement(tmp_path: Path) -> None:
    measured = record(tmp_path, WORTHS, because(by_worth(), "because"))
    made = json.loads(document.render(build(measured, judge(measured))))
    assert len(made["judgements"]) == 2 * ITEMS
    lost = [row for row in made["judgements"] if row["item"] == "q56"]
    assert [(row["side"], row["against"], row["value"], row["reason"]) for row in lost] == [
        ("a", "b", 1.0, "because"),
        ("b", "a", 0.0, "because"),
    ]


def test_nothing_of_an_invalid_evaluation_is_marked_as_held(tmp_path: Path) -> None:
    """The judge alone would have held a margin of 0.12: nobody checked the judge."""
    measured = record(tmp_path, WORTHS, by_worth(), margin=0.12)
    view = build(measured, judge(measured))
    assert view.status == "INVALID"
    made = page(view)
    assert [row[2] for row in tables(made.sections)["held"].rows] == [
        Mark(word="does not count", tone="void", why=view.evaluation.held[0].sentence)
    ]
    marks = [
        item.mark
        for section in made.sections
        if section.key == "gates"
        for block in section.blocks
        if isinstance(block, Bullets)
        for item in block.items
    ]
    assert not any(mark is not None and mark.tone == "good" for mark in marks)


def test_labels_come_before_a_margin(tmp_path: Path) -> None:
    found = answer(record(tmp_path, WORTHS, by_worth()))
    assert "assay rate gold --record" in found.next[0].command
    assert not any("--margin" in step.command for step in found.next)
    assert "--margin" not in found.evidence


def test_with_labels_the_margin_is_asked_for(tmp_path: Path) -> None:
    found = answer(record(tmp_path, WORTHS, by_worth(), labels=range(0, ITEMS, 2)))
    assert "--margin" in found.evidence
