"""Is a margin decided by the paired items, with what would decide it otherwise?"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.audits.answers import examine_grouped
from fireassay.kinds.evaluation.gates import HELD, check_held
from tests.answered import rows, scored, with_margin
from tests.tiers import some


def test_no_margin_no_gate(tmp_path: Path) -> None:
    assert HELD.check(scored(tmp_path, {"a": rows(["yes", "no"]), "b": rows(["yes", "no"])}), {}) == ()


def test_the_sentence_says_what_would_decide(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["yes"] * 20), "b": rows(["yes"] * 19 + ["no"])}, margin=0.05)
    (result,) = HELD.check(measured, {})
    assert result.configuration == "answers=b"
    assert result.status == "INCONCLUSIVE"
    assert "1 item worse and 0 better of 20" in result.sentence
    assert "no number of items would decide if the true change is the one that was seen: it lies at the margin" in result.sentence


def test_a_smaller_margin_never_needs_fewer_items_for_the_same_answer(tmp_path: Path) -> None:
    """−1.3 points: beyond a margin of 1 more items show the loss, within 2 and 3 that it is held, and 3 needs fewer than 2."""
    measured = scored(tmp_path, {"a": rows(["yes"] * 939 + ["no"] * 380), "b": rows(["no"] * 46 + ["yes"] * 922 + ["no"] * 351)})
    told = {}
    for margin in (0.01, 0.02, 0.023):
        (result,) = HELD.check(with_margin(measured, margin), {})
        found = re.search(
            r"about ([\d,]+) items would show it (held|degraded) with 80 % probability if the true change is the one", result.sentence
        )
        assert found is not None, result.sentence
        told[margin] = (found[2], int(found[1].replace(",", "")))
    assert [what for what, _ in told.values()] == ["degraded", "held", "held"]
    assert told[0.01][1] > told[0.02][1] > told[0.023][1] > 1319


def test_few_clusters_decide_nothing(tmp_path: Path) -> None:
    passages = {"passage": [index % 5 for index in range(400)]}
    sides = {name: rows(["yes"] * 400, **passages) for name in ("a", "b")}
    (result,) = HELD.check(scored(tmp_path, sides, margin=0.02, fields={"cluster": "passage"}), {})
    assert result.status == "INCONCLUSIVE"
    assert "5 clusters decide nothing; at least 10 are needed" in result.sentence


def grouped(folder: Path, *, declared: bool = False) -> RecordData:
    """300 items in 30 passages, of which one passage is lost as a whole."""
    passages = [f"p{index // 10}" for index in range(300)]
    before = rows(["yes"] * 270 + ["no"] * 30, passage=passages)
    after = rows(["no"] * 5 + ["yes"] * 265 + ["no"] * 30, passage=passages)
    return scored(folder, {"a": before, "b": after}, margin=0.05, fields={"cluster": "passage"} if declared else {})


def test_items_without_clusters_are_said_to_be_taken_as_independent_with_the_field_that_groups_them(tmp_path: Path) -> None:
    measured = grouped(tmp_path)
    (result,) = check_held(measured, {})
    assert "; items taken as independent, though the field 'passage' puts them into 30 groups" in result.sentence
    (finding,) = examine_grouped(measured, {})
    assert (finding.severity, finding.rule) == ("warning", "grouped_items")
    assert "the field 'passage' puts 300 items into 30 groups" in finding.evidence


@pytest.mark.parametrize("fields", [{}, {"row": range(300)}])
def test_items_that_no_field_groups_are_still_said_to_be_taken_as_independent(fields: Mapping[str, Sequence[int]], tmp_path: Path) -> None:
    """Without a field, and with one that is another for each item."""
    sides = {"a": rows(["yes"] * 300, **fields), "b": rows(["no"] * 3 + ["yes"] * 297, **fields)}
    measured = scored(tmp_path, sides, margin=0.05)
    (result,) = check_held(measured, {})
    assert [clause for clause in result.sentence.split("; ") if "independent" in clause] == ["items taken as independent"]
    assert list(examine_grouped(measured, {})) == []


def test_declared_clusters_are_units_and_nothing_is_said(tmp_path: Path) -> None:
    measured = grouped(tmp_path, declared=True)
    (result,) = check_held(measured, {})
    assert "independent" not in result.sentence
    assert list(examine_grouped(measured, {})) == []


@pytest.mark.parametrize("seed", some(range(36), 4))
def test_whatever_the_decision_no_undeclared_clusters_pass_without_the_sentence(seed: int, tmp_path: Path) -> None:
    """Whole passages are lost at random, as many as the margin allows on average."""
    drawn = random.Random(seed)
    lost = [drawn.random() < 0.04 for _ in range(40)]
    sides = {"a": ["yes"] * 400, "b": ["no" if lost[index // 10] else "yes" for index in range(400)]}
    for named in ("passage", "scene"):
        fields = {named: [f"x{index // 10}" for index in range(400)]}
        made = {name: rows(answers, **fields) for name, answers in sides.items()}
        (result,) = check_held(scored(tmp_path / named, made, margin=0.04), {})
        assert f"items taken as independent, though the field {named!r}" in result.sentence
