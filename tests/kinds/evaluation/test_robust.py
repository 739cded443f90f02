"""Is robustness the worst score over an item and its variants?  Asked at an engine: tests/runners/test_evaluation.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.perturbed import DROP, ROBUSTNESS, robustness
from fireassay.reports.build_view import build
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import judge
from tests.answered import rows, scored


def varied(folder: Path, answers: dict[str, str], changes: str = "typos@1,spaces@1", cluster: dict[str, str] | None = None) -> RecordData:
    made = [{**row, "id": item, "c": (cluster or {}).get(item, item)} for row, item in zip(rows([*answers.values()]), answers, strict=True)]
    measured = scored(folder, {"a": made}, fields={"cluster": "c"})
    measured.before["evaluation"]["tasks"]["answers"]["options"] = {"perturbations": changes} if changes else {}
    return measured


def value(measured: RecordData) -> Value:
    return robustness(measured)[ROBUSTNESS].compute(measured, {})["answers=a"]


def test_an_item_is_as_good_as_its_worst_variant(tmp_path: Path) -> None:
    answers = {
        "1": "yes",
        "1~typos": "yes",
        "1~spaces": "yes",
        "2": "yes",
        "2~typos": "no",
        "2~spaces": "yes",
        "3": "no",
        "3~typos": "yes",
        "3~spaces": "yes",
    }
    found = value(varied(tmp_path, answers))
    assert isinstance(found, Estimate)
    assert (found.value, found.n_trials) == (pytest.approx(1 / 3), 3)


def test_an_item_that_lacks_a_variant_is_left_out(tmp_path: Path) -> None:
    answers = {f"{item}{change}": "yes" for item in "123" for change in ("", "~typos", "~spaces")}
    del answers["2~spaces"]
    found = value(varied(tmp_path, answers))
    assert isinstance(found, Estimate)
    assert found.n_trials == 2
    assert isinstance(value(varied(tmp_path / "few", {"1": "yes", "1~typos": "yes", "1~spaces": "no", "2": "yes"})), Absent)


def test_items_of_one_passage_count_as_one_unit(tmp_path: Path) -> None:
    answers = {f"{item}{change}": "yes" if item % 2 else "no" for item in range(20) for change in ("", "~typos")}
    passages = {name: str(int(name.partition("~")[0]) % 4) for name in answers}
    alone, together = (value(varied(tmp_path / name, answers, "typos@1", of)) for name, of in (("alone", None), ("together", passages)))
    assert isinstance(alone, Estimate)
    assert isinstance(together, Estimate)
    assert together.high - together.low > alone.high - alone.low


def test_without_changes_there_is_no_such_number(tmp_path: Path) -> None:
    assert robustness(varied(tmp_path, {"1": "yes", "2": "no"}, "")) == {}


def test_what_a_change_costs_is_paired_by_item(tmp_path: Path) -> None:
    """typos: 1 -> 1, 1 -> 0, 0 -> 0, 1 -> 0 is -2/4; spaces: item 4 has none, 1 -> 1, 1 -> 1, 0 -> 1 is +1/3."""
    answers = dict.fromkeys(("1", "1~typos", "1~spaces", "2", "2~spaces", "3~spaces", "4"), "yes") | dict.fromkeys(
        ("2~typos", "3", "3~typos", "4~typos"), "no"
    )
    measured = varied(tmp_path, answers)
    metrics = robustness(measured)
    found = {change: metrics[f"{DROP}{change}"].compute(measured, {})["answers=a"] for change in ("typos", "spaces")}
    assert {change: (round(value.value, 12), value.n_trials) for change, value in found.items() if isinstance(value, Estimate)} == {
        "typos": (-0.5, 4),
        "spaces": (round(1 / 3, 12), 3),
    }


def test_the_first_screen_says_what_each_change_costs_and_that_the_score_pools_them(tmp_path: Path) -> None:
    answers = {f"{item}{change}": "no" if change else "yes" for item in range(12) for change in ("", "~typos")}
    measured = varied(tmp_path, answers, "typos@1")
    answer = page(build(measured, judge(measured))).answer
    assert answer is not None
    (line,) = [line.text for line in answer.lines if line.label == "robustness"]
    assert line.startswith("typos −1.00")
    assert "the score above is over items as they are and changed" in line
