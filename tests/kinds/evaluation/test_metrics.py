"""Are the scores of an evaluation means over items, repetitions first, each with its interval?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.kinds.evaluation.metrics import CUT_ANSWERS, FAILED_ANSWERS, NO_ANSWER
from tests.answered import rows, scored
from tests.verdict.judging import Asked


def value(results: object, name: str, side: str = "answers=a") -> Estimate:
    estimate = results[name][side]  # type: ignore[index]
    assert isinstance(estimate, Estimate)
    return estimate


def test_repetitions_of_an_item_are_averaged_first(tmp_path: Path) -> None:
    answered = [{"id": "x", "answer": word, "reference": "yes"} for word in ("yes", "yes", "yes", "no")]
    answered += [{"id": "y", "answer": "no", "reference": "yes"}]
    measured = scored(tmp_path, {"a": answered})
    found = value(Asked(measured).results, "exact_match")
    assert found.value == pytest.approx((0.75 + 0.0) / 2)
    assert found.n_trials == 2


def test_items_of_a_cluster_are_one_unit(tmp_path: Path) -> None:
    answers = ["yes"] * 50 + ["no"] * 50
    alone = value(Asked(scored(tmp_path / "a", {"a": rows(answers)})).results, "exact_match")
    shared = scored(tmp_path / "b", {"a": rows(answers, passage=[index // 10 for index in range(100)])}, fields={"cluster": "passage"})
    together = value(Asked(shared).results, "exact_match")
    assert together.value == alone.value == 0.5
    assert together.high - together.low > 2.5 * (alone.high - alone.low)
    assert "100 items in 10 clusters" in together.method


def test_weights_count(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["yes", "no"], heavy=[3, 1])}, fields={"weight": "heavy"})
    assert value(Asked(measured).results, "exact_match").value == pytest.approx(0.75)


def test_failures_and_no_answers_are_counted_apart(tmp_path: Path) -> None:
    results = Asked(scored(tmp_path, {"a": rows([None, "  ", "yes", "no"])})).results
    assert value(results, FAILED_ANSWERS.name).value == 0.25
    assert value(results, NO_ANSWER.name).value == 0.25
    cut = results[CUT_ANSWERS.name]["answers=a"]
    assert isinstance(cut, Absent)  # a file does not say how its answers ended
    assert cut.detail == "how the answers ended was not reported"


def test_a_score_that_nobody_asked_for_is_not_missing(tmp_path: Path) -> None:
    results = Asked(scored(tmp_path, {"a": rows(["yes", "no"])})).results
    assert "exact_match" in results
    assert not {"bleu", "mcc", "rouge_l"} & set(results)


def test_one_item_has_no_interval(tmp_path: Path) -> None:
    found = Asked(scored(tmp_path, {"a": rows(["yes"])})).results["exact_match"]["answers=a"]
    assert isinstance(found, Absent)
    assert found.reason == "insufficient"
