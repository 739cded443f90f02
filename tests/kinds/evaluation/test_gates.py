"""Is a margin decided by the paired items, with what would decide it otherwise?"""

from __future__ import annotations

from pathlib import Path

from fireassay.kinds.evaluation.gates import HELD
from tests.answered import rows, scored


def test_no_margin_no_gate(tmp_path: Path) -> None:
    assert HELD.check(scored(tmp_path, {"a": rows(["yes", "no"]), "b": rows(["yes", "no"])}), {}) == ()


def test_the_sentence_says_what_would_decide(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["yes"] * 20), "b": rows(["yes"] * 19 + ["no"])}, margin=0.05)
    (result,) = HELD.check(measured, {})
    assert result.configuration == "answers=b"
    assert result.status == "INCONCLUSIVE"
    assert "1 item worse and 0 better of 20" in result.sentence
    assert "would decide" in result.sentence


def test_few_clusters_decide_nothing(tmp_path: Path) -> None:
    passages = {"passage": [index % 5 for index in range(400)]}
    sides = {name: rows(["yes"] * 400, **passages) for name in ("a", "b")}
    (result,) = HELD.check(scored(tmp_path, sides, margin=0.02, fields={"cluster": "passage"}), {})
    assert result.status == "INCONCLUSIVE"
    assert "5 clusters decide nothing; at least 10 are needed" in result.sentence
