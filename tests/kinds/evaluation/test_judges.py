"""Is what a judge is worth, and what it prefers, found as it was planted, and does its verdict follow people?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.gates import more_items, status_of, words
from fireassay.kinds.evaluation.held import Held, held
from fireassay.kinds.evaluation.judges import judge_words, of_judge
from fireassay.kinds.evaluation.metrics import score_of
from tests.kinds.evaluation.judged import by_worth, chance, rating, record

pytestmark = pytest.mark.slow

ITEMS = 300
SIDE = "answers=b"


@cache
def worths(lost: float) -> dict[str, tuple[int, ...]]:
    """Two sides, of which the second is worth less on a share of items, and more on as many again if nothing is lost."""
    a = tuple(2 + int(3 * chance(f"a{index}")) for index in range(ITEMS))
    moved = [chance(f"moved{index}") for index in range(ITEMS)]
    b = tuple(
        one - 1 if change < 0.15 + lost else one + 1 if change > 0.85 + lost / 3 else one for one, change in zip(a, moved, strict=True)
    )
    return {"a": a, "b": b}


def truth(lost: float) -> float:
    """The true win rate of the second side less a half."""
    a, b = worths(lost).values()
    return float(np.mean([np.sign(theirs - ours) for ours, theirs in zip(a, b, strict=True)])) / 2.0


def some(count: int) -> Sequence[int]:
    """A random sample of the items."""
    return sorted(range(ITEMS), key=lambda index: chance(f"chosen {index}"))[:count]


def value(measured: RecordData, name: str, configuration: str = SIDE) -> Value:
    return of_judge(measured)[name].compute(measured, {})[configuration]


def number(measured: RecordData, name: str, configuration: str = SIDE) -> Estimate:
    found = value(measured, name, configuration)
    assert isinstance(found, Estimate), found
    return found


def decided(measured: RecordData) -> Held:
    (found,) = held(measured, SIDE)
    return found


def judged(folder: Path, lost: float = 0.0, labels: int = 100, margin: float | None = 0.12, **faults: Any) -> RecordData:
    return record(folder, worths(lost), by_worth(**faults), labels=some(labels) if labels else (), margin=margin)


def test_without_faults_the_judge_says_what_people_say(tmp_path: Path) -> None:
    measured = judged(tmp_path)
    for name in ("judge_kappa", "judge_sensitivity", "judge_specificity", "judge_consistency"):
        assert number(measured, name).value == 1.0
    for name in ("judge_bias", "judge_first"):
        assert number(measured, name).value == 0.0
    score = score_of(measured, SIDE, "judged")
    assert isinstance(score, Estimate)
    assert score.value == pytest.approx(0.5 + truth(0.0), abs=0.02)


def test_a_planted_bias_to_what_is_shown_first_is_found(tmp_path: Path) -> None:
    """In a share of 0.3 of both orders alike the first is chosen: 0.3 x the mean of what is left to gain, without labels too."""
    measured = judged(tmp_path, labels=0, margin=None, first=0.3)
    found = number(measured, "judge_first")
    assert found.low > 0.05
    assert found.low <= 0.3 * 0.5 <= found.high + 0.02
    assert number(measured, "judge_consistency").high < 0.9


def test_a_planted_bias_to_length_is_found(tmp_path: Path) -> None:
    measured = judged(tmp_path, labels=200, longer=0.5)
    assert number(measured, "judge_length_bias").low > 0.0
    assert number(judged(tmp_path / "none", labels=200), "judge_length_bias").value == 0.0


def test_what_the_judge_is_worth_is_that_of_its_correlation_with_people(tmp_path: Path) -> None:
    """Truth from all 300 items, of which 100 are labelled."""
    measured = judged(tmp_path, wrong=0.2)
    whole = judged(tmp_path / "all", labels=ITEMS, wrong=0.2)
    from fireassay.frames.evaluation.judged import beside_gold

    both = beside_gold(whole, SIDE)
    r = float(np.corrcoef(both.judge, both.gold)[0, 1])
    worth = 100 * (1.0 / (1.0 - r * r * 200 / 300) - 1.0)
    found = number(measured, "judge_worth")
    assert found.low <= worth <= found.high
    assert f"the judge is worth {round(found.value):,} more" in words(decided(measured), measured.experiment.quality, 1)


@pytest.mark.parametrize(("lost", "status"), [(0.0, "PASS"), (0.45, "FAIL")])
def test_the_verdict_is_that_of_people(lost: float, status: str, tmp_path: Path) -> None:
    measured = judged(tmp_path, lost, labels=200, wrong=0.2, first=0.1)
    found = decided(measured)
    assert status_of(found) == status
    assert not isinstance(found.decision, Absent)
    assert found.decision.low <= truth(lost) <= found.decision.high
    assert "PPI++" in found.decision.method
    assert found.tested is None


def test_few_labels_leave_it_open_and_say_how_many_would_decide(tmp_path: Path) -> None:
    measured = judged(tmp_path, 0.1, labels=25, wrong=0.3)
    found = decided(measured)
    assert status_of(found) == "INCONCLUSIVE"
    assert "labels" in more_items(found, 0.12)


def test_a_judge_that_favours_a_side_is_corrected(tmp_path: Path) -> None:
    """It says that b wins in 60 % of requests: alone it would call a loss held."""

    def says(answers: Sequence[str], request: str) -> str:
        if chance(request) < 0.6:
            return '{"choice": "first"}' if answers[0].startswith("b ") else '{"choice": "second"}'
        return by_worth()(answers, request)  # type: ignore[return-value]

    measured = record(tmp_path, worths(0.45), says, labels=some(200), margin=0.12)
    assert status_of(decided(measured)) == "FAIL"
    bias = number(measured, "judge_bias")
    assert bias.low > 0.1


def test_the_first_side_of_pairs_is_what_others_are_compared_with(tmp_path: Path) -> None:
    measured = judged(tmp_path)
    base = score_of(measured, "answers=a", "judged")
    assert isinstance(base, Estimate)
    assert (base.value, base.low, base.high) == (0.5, 0.5, 0.5)
    assert isinstance(value(measured, "judge_kappa", "answers=a"), Absent)


def test_ratings_are_judged_by_themselves(tmp_path: Path) -> None:
    measured = record(tmp_path, worths(0.0), rating(wrong=0.2), "scale", labels=some(150), margin=0.4)
    a, b = worths(0.0).values()
    found = decided(measured)
    assert not isinstance(found.decision, Absent)
    assert found.decision.low <= np.mean(b) - np.mean(a) <= found.decision.high
    for side, truly in (("answers=a", a), (SIDE, b)):
        score = score_of(measured, side, "judged")
        assert isinstance(score, Estimate)
        assert score.low <= np.mean(truly) <= score.high
    kappa = number(measured, "judge_kappa", "answers=a")
    assert 0.3 < kappa.value < 1.0
    assert set(of_judge(measured)) == {
        "judge_worth",
        "judge_kappa",
        "judge_sensitivity",
        "judge_specificity",
        "judge_bias",
        "judge_length_bias",
    }


def test_clusters_are_the_units(tmp_path: Path) -> None:
    clusters = [f"c{index // 5}" for index in range(ITEMS)]
    measured = record(tmp_path, worths(0.0), by_worth(wrong=0.2), labels=some(150), margin=0.12, more={"cluster": clusters})
    found = decided(measured)
    assert not isinstance(found.decision, Absent)
    assert found.decision.clusters == ITEMS // 5
    assert math.isfinite(found.decision.low)


def test_a_subgroup_without_enough_labels_is_not_decided_by_the_judge_alone(tmp_path: Path) -> None:
    from fireassay.kinds.evaluation.held import held_within

    measured = judged(tmp_path, labels=100)
    kept = {f"q{index}" for index in range(ITEMS) if index not in some(90)}
    found = held_within((measured, measured.base), (measured, SIDE), "answers", kept, measured.experiment.quality, 0.95)
    assert found is not None
    assert isinstance(found.decision, Absent)
    assert "10 labels of people in it" in found.decision.detail


def test_what_cannot_be_read_is_no_loss_and_no_tie(tmp_path: Path) -> None:
    says = by_worth()

    def refuses(answers: Sequence[str], request: str) -> str | int:
        return "I would rather not." if "Question 7?" in request else says(answers, request)

    measured = record(tmp_path, worths(0.0), refuses, labels=some(100), margin=0.12)
    rows = measured.table("ratings")
    (lacking,) = rows.filter((rows["kind"] == "judge") & (rows["outcome"] != "ok")).select("item", "outcome", "rating").rows()
    assert lacking == ("q7", "NO_ANSWER", None)
    found = decided(measured)
    assert (found.items, found.missing) == (ITEMS - 1, 1)
    assert "2 without an answer" in judge_words(measured)


def test_the_record_says_what_the_judge_took(tmp_path: Path) -> None:
    measured = record(tmp_path, worths(0.0), by_worth(), price=[1.0, 2.0])
    notes = measured.before["judge"]
    assert (notes["judgements"], notes["sent"], notes["tokens_in"], notes["tokens_out"]) == (600, 600, 3000, 1200)
    assert notes["usd"] == pytest.approx((3000 * 1.0 + 1200 * 2.0) / 1e6)
    assert notes["replies"].startswith("sha256:")
    assert measured.table("ratings").filter(measured.table("ratings")["kind"] == "judge")["usd"].sum() == pytest.approx(notes["usd"])


def test_kept_replies_make_the_same_record_without_asking(tmp_path: Path) -> None:
    first = record(tmp_path, worths(0.0), by_worth(wrong=0.2), cache="kept")
    again = record(tmp_path, worths(0.0), lambda *_: 500, cache="kept")
    assert again.before["judge"]["sent"] == 0
    assert again.before["judge"]["replies"] == first.before["judge"]["replies"]
    keys = ["launch", "item", "score"]
    assert again.table("scores").select(keys).sort("item").rows() == first.table("scores").select(keys).sort("item").rows()
