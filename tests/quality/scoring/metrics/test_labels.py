"""Scores of labels against scikit-learn's, and those of questions and pairs as SuperGLUE counts them."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from fireassay.frames.evaluation.item_scores import ItemScores, item_scores
from fireassay.frames.record_data import RecordData
from tests.answered import Row, scored
from tests.quality.scoring.scored import items, labels, score, value


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_accuracy_is_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    answers, wanted = [pair[0].strip() for pair in pairs], [pair[1].strip() for pair in pairs]
    assert value("accuracy", [answer for answer, _ in pairs], [[label] for _, label in pairs]) == pytest.approx(
        accuracy_score(wanted, answers), abs=1e-12
    )


def test_case_of_labels_counts_unless_requested_otherwise() -> None:
    assert items("accuracy", ["Yes", "yes", "no"], [["yes"], ["no", "yes"], ["yes"]]) == [0.0, 1.0, 0.0]
    assert items("accuracy", ["Yes"], [["yes"]], lower=True) == [1.0]


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_f1_is_scikit_learns_and_undefined_without_a_positive(pairs: list[tuple[str, str]]) -> None:
    positive = [[side.strip() == "1" for side in pair] for pair in pairs]
    found = value("f1_binary", [pair[0] for pair in pairs], [[pair[1]] for pair in pairs])
    if not any(any(pair) for pair in positive):
        assert math.isnan(found)
    else:
        assert found == pytest.approx(f1_score([pair[1] for pair in positive], [pair[0] for pair in positive]), abs=1e-12)


def test_the_positive_label_is_an_option() -> None:
    """One hit, one false, one missed: 2 / (2 + 1 + 1)."""
    answers, wanted = ["yes", "yes", "no", "no"], [["yes"], ["no"], ["yes"], ["no"]]
    assert value("f1_binary", answers, wanted, positive="yes") == 0.5
    assert items("f1_binary", answers, wanted, positive="yes") == [1.0, 0.0, 0.0, 1.0]
    assert value("f1_binary", ["1", "0"], [["1"], ["1"]], positive=1) == pytest.approx(2 / 3)


def test_why_f1_is_undefined_is_said() -> None:
    declared, found = score("f1_binary", ["0"], [["0"]])
    assert math.isnan(declared.score(found.rows))
    assert "positive class" in declared.undefined


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_macro_f1_is_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    wanted, answers = [pair[1].strip() for pair in pairs], [pair[0].strip() for pair in pairs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn on classes that nobody answered
        expected = f1_score(wanted, answers, labels=sorted(set(wanted)), average="macro")
    assert value("f1_macro", answers, [[label] for label in wanted]) == pytest.approx(expected, abs=1e-12)


def test_an_answer_that_is_no_label_makes_no_class() -> None:
    """Class a: 2/3 of one hit and one missed; class b: 1."""
    assert value("f1_macro", ["a", "rubbish", "b"], [["a"], ["a"], ["b"]]) == pytest.approx((2 / 3 + 1) / 2)


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_mcc_is_scikit_learns_and_undefined_where_one_side_is_constant(pairs: list[tuple[str, str]]) -> None:
    answers, wanted = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = value("mcc", answers, [[label] for label in wanted])
    if len({answer.strip() for answer in answers}) < 2 or len({label.strip() for label in wanted}) < 2:
        assert math.isnan(found)
    else:
        stripped = [label.strip() for label in wanted], [answer.strip() for answer in answers]
        assert found == pytest.approx(matthews_corrcoef(*stripped), abs=1e-12)


def test_binary_mcc_by_hand() -> None:
    """tp 6, tn 3, fp 1, fn 2: 16 / sqrt(7 * 8 * 4 * 5)."""
    answers, wanted = ["1"] * 6 + ["0"] * 3 + ["1"] + ["0"] * 2, ["1"] * 6 + ["0"] * 3 + ["0"] + ["1"] * 2
    assert value("mcc", answers, [[label] for label in wanted]) == pytest.approx(16 / math.sqrt(7 * 8 * 4 * 5), abs=1e-12)


def test_why_mcc_is_undefined_is_said() -> None:
    declared, found = score("mcc", ["1", "1"], [["0"], ["1"]])
    assert math.isnan(declared.score(found.rows))
    assert "one class" in declared.undefined


def test_an_answer_that_is_one_of_several_references_is_right() -> None:
    _, found = score("mcc", ["b", "c"], [["a", "b"], ["a", "b"]])
    assert found.rows[0, 1] == found.rows[0, 2] != found.rows[1, 1]
    assert list(found.scores) == [1.0, 0.0]


def test_repetitions_that_disagree_count_in_shares() -> None:
    """One of two answers to the first item is right: half an item right, half of no class.

    c 2.5, s 4, labels 2 and 2, answers 1.5, 2 and .5 of none: (2.5 * 4 - 7) / sqrt((16 - 6.5) (16 - 8)).
    """
    declared, found = score("mcc", ["1", "0", "0", "1", "x"], [["1"], ["1"], ["0"], ["1"], ["0"]])
    rows = np.vstack([found.rows[:2].mean(axis=0), found.rows[2:]])
    assert declared.score(rows) == pytest.approx((2.5 * 4 - (1.5 * 2 + 1 * 2)) / math.sqrt((16 - (1.5**2 + 1 + 0.5**2 + 1)) * 8))


def its_scores(measured: RecordData, metric: str) -> ItemScores:
    return item_scores(measured, measured.configurations[0], next(iter(measured.before["evaluation"]["tasks"])), metric)


# Paragraph, question, label and answer of each of 48 proposed answers; the numbers of questions begin again in every paragraph.
ITEMS = [(n // 8, n // 2 % 4 if n % 16 < 8 else n % 4, n * 7 % 3 % 2, (n * 7 % 3 + (n % 11 == 0)) % 2) for n in range(48)]


def rows(missing: int | None = None) -> list[Row]:
    return [
        {
            "id": f"{paragraph}/{question}/{n}",
            "passage": paragraph,
            "reference": str(label),
            "answer": None if n == missing else str(answer),
        }
        for n, (paragraph, question, label, answer) in enumerate(ITEMS)
    ]


def of(folder: Path, *, missing: int | None = None, metric: str = "exact_questions") -> ItemScores:
    fields = {"cluster": "passage"}
    measured = scored(folder, {"a": rows(missing)}, metrics=[metric], fields=fields, most_failed=0.5)
    return its_scores(measured, metric)


def official() -> dict[tuple[int, int], bool]:
    """As jiant and the authors' scorer: a question counts if each of its answers is predicted rightly."""
    questions: dict[tuple[int, int], bool] = {}
    for paragraph, question, label, answer in ITEMS:
        questions[paragraph, question] = questions.get((paragraph, question), True) and label == answer
    return questions


def test_every_question_is_scored_as_by_the_official_scorer(tmp_path: Path) -> None:
    scores, wanted = of(tmp_path), official()
    assert dict(zip(scores.items, scores.rows[:, 0], strict=True)) == {f"{p}/{q}": float(right) for (p, q), right in wanted.items()}
    assert 0 < sum(wanted.values()) < len(wanted) == 24
    assert scores.value == pytest.approx(sum(wanted.values()) / len(wanted), abs=1e-12)
    assert set(scores.clusters) == {str(n) for n in range(6)}


def test_f1_over_answers_is_that_of_scikit_learn(tmp_path: Path) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    labels, answers = zip(*((label, answer) for _, _, label, answer in ITEMS), strict=True)
    assert of(tmp_path, metric="f1_binary").value == pytest.approx(sklearn.f1_score(labels, answers), abs=1e-12)


def test_a_question_with_a_failed_answer_has_no_score(tmp_path: Path) -> None:
    scores = of(tmp_path, missing=0)
    assert "0/0" not in scores.items
    assert (len(scores.items), scores.unscored) == (23, 1)


LABELS = ("True", "False")
PAIRS = [(LABELS[n % 2], LABELS[n % 3 == 0], LABELS[n % 5 == 0]) for n in range(40)]  # label, answer of each side


def test_pairs_with_equal_answers_are_alike_right_or_wrong(tmp_path: Path) -> None:
    sides = [
        {"id": f"{n}/{side}", "reference": label, "answer": answer}
        for n, (label, *pair) in enumerate(PAIRS)
        for side, answer in enumerate(pair)
    ]
    sides += [{"id": f"x/{side}", "reference": "True", "answer": answer} for side, answer in enumerate(("perhaps", "False"))]
    measured = scored(tmp_path, {"a": sides}, metrics=["gender_parity"])
    scores = its_scores(measured, "gender_parity")
    found = dict(zip(scores.items, scores.rows[:, 0], strict=True))
    assert found.pop("x") == 0.0  # two wrong answers that differ
    assert found == {str(n): float(first == second) for n, (_, first, second) in enumerate(PAIRS)}
    assert scores.value == pytest.approx(sum(first == second for _, first, second in PAIRS) / 41, abs=1e-12)
