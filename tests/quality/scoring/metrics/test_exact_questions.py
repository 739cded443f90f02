"""Is MultiRC's exact match that of the official scorer, a question with a failed answer left out?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.frames.evaluation.item_scores import ItemScores, item_scores
from tests.answered import Row, scored

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
    return item_scores(measured, measured.configurations[0], next(iter(measured.before["evaluation"]["tasks"])), metric)


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
