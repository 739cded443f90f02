"""Was quality measured, can the measure show a loss, and was there one?"""

from __future__ import annotations

import pytest

from fireassay.frames.scores import at_floor
from fireassay.spec.experiment import Quality
from fireassay.verdict.pitfalls import of_record
from fireassay.verdict.types import QUALITY_AT_FLOOR
from tests.serving_made import simulated
from tests.verdict.judging import concluded
from tests.verdict.making import change, gate, good, judged, pick, wrong

# ---- quality unmeasured ----
# quality_unmeasured: speed without quality, and quality from elsewhere.


@pytest.mark.slow
def test_a_record_without_scores_could_not_be_examined() -> None:
    states = {}
    for left_out in ((), ("scores",)):
        made = good(leave_out=left_out)
        pitfalls = of_record(made.measured())
        states[left_out] = next(p.state for p in pitfalls if p.name == "quality_unmeasured")
    assert states == {(): "clear", ("scores",): "not examined"}


# ---- quality loss ----
# A configuration that gives a worse model is named among the findings, and refused.


def named(right: int) -> list[tuple[str, str | None]]:
    findings = judged(good(right={2: right})).verdict.findings
    return [(finding.severity, finding.configuration) for finding in findings if finding.rule == "quality_degraded"]


@pytest.mark.slow
def test_a_degraded_configuration_is_named_and_never_recommended() -> None:
    assert named(right=10) == [("warning", "workers=2")]  # 26 of 40 answers got wrong
    assert pick(judged(good(right={2: 10})), "recommended") == "workers=1"


@pytest.mark.slow
def test_held_and_undecided_quality_is_no_finding() -> None:
    assert named(right=36) == []
    assert named(right=35) == []


# ---- quality at floor ----
# A reference that gets nothing right, guesses, says nothing or leads by no more than the margin makes a record INVALID.

PREDICTION = 5  # column of examples


def evidence(judgement: object) -> str:
    return next(f.evidence for f in judgement.verdict.findings if f.rule == QUALITY_AT_FLOOR)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_reference_that_gets_nothing_right_is_invalid_and_nothing_is_recommended() -> None:
    judgement = judged(good(right={1: 0, 2: 0}))
    assert judgement.verdict.status == "INVALID"
    assert "nothing is right: accuracy is 0 over 40 examples" in evidence(judgement)
    assert evidence(judgement) in judgement.verdict.sentence
    assert {gate(judgement, "quality", workers).status for workers in (1, 2)} == {"INVALID"}
    assert pick(judgement, "recommended") is None


@pytest.mark.slow
def test_a_good_reference_is_left_alone_and_a_bad_candidate_has_lost() -> None:
    assert QUALITY_AT_FLOOR not in wrong(judged(good()))
    lost = judged(good(right={2: 0}))
    assert QUALITY_AT_FLOOR not in wrong(lost)
    assert gate(lost, "quality", 2).status == "FAIL"


@pytest.mark.slow
def test_a_reference_not_shown_to_be_above_chance_decides_nothing() -> None:
    """15 of 40 right is .375 [.227, .542]: chance, .25, is inside."""
    judgement = judged(good(right={1: 15, 2: 15}, quality=Quality(metric="accuracy", margin=0.10, chance=0.25)))
    assert gate(judgement, "quality", 1).status == "INCONCLUSIVE"
    assert "not shown to be better than chance, 0.25" in gate(judgement, "quality", 2).sentence
    assert pick(judgement, "recommended") is None


@pytest.mark.slow
def test_a_margin_as_wide_as_the_lead_over_nothing_right_is_a_floor() -> None:
    judgement = judged(good(right={1: 4, 2: 4}))  # 4 of 40 right, a margin of .10
    assert "a candidate that does no better would count as held" in evidence(judgement)


@pytest.mark.slow
def test_predictions_without_any_text_are_no_reference_whatever_their_score() -> None:
    made = good()
    change(made, "examples", PREDICTION, "  ")
    assert "none of 200 answers has any text" in evidence(judged(made))
    change(made, "examples", PREDICTION, lambda row: "7" if row[4] == "0" else "")
    assert QUALITY_AT_FLOOR not in wrong(judged(made))


@pytest.mark.slow
def test_a_load_whose_answers_are_all_wrong_recommends_no_load() -> None:
    judgement = concluded(simulated(concurrency=(1, 2), scored=0.0, seconds=5.0).measured())
    assert judgement.verdict.status == "INVALID"
    assert judgement.verdict.recommendations[0].configuration is None
    assert "nothing is right: exact_match is 0" in evidence(judgement)


@pytest.mark.slow
def test_without_scores_there_is_nothing_to_say() -> None:
    made = good(leave_out=("scores",)).measured()
    assert at_floor(made.scores, Quality()) is None
