"""Is a score that only the extractor made inadmissible, with the extractor that reads the answers?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.audits.reading import examine_unread
from fireassay.reports.build_view import build
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import judge
from fireassay.verdict.types import Finding
from tests.answered import rows, scored

TEXTS = [f"First 3 + 4 = 7, then the answer is {index % 5}." for index in range(40)]


def found(measured: RecordData) -> list[Finding]:
    return list(examine_unread(measured, {}))


def made(folder: Path, sides: dict[str, list[str]], **more: Any) -> RecordData:
    return scored(folder, {name: rows(texts, reference="2") for name, texts in sides.items()}, **more)


def test_an_extractor_that_reads_nothing_makes_no_score(tmp_path: Path) -> None:
    measured = made(tmp_path, {"a": TEXTS}, extractor="hashes")
    (finding,) = found(measured)
    assert (finding.severity, finding.configuration) == ("invalid", "answers=a")
    assert "hashes reads no answer in 40 of 40 texts, and final_number in 100 %" in finding.evidence
    assert finding.remedy == "score again with --extract final_number"
    assert judge(measured).verdict.status == "INVALID"


def test_the_whole_text_that_is_no_number_is_unread_too(tmp_path: Path) -> None:
    (finding,) = found(made(tmp_path, {"a": TEXTS}, extractor="whole"))
    assert "whole reads no answer in 40 of 40 texts, and final_number" in finding.evidence


def test_one_side_may_be_unread_alone(tmp_path: Path) -> None:
    (finding,) = found(made(tmp_path, {"a": TEXTS, "b": ["I cannot help with that."] * 40}, extractor="last_number", margin=0.2))
    assert finding.configuration == "answers=b"
    assert "the score of b is 0" in finding.evidence
    assert "no extractor that was tried finds one" in finding.remedy


def test_wrong_answers_that_are_read_are_wrong(tmp_path: Path) -> None:
    """Also where half of them are unread: their score is not 0."""
    assert not found(made(tmp_path / "wrong", {"a": ["3"] * 40}))
    assert not found(made(tmp_path / "some", {"a": ["2"] * 4 + ["none"] * 36}, extractor="last_number"))


def test_sides_of_which_no_answer_fits_its_reference_are_not_equally_good(tmp_path: Path) -> None:
    prose = {name: rows(["It is a long way to the sea."] * 40, reference="The sea is far away.") for name in "ab"}
    (finding,) = found(scored(tmp_path / "two", prose, margin=0.02))
    assert finding.severity == "invalid"
    assert finding.evidence == "no answer of any side agrees with its reference, in 40 items"
    (finding,) = found(scored(tmp_path / "one", {"a": prose["a"]}))
    assert (finding.severity, finding.evidence) == ("warning", "no answer agrees with its reference, in 40 items")
    few = {name: lines[:9] for name, lines in prose.items()}
    assert not found(scored(tmp_path / "few", few))
    right = {**prose, "b": rows(["It is a long way to the sea."] * 39 + ["The sea is far away."], reference="The sea is far away.")}
    assert not found(scored(tmp_path / "right", right))


def test_answers_that_hold_their_reference_among_other_words_are_not_all_wrong(tmp_path: Path) -> None:
    """One side in the form of the references, the other in that of a talk, or a letter without its brackets."""
    for place, reference, said in (("talk", "42 km", "It is 42 km."), ("letter", "(A)", "A")):
        (finding,) = found(
            scored(tmp_path / place, {"a": rows([reference] * 40, reference=reference), "b": rows([said] * 40, reference=reference)})
        )
        assert (finding.severity, finding.configuration) == ("invalid", "answers=b")
        assert finding.evidence == "the score of b is 0, and 40 of 40 answers hold their reference"


def test_wrong_labels_are_wrong(tmp_path: Path) -> None:
    """Each answer is one of the words that the items ask for, of another item."""
    words = ("cat", "dog", "cow")
    sides = {name: rows([words[(at + shift) % 3] for at in range(40)]) for name, shift in (("a", 1), ("b", 2))}
    labelled = {name: [{**line, "reference": words[at % 3]} for at, line in enumerate(lines)] for name, lines in sides.items()}
    assert not found(scored(tmp_path, labelled, margin=0.2))


def test_without_an_extractor_the_one_that_reads_is_taken_and_said(tmp_path: Path) -> None:
    measured = made(tmp_path, {"a": TEXTS, "b": TEXTS})
    judgement = judge(measured)
    assert judgement.results["exact_match"]["answers=a"].value == 0.2  # type: ignore[union-attr]
    answer = page(build(measured, judgement)).answer
    assert answer is not None
    (line,) = [line for line in answer.lines if line.label == "extractor"]
    assert line.text == "final_number (chosen: 100 % of answers read; the whole text reads 0 %)"


def test_a_field_that_groups_items_is_said_on_the_first_screen(tmp_path: Path) -> None:
    passages = [f"p{index // 10}" for index in range(200)]
    measured = scored(tmp_path, {"a": rows(["yes"] * 150 + ["no"] * 50, passage=passages)})
    answer = page(build(measured, judge(measured))).answer
    assert answer is not None
    texts = {line.label: line.text for line in answer.lines}
    assert texts["items"] == "taken as independent; field passage puts them into 20 groups"
    assert texts["warnings"] == "none but what is said above"
