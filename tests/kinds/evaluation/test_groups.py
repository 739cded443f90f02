"""Is every subgroup decided with bounds that hold for all of them together, and is an item counted in each of its subgroups?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.groups import group_rows, group_words
from fireassay.reports.build_view import build
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import judge
from tests.answered import scored

LABELS = {"answers=a": "a", "answers=b": "b"}
GIVEN = {"fields": ["v"], "scales": {"v": "0,1"}}


def side(losses: dict[str, float], items: int, seed: int) -> list[dict[str, Any]]:
    """Scores around 0.7; an item with an even number is in the first label, too."""
    rng, names = np.random.default_rng(seed), list(losses)
    rows = []
    for item in range(items):
        labels = [names[1 + item % (len(names) - 1)], *([names[0]] if item % 2 == 0 else [])]
        lost = sum(losses[label] for label in labels)
        rows.append({"id": f"p{item}", "v": float(np.clip(0.7 - lost + rng.normal(0, 0.02), 0, 1)), "skill": labels})
    return rows


def of(folder: Path, losses: dict[str, float], *, items: int = 480, margin: float | None = 0.05, **more: Any) -> RecordData:
    none = dict.fromkeys(losses, 0.0)
    sides = {"a": side(none, items, 1), "b": side(losses, items, 2)}
    return scored(folder, sides, metrics=[], given=GIVEN, fields={"groups": ["skill"]}, margin=margin, **more)


def test_a_lost_subgroup_is_named_and_the_others_are_held(tmp_path: Path) -> None:
    measured = of(tmp_path, {"counting": 0.0, "spatial": 0.2, "action": 0.0, "scene": 0.0})
    rows = group_rows(measured, LABELS)
    assert [(row.group, row.label, row.items) for row in rows] == [
        ("skill", "action", 160),
        ("skill", "counting", 240),
        ("skill", "scene", 160),
        ("skill", "spatial", 160),
    ]
    assert [row.held[0].status for row in rows] == ["PASS", "INCONCLUSIVE", "PASS", "FAIL"]
    words = group_words(rows)
    assert words.startswith("of 4 subgroups 1 degraded (skill spatial −2")
    assert words.endswith("bounds hold for all 4 together, each at 98.75 %")  # 1 - 0.05 / 4


def test_each_bound_keeps_its_share_of_the_risk(tmp_path: Path) -> None:
    rows = group_rows(of(tmp_path, {"counting": 0.0, "spatial": 0.0, "action": 0.0, "scene": 0.0}), LABELS)
    for row in rows:
        change = row.held[0].change
        assert isinstance(change, Estimate)
        assert change.confidence == pytest.approx(2 * (1 - 0.05 / 4) - 1)


def test_without_a_margin_the_changes_have_intervals_and_decide_nothing(tmp_path: Path) -> None:
    measured = of(tmp_path, {"counting": 0.0, "spatial": 0.2, "action": 0.0, "scene": 0.0}, margin=None)
    rows = group_rows(measured, LABELS)
    assert {row.held[0].status for row in rows} == {"MEASURED"}
    assert "largest loss: skill spatial" in group_words(rows)
    assert group_words(rows).endswith("each at 98.75 %")


def test_a_subgroup_that_lacks_scores_is_not_held_because_of_it(tmp_path: Path) -> None:
    """One of the 20 items of a subgroup is missing at b: with it wrong the loss may be 3.5 points, and the bound is wider than the margin."""
    rows = {name: [{"id": f"p{index}", "v": 0.7, "skill": ["x"] if index < 20 else ["y"]} for index in range(400)] for name in "ab"}
    rows["b"][0]["v"] = "n/a"
    measured = scored(tmp_path, rows, metrics=[], given=GIVEN, fields={"groups": ["skill"]}, margin=0.05)
    small, large = group_rows(measured, LABELS)
    assert small.held[0].status == "INCONCLUSIVE"
    assert (large.items, large.held[0].status) == (380, "PASS")


def test_items_without_a_label_are_in_no_subgroup(tmp_path: Path) -> None:
    rows = [{"id": f"p{index}", "v": 0.5, "skill": [] if index % 2 else ["x"]} for index in range(10)]
    measured = scored(tmp_path, {"a": rows}, metrics=[], given=GIVEN, fields={"groups": ["skill"]})
    (row,) = group_rows(measured, {"answers=a": "a"})
    assert (row.label, row.items, row.held) == ("x", 5, ())


def test_the_page_has_the_table_and_the_first_screen_the_count(tmp_path: Path) -> None:
    measured = of(tmp_path, {"counting": 0.0, "spatial": 0.2, "action": 0.0})
    shown = page(build(measured, judge(measured)))
    assert shown.answer is not None
    assert any(line.label == "subgroups" for line in shown.answer.lines)
