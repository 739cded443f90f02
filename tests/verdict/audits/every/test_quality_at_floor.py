"""A reference that gets nothing right, guesses, says nothing or leads by no more than the margin makes a record INVALID."""

from __future__ import annotations

import pytest

from fireassay.frames.quality_floor import at_floor
from fireassay.spec.experiment import Quality
from fireassay.verdict.types import QUALITY_AT_FLOOR
from tests.serving_made import simulated
from tests.verdict.making import change, gate, good, judged, pick, wrong

pytestmark = pytest.mark.slow


PREDICTION = 5  # column of examples


def evidence(judgement: object) -> str:
    return next(f.evidence for f in judgement.verdict.findings if f.rule == QUALITY_AT_FLOOR)  # type: ignore[attr-defined]


def test_a_reference_that_gets_nothing_right_is_invalid_and_nothing_is_recommended() -> None:
    judgement = judged(good(right={1: 0, 2: 0}))
    assert judgement.verdict.status == "INVALID"
    assert "nothing is right: accuracy is 0 over 40 examples" in evidence(judgement)
    assert evidence(judgement) in judgement.verdict.sentence
    assert {gate(judgement, "quality", workers).status for workers in (1, 2)} == {"INVALID"}
    assert pick(judgement, "recommended") is None


def test_a_good_reference_is_left_alone_and_a_bad_candidate_has_lost() -> None:
    assert QUALITY_AT_FLOOR not in wrong(judged(good()))
    lost = judged(good(right={2: 0}))
    assert QUALITY_AT_FLOOR not in wrong(lost)
    assert gate(lost, "quality", 2).status == "FAIL"


@pytest.mark.parametrize(("right", "found"), [(10, True), (14, True), (15, False)])
def test_chance_is_a_floor_where_it_is_declared(right: int, found: bool) -> None:
    """One of four answers: 10 of 40 guess; 14 of 40 lead by .10, which is the margin; 15 lead by more."""
    quality = Quality(metric="accuracy", margin=0.10, chance=0.25)
    judgement = judged(good(right={1: right, 2: right}, quality=quality))
    assert (QUALITY_AT_FLOOR in wrong(judgement)) == found


def test_a_reference_not_shown_to_be_above_chance_decides_nothing() -> None:
    """15 of 40 right is .375 [.227, .542]: chance, .25, is inside."""
    judgement = judged(good(right={1: 15, 2: 15}, quality=Quality(metric="accuracy", margin=0.10, chance=0.25)))
    assert gate(judgement, "quality", 1).status == "INCONCLUSIVE"
    assert "not shown to be better than chance, 0.25" in gate(judgement, "quality", 2).sentence
    assert pick(judgement, "recommended") is None


def test_a_margin_as_wide_as_the_lead_over_nothing_right_is_a_floor() -> None:
    judgement = judged(good(right={1: 4, 2: 4}))  # 4 of 40 right, a margin of .10
    assert "a candidate that does no better would count as held" in evidence(judgement)


def test_of_errors_the_floor_is_all_wrong() -> None:
    """Lower is better: every error 1.  Losses that are no errors have no floor that anybody knows."""
    quality = Quality(metric="accuracy", direction="lower", margin=0.05)
    assert QUALITY_AT_FLOOR in wrong(judged(good(right={1: 40, 2: 40}, quality=quality)))
    made = good(right={1: 40, 2: 40}, quality=quality)
    change(made, "examples", 7, lambda row: 0.9 + 0.002 * int(row[4]))
    assert QUALITY_AT_FLOOR not in wrong(judged(made))


def test_predictions_without_any_text_are_no_reference_whatever_their_score() -> None:
    made = good()
    change(made, "examples", PREDICTION, "  ")
    assert "none of 200 answers has any text" in evidence(judged(made))
    change(made, "examples", PREDICTION, lambda row: "7" if row[4] == "0" else "")
    assert QUALITY_AT_FLOOR not in wrong(judged(made))


def test_a_load_whose_answers_are_all_wrong_recommends_no_load() -> None:
    from fireassay.verdict.judge import judge

    judgement = judge(simulated(concurrency=(1, 2), scored=0.0, seconds=5.0).measured())
    assert judgement.verdict.status == "INVALID"
    assert judgement.verdict.recommendations[0].configuration is None
    assert "nothing is right: exact_match is 0" in evidence(judgement)


def test_without_scores_there_is_nothing_to_say() -> None:
    made = good(leave_out=("scores",)).measured()
    assert at_floor(made.scores, Quality()) is None
