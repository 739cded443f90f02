"""Are answers that repeat themselves, each other, or stop at the token limit named, and healthy ones left alone?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.audits.degenerate_answers import AUDIT, loop_of
from tests.answered import rows, scored

HEALTHY = [f"The result of item {index} is {index * 37 % 101}, because of its parts." for index in range(40)]
LOOP = "I think so. " + "the cat " * 30


def ending(measured: RecordData, reasons: Sequence[str | None]) -> RecordData:
    """The record with why each answer ended."""
    answers = measured.table("answers").sort(pl.col("item").cast(pl.Int64))
    return replace(measured, tables={**measured.tables, "answers": answers.with_columns(pl.Series("finish_reason", reasons))})


def asked(texts: Sequence[str | None]) -> list[dict[str, object]]:
    """Items of which each wants another answer."""
    return [{**row, "reference": f"reference {row['id']}"} for row in rows(texts)]


def found(folder: Path, texts: Sequence[str | None]) -> list[str]:
    return [finding.evidence for finding in AUDIT.examine(scored(folder, {"a": asked(texts)}), {})]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("yes " * 8, "yes "),
        ("!" * 16, "!"),
        ("Sure, here it is: " + "that is the reason " * 9, "that is the reason "),
        ("Sure: " + "a b c " * 12 + "a b", "c a b "),  # cut inside of a turn
        ("דג " * 12, "דג "),
    ],
)
def test_a_loop_is_found_with_what_it_repeats(text: str, unit: str) -> None:
    loop = loop_of(text)
    assert loop in unit * 2
    assert len(loop) == len(unit)


@pytest.mark.parametrize("text", ["", "yes", "0.33333333", "no no no", *HEALTHY[:3], "a, b, c and a, b, c again; then a, b, d"])
def test_a_text_that_goes_on_has_no_loop(text: str) -> None:
    assert loop_of(text) == ""


def test_loops_in_a_tenth_of_the_answers_are_a_warning(tmp_path: Path) -> None:
    (finding,) = AUDIT.examine(scored(tmp_path, {"a": rows([LOOP] * 4 + HEALTHY[4:])}), {})
    assert (finding.severity, finding.configuration) == ("warning", "answers=a")
    assert finding.evidence.startswith("of 40 answers 4 end in a loop, ")
    assert found(tmp_path / "fewer", [LOOP] * 3 + HEALTHY[3:]) == []


def test_one_text_for_most_items_is_a_warning_unless_it_is_what_they_ask_for(tmp_path: Path) -> None:
    (evidence,) = found(tmp_path / "same", ["I cannot help."] * 30 + HEALTHY[30:])
    assert evidence == 'of 40 answers 30 are the same text, "I cannot help."'
    assert list(AUDIT.examine(scored(tmp_path / "right", {"a": rows(["yes"] * 40)}), {})) == []


def test_one_class_for_all_is_no_answer_to_two_classes(tmp_path: Path) -> None:
    even = [{"id": n, "answer": "yes", "reference": "yes" if n % 2 else "no"} for n in range(40)]
    (finding,) = AUDIT.examine(scored(tmp_path, {"a": even}), {})
    assert "40 are the same text" in finding.evidence
    rare = [{"id": n, "answer": "yes", "reference": "no" if n % 4 == 0 else "yes"} for n in range(40)]
    assert list(AUDIT.examine(scored(tmp_path / "rare", {"a": rare}), {})) == []


def test_repetitions_of_an_item_may_be_alike(tmp_path: Path) -> None:
    assert list(AUDIT.examine(scored(tmp_path, {"a": asked(HEALTHY[:11]) + asked([HEALTHY[0]]) * 30}), {})) == []


def test_cut_answers_are_a_warning_unless_they_say_what_was_asked_for(tmp_path: Path) -> None:
    measured = scored(tmp_path / "cut", {"a": rows(HEALTHY)})
    (finding,) = AUDIT.examine(ending(measured, ["length"] * 8 + ["stop"] * 32), {})
    assert finding.evidence == "of 40 answers 8 were cut at the token limit"
    assert "max_tokens" in finding.remedy
    assert list(AUDIT.examine(ending(measured, ["length"] * 7 + ["stop"] * 33), {})) == []
    right = scored(tmp_path / "right", {"a": rows(["yes"] * 40)})
    assert list(AUDIT.examine(ending(right, ["length"] * 40), {})) == []


@pytest.mark.parametrize("texts", [["no"], ["no"] * 9, [None] * 40, [" "] * 9])
def test_a_handful_of_answers_says_nothing(texts: list[str | None], tmp_path: Path) -> None:
    assert found(tmp_path, texts) == []


def test_each_side_is_named_and_failures_are_no_answers(tmp_path: Path) -> None:
    sides = {"a": asked([*HEALTHY[:39], None]), "b": asked([LOOP] * 39 + [None])}
    (finding,) = AUDIT.examine(scored(tmp_path, sides, most_failed=0.1), {})
    assert finding.configuration == "answers=b"
    assert finding.evidence.startswith('of 39 answers 39 end in a loop, "')
    assert "39 are the same text" in finding.evidence


def test_white_space_alone_is_named(tmp_path: Path) -> None:
    assert found(tmp_path / "few", [*HEALTHY[:37], *["  \n "] * 3]) == []
    assert found(tmp_path / "some", [*HEALTHY[:36], *["  \n "] * 4]) == ["of 40 answers 4 are white space alone"]
    assert found(tmp_path / "all", ["\n"] * 40) == ["of 40 answers 40 are white space alone"]


def test_an_extractor_that_fits_nothing_is_named(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": asked(["no digits here"[: 3 + index] for index in range(11)])}, extractor="last_number")
    (finding,) = AUDIT.examine(measured, {})
    assert finding.evidence == "of 11 answers 11 hold no answer that the extractor finds"
    assert "--extract" in finding.remedy
    assert list(AUDIT.examine(scored(tmp_path / "fits", {"a": asked(HEALTHY)}, extractor="last_number"), {})) == []
