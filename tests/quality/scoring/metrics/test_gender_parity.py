"""Is gender parity the share of pairs with equal answers, as SuperGLUE counts it?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.frames.evaluation.item_scores import item_scores
from tests.answered import scored

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
    scores = item_scores(measured, measured.configurations[0], next(iter(measured.before["evaluation"]["tasks"])), "gender_parity")
    found = dict(zip(scores.items, scores.rows[:, 0], strict=True))
    assert found.pop("x") == 0.0  # two wrong answers that differ
    assert found == {str(n): float(first == second) for n, (_, first, second) in enumerate(PAIRS)}
    assert scores.value == pytest.approx(sum(first == second for _, first, second in PAIRS) / 41, abs=1e-12)
