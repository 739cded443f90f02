"""Was quality measured, can the measure show a loss, and was there one?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.frames.quality_floor import at_floor
from fireassay.spec.experiment import Quality
from fireassay.verdict.claims.pitfalls import of_record
from fireassay.verdict.types import QUALITY_AT_FLOOR
from tests.serving_made import simulated
from tests.verdict.claiming import NOTHING, NUMBER, QUALITY, claim, found, the_finding
from tests.verdict.making import change, gate, good, judged, pick, wrong

# ---- quality unmeasured ----
# quality_unmeasured: speed without quality, and quality from elsewhere.


def test_a_speed_beside_which_nothing_is_said_about_quality_is_named() -> None:
    finding = the_finding(claim(quality=None), "quality_not_measured")
    assert (finding.severity, finding.needs) == ("warning", ("quality",))
    assert found(claim()) == {}


def test_quality_of_other_launches_is_inadmissible() -> None:
    assert found(claim(quality={"same_launches": False})) == {"quality_of_other_runs": "invalid"}


@pytest.mark.parametrize(("candidate", "named"), [(0.89, False), (0.889, True), (0.95, False)])
def test_a_loss_beyond_the_margin_is_inadmissible(candidate: float, named: bool) -> None:
    """Baseline 0.90, margin 0.01."""
    assert found(claim(quality={"candidate": candidate})) == ({"quality_lost": "invalid"} if named else {})


def test_of_a_perplexity_the_lower_is_better() -> None:
    worse = {"metric": "perplexity", "direction": "lower", "baseline": 10.0, "candidate": 10.5, "margin": 0.1}
    assert found(claim(quality=worse)) == {"quality_lost": "invalid"}
    assert found(claim(quality=worse | {"candidate": 9.0})) == {}


@pytest.mark.parametrize(("items", "named"), [(298, True), (299, False)])
def test_so_few_items_that_no_such_margin_can_be_shown_are_named(items: int, named: bool) -> None:
    """Without a single change n items bound one by 1 - 0.05^(1/n): 299 are needed for one point (quality.md 3.2)."""
    assert found(claim(quality={"items": items})) == ({"quality_items_too_few": "warning"} if named else {})


@pytest.mark.parametrize("key", ["same_launches", "margin", "baseline", "candidate"])
def test_quality_of_which_something_is_not_said_is_left_open(key: str) -> None:
    assert found(claim(quality=QUALITY | {key: NOTHING})) == {"quality_unsaid": "note"}


def test_scores_among_the_numbers_do_not_say_where_they_are_from() -> None:
    numbers = [{"metric": "accuracy", "value": 0.9, "run": "r1"}, {"metric": "accuracy", "value": 0.9, "run": "r1"}]
    assert found(claim(numbers=numbers, quality=None)) == {}, "without a speed there is nothing to hold quality against"


@pytest.mark.slow
def test_a_record_without_scores_could_not_be_examined() -> None:
    states = {}
    for left_out in ((), ("scores",)):
        made = good(leave_out=left_out)
        pitfalls = of_record(made.measured())
        states[left_out] = next(p.state for p in pitfalls if p.name == "quality_unmeasured")
    assert states == {(): "clear", ("scores",): "not examined"}


def quality(**changes: Any) -> dict[str, str]:
    return found(claim(quality=changes))


def test_a_loss_needs_a_margin() -> None:
    assert quality(candidate=0.89, margin=NOTHING)["quality_lost_without_margin"] == "warning"
    assert "quality_lost_without_margin" not in quality(candidate=0.91, margin=NOTHING)
    assert quality(candidate=0.895) == {}


def test_the_direction_follows_from_the_score_where_it_is_not_said() -> None:
    worse = {"metric": "perplexity", "baseline": 12.1, "candidate": 13.5, "margin": 0.1}
    assert quality(**worse)["quality_lost"] == "invalid"
    assert quality(**worse, direction="higher")["direction_contradicts_metric"] == "warning"
    assert quality(**worse | {"candidate": 11.0}) == {}


def test_points_and_fractions_are_bounded_alike_by_their_items() -> None:
    """95 %: 300 items bound a change by 1 - 0.05^(1/300) = 0.994 points."""
    points = {"baseline": 90.2, "candidate": 90.2, "margin": 0.5}
    assert quality(**points, items=300)["quality_items_too_few"] == "warning"
    assert quality(**points, items=20_000) == {}
    assert quality(margin=0.005, items=300)["quality_items_too_few"] == "warning"


def test_a_score_that_is_given_as_a_number_with_its_base_is_compared() -> None:
    score = {"metric": "accuracy", "value": 0.88, "run": "r1", "baseline": {"value": 0.92}}
    assert found(claim(numbers=[NUMBER, score], quality=None))["quality_lost_without_margin"] == "warning"


def test_a_collective_has_no_score_and_a_cheaper_answer_has_one() -> None:
    busbw = {key: value for key, value in NUMBER.items() if key != "baseline"} | {
        "metric": "bus bandwidth",
        "unit": "GB/s",
        "statistic": "median",
    }
    assert found(claim(numbers=[busbw], quality=None)) == {}
    cost = NUMBER | {"metric": "cost", "unit": "USD", "baseline": {"kind": "other_system", "value": 9.0, "unit": "USD"}}
    assert found(claim(numbers=[cost], quality=None))["quality_not_measured"] == "warning"


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
@pytest.mark.parametrize(("right", "found"), [(10, True), (14, True), (15, False)])
def test_chance_is_a_floor_where_it_is_declared(right: int, found: bool) -> None:
    """One of four answers: 10 of 40 guess; 14 of 40 lead by .10, which is the margin; 15 lead by more."""
    quality = Quality(metric="accuracy", margin=0.10, chance=0.25)
    judgement = judged(good(right={1: right, 2: right}, quality=quality))
    assert (QUALITY_AT_FLOOR in wrong(judgement)) == found


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
def test_of_errors_the_floor_is_all_wrong() -> None:
    """Lower is better: every error 1.  Losses that are no errors have no floor that anybody knows."""
    quality = Quality(metric="accuracy", direction="lower", margin=0.05)
    assert QUALITY_AT_FLOOR in wrong(judged(good(right={1: 40, 2: 40}, quality=quality)))
    made = good(right={1: 40, 2: 40}, quality=quality)
    change(made, "examples", 7, lambda row: 0.9 + 0.002 * int(row[4]))
    assert QUALITY_AT_FLOOR not in wrong(judged(made))


@pytest.mark.slow
def test_predictions_without_any_text_are_no_reference_whatever_their_score() -> None:
    made = good()
    change(made, "examples", PREDICTION, "  ")
    assert "none of 200 answers has any text" in evidence(judged(made))
    change(made, "examples", PREDICTION, lambda row: "7" if row[4] == "0" else "")
    assert QUALITY_AT_FLOOR not in wrong(judged(made))


@pytest.mark.slow
def test_a_load_whose_answers_are_all_wrong_recommends_no_load() -> None:
    from fireassay.verdict.judge import judge

    judgement = judge(simulated(concurrency=(1, 2), scored=0.0, seconds=5.0).measured())
    assert judgement.verdict.status == "INVALID"
    assert judgement.verdict.recommendations[0].configuration is None
    assert "nothing is right: exact_match is 0" in evidence(judgement)


@pytest.mark.slow
def test_without_scores_there_is_nothing_to_say() -> None:
    made = good(leave_out=("scores",)).measured()
    assert at_floor(made.scores, Quality()) is None
