"""Are a file's own grades and its other answers named, and held against the score?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay import catalog
from fireassay.kinds.evaluation.audits.graded import unused_words
from fireassay.quality.tasks.support.unused import Fields, against, looks_like
from tests.answered import rows, scored

GRADED = catalog.load("verdict.audits", "graded_otherwise")
TEXTS = ["yes"] * 6 + ["no"] * 4  # exact match 0.6


def test_grades_that_differ_are_said_with_their_number_and_other_answers_by_name(tmp_path: Path) -> None:
    correct = [True] * 8 + [False] * 2
    measured = scored(tmp_path, {"a": rows(TEXTS, correct=correct, answer2=["maybe"] * 10, tokens=[3] * 10)})
    assert list(unused_words(measured)) == [
        "correct: it says 0.8, Exact match 0.6; they differ on 2 of 10 answers",
        "answer2: --answer answer2 scores it",
    ]
    (finding,) = GRADED.examine(measured, {})
    assert finding.severity == "warning"
    assert "'correct' is not used: it says 0.8, Exact match 0.6; they differ on 2 of 10 answers" in finding.evidence


def test_grades_that_agree_are_named_without_a_finding(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(TEXTS, correct=["True"] * 6 + ["False"] * 4)})
    assert list(unused_words(measured)) == ["correct: it says 0.6, Exact match 0.6"]
    assert not list(GRADED.examine(measured, {}))


def test_of_several_files_the_one_that_differs_most_is_named(tmp_path: Path) -> None:
    sides = {"a": rows(TEXTS, correct=[1] * 6 + [0] * 4), "b": rows(TEXTS, correct=[1] * 7 + [0] * 3)}
    measured = scored(tmp_path, sides)
    assert list(unused_words(measured)) == ["correct of b: it says 0.7, Exact match 0.6; they differ on 1 of 10 answers"]
    assert [finding.configuration for finding in GRADED.examine(measured, {})] == [measured.configurations[1]]


def test_a_missing_answer_is_not_compared_and_a_score_of_another_kind_is_only_named(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows([None, *TEXTS[1:]], correct=[True] + [True] * 5 + [False] * 4, rouge_l=[0.25] * 10)})
    assert list(unused_words(measured)) == ["correct: it says 0.556, Exact match 0.556", "rouge_l: it says 0.25, Exact match 0.556"]
    assert not list(GRADED.examine(measured, {}))


def test_what_is_used_or_asked_for_is_not_named(tmp_path: Path) -> None:
    fields = {"answer": "prediction_b", "groups": ["grade"]}
    made = [{"id": row["id"], "prediction_b": row["answer"], "reference": "yes", "grade": "4"} for row in rows(TEXTS)]
    assert list(unused_words(scored(tmp_path, {"a": made}, fields=fields))) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("correct", "grade"),
        ("is_correct", "grade"),
        ("isCorrect", "grade"),
        ("is_answer_correct", "grade"),
        ("score", "grade"),
        ("exact_match", "grade"),
        ("f1", "grade"),
        ("acc", "grade"),
        ("passed", "grade"),
        ("answer2", "answer"),
        ("prediction_b", "answer"),
        ("model_output", "answer"),
        ("response", "answer"),
        ("correct_answer", ""),
        ("gold_answer", ""),
        ("answer_key", ""),
        ("output_tokens", ""),
        ("answer_length", ""),
        ("response_time_ms", ""),
        ("confidence", ""),
        ("score_std", ""),
        ("question", ""),
        ("model", ""),
        ("category", ""),
    ],
)
def test_a_name_says_what_a_field_is(name: str, kind: str) -> None:
    assert looks_like(name) == kind


def test_a_field_that_seldom_holds_what_its_name_says_is_not_named_and_of_many_a_few_are() -> None:
    fields = Fields(("answer",))
    for line in range(10):
        fields.add({"answer": "x", "correct": "see below", "score": 1.0 if line < 4 else None, "answer2": "" if line else "y"})
    assert fields.found() == ()
    many = Fields(())
    many.add({f"score_{number}x": 1 for number in range(100_000)})
    assert len(many.found()) == 6


@given(st.lists(st.tuples(st.none() | st.sampled_from([0.0, 1.0]), st.none() | st.sampled_from([0.0, 1.0]))))
def test_the_number_that_differ_explains_the_difference_of_the_means(pairs: list[tuple[float | None, float | None]]) -> None:
    told = against([theirs for theirs, _ in pairs], [ours for _, ours in pairs])
    both = [(theirs, ours) for theirs, ours in pairs if theirs is not None and ours is not None]
    assert bool(told) == bool(both)
    if told:
        assert told["both"] == len(both)
        assert abs(told["theirs"] - told["ours"]) * len(both) <= told["differ"] + 1e-9
