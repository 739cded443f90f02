"""quality: held, degraded or undecided against a margin that was written down before."""

from __future__ import annotations

import math

import pytest

from fireassay.spec.experiment import Quality
from tests.verdict.making import EXAMPLES, MARGIN, answers, change, estimate, gate, good, judged, pick

pytestmark = pytest.mark.slow


SCORE, CLUSTER = 7, 8  # columns of examples


def test_the_same_answers_are_held_if_there_are_enough_of_them() -> None:
    """40 examples without a change bound the difference by 1 - 0.05^(1/40) = 0.0721, which is less than 0.10."""
    judgement = judged(good())
    assert gate(judgement, "quality", 2).status == "PASS"
    difference = estimate(judgement, "quality_difference", 2)
    assert (difference.value, difference.low) == (0.0, pytest.approx(-(1 - 0.05 ** (1 / EXAMPLES))))


def test_the_same_answers_are_undecided_if_there_are_too_few_of_them() -> None:
    """The margin 0.05 needs ln 0.05 / ln 0.95 = 58.4: 59 examples; there are 40."""
    judgement = judged(good(quality=Quality(margin=0.05)))
    result = gate(judgement, "quality", 2)
    assert (result.status, result.examples_needed, result.launches_needed) == ("INCONCLUSIVE", 59, None)
    assert "59 held-out examples would decide" in result.sentence
    assert pick(judgement, "recommended") == "workers=1"


def test_fewer_right_answers_than_the_margin_allows_are_degraded() -> None:
    judgement = judged(good(right={2: 10}))  # 26 of 40 answers got wrong: -0.65
    result = gate(judgement, "quality", 2)
    assert result.status == "FAIL"
    assert result.sentence.startswith("quality degraded: accuracy differs by −0.65 from the base")


def test_where_lower_is_better_more_is_worse() -> None:
    made = good(right={2: 40}, quality=Quality(metric="accuracy", direction="lower", margin=0.01))
    change(made, "examples", SCORE, lambda row: row[SCORE] + 1.0, workers=2)
    assert gate(judged(made), "quality", 2).status == "FAIL"


@pytest.mark.parametrize("blocks", [1, 2])
def test_fewer_than_three_launches_are_inconclusive_at_the_reference_as_well(blocks: int) -> None:
    judgement = judged(good(blocks=blocks))
    assert {gate(judgement, "quality", workers).status for workers in (1, 2)} == {"INCONCLUSIVE"}
    assert "no verdict, use at least 3" in gate(judgement, "quality", 2).sentence
    assert judgement.verdict.status == "INCONCLUSIVE"
    assert all(recommendation.configuration is None for recommendation in judgement.verdict.recommendations)


def test_without_a_quality_metric_there_is_no_gate() -> None:
    assert all(result.gate != "quality" for result in judged(good(quality=None)).verdict.gates)


def test_scores_under_another_name_are_not_measured_and_named() -> None:
    result = gate(judged(good(quality=Quality(metric="f1", margin=0.1))), "quality", 2)
    assert result.status == "NOT_MEASURED"
    assert "no score named 'f1' was reported; reported: accuracy" in result.sentence


def test_without_scores_it_is_not_measured() -> None:
    judgement = judged(good(leave_out=("scores",)))
    assert {gate(judgement, "quality", workers).status for workers in (1, 2)} == {"NOT_MEASURED"}
    assert judgement.verdict.status == "INCONCLUSIVE"


def test_examples_that_lack_in_one_launch_are_refused() -> None:
    made = good()
    made.rows["examples"].remove(next(row for row in made.rows["examples"] if row[0] == 3))
    result = gate(judged(made), "quality", 2)
    assert result.status == "NOT_MEASURED"
    assert "1 of 40 examples lack a score in some launch" in result.sentence


def test_examples_that_alternate_between_blocks_are_refused() -> None:
    """Every block scores half of the examples, another half each time: counts agree, pairs do not."""
    made = good()
    made.rows["examples"] = [row for row in made.rows["examples"] if int(row[4]) % 2 == (row[0] // 2) % 2]
    assert "40 of 40 examples lack a score in some launch" in gate(judged(made), "quality", 2).sentence


def test_a_score_that_is_no_number_is_refused() -> None:
    made = good()
    change(made, "examples", SCORE, lambda row: math.nan if row[4] == "7" else row[SCORE], workers=2)
    assert "not finite numbers" in gate(judged(made), "quality", 2).sentence


def test_one_example_carries_no_interval() -> None:
    made = good(leave_out=("scores",))
    for number in range(len(made.rows["launches"])):
        made.scores(number, [1.0])
    assert "one example carries no interval" in gate(judged(made), "quality", 2).sentence


def test_of_an_example_that_was_scored_again_after_a_restart_the_last_score_counts() -> None:
    made = good(right={2: 10})
    for number, row in enumerate(list(made.rows["launches"])):
        if row[4] == 2:
            for example, score in enumerate(answers(36)):
                made.rows["examples"].append((number, 0, 1, "accuracy", str(example), None, None, score))
    assert gate(judged(made), "quality", 2).status == "PASS"


def test_the_sentence_says_that_examples_are_taken_as_independent_or_in_which_clusters_they_come() -> None:
    made = good()
    assert gate(judged(made), "quality", 2).sentence.endswith("40 examples taken as independent, because no clusters are given")
    change(made, "examples", CLUSTER, lambda row: f"passage {int(row[4]) // 2}" if int(row[4]) < 38 else None)
    assert gate(judged(made), "quality", 2).sentence.split("; ")[1] == "40 examples in 19 clusters, 2 of them in none"


def test_clusters_decide_how_much_the_examples_can_show() -> None:
    """Ten passages of four questions without a change rule out 1 - .05^(1/10) = 26 points, not 7."""
    made = good()
    change(made, "examples", CLUSTER, lambda row: f"passage {int(row[4]) // 4}")
    assert gate(judged(made), "quality", 2).status == "INCONCLUSIVE"
    difference = estimate(judged(made), "quality_difference", 2)
    assert difference.low == pytest.approx(-(1 - 0.05 ** (1 / 10)))


def test_clusters_that_were_declared_and_not_given_are_not_measured() -> None:
    result = gate(judged(good(quality=Quality(margin=0.1, cluster="passage"))), "quality", 2)
    assert result.status == "NOT_MEASURED"
    assert "quality.cluster says that examples share 'passage', but no score has one" in result.sentence


def test_changes_whose_mean_nobody_can_tell_are_undecided_unless_their_largest_is_declared() -> None:
    """Losses of e^0 to e^30: a tail of an index above 1."""
    for declared, said in ((None, "give the largest possible change: quality.largest_change"), (2e13, "margin of")):
        made = good(leave_out=("scores",), quality=Quality(direction="lower", margin=0.1, largest_change=declared))
        for number, row in enumerate(made.rows["launches"]):
            made.scores(number, [math.exp(0.75 * n) if row[4] == 2 else 0.0 for n in range(40)])
        assert said in gate(judged(made), "quality", 2).sentence


def test_the_largest_change_that_is_declared_narrows_what_unchanged_scores_can_hide() -> None:
    made = good(quality=Quality(margin=0.05, largest_change=0.5))
    assert gate(judged(made), "quality", 2).status == "PASS"  # half of 7.2 points


def test_the_margin_is_part_of_the_sentence() -> None:
    assert f"margin {MARGIN.margin:g}" in gate(judged(good()), "quality", 2).sentence


def test_the_textbooks_test_stands_beside_the_margin() -> None:
    """26 of 40 answers got wrong: mean change -0.65, sd sqrt(40 x 0.65 x 0.35 / 39) = 0.483, t = -0.65 / (0.483 / sqrt(40)) = -8.51; all 36 right became 10."""
    result = gate(judged(good(right={2: 10})), "quality", 2)
    assert result.tested.startswith("paired t-test p < 0.0001 (t = -8.51, 40 items): a significant difference at 5 %; relative drop 72.2 %")
    assert result.tested.endswith("the margin decides")
    assert gate(judged(good()), "quality", 2).tested == ""  # no answer differs: there is nothing to test
