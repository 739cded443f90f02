"""Evaluations that would make the time to a target mean something else are named."""

from __future__ import annotations

import math

from fireassay.frames.record_data import RecordData
from fireassay.spec.sections.target import Target
from fireassay.verdict.judge import examine
from tests.handmade import Handmade
from tests.metrics.training.test_quality_target import made, rising


def found(measured: RecordData) -> list[tuple[str, str]]:
    return [(one.rule, one.severity) for one in examine(measured, "target")]


def test_scores_in_per_cent_against_a_share_are_invalid_and_the_target_to_write_is_named() -> None:
    measured = made([(1, [20.0, 40.0, 50.0, 70.0, 85.0])] * 5, goal="accuracy=0.8")
    (one,) = (one for one in examine(measured, "target") if one.rule == "target_in_other_unit")
    assert one.severity == "invalid"
    assert "accuracy=80" in one.remedy


def test_a_score_without_a_scale_of_shares_may_be_of_any_size() -> None:
    assert found(made([(1, [0.5, 0.7, 20.0, 30.0, 40.0, 50.0])] * 5, goal="elo=0.9", name="elo")) == [("evaluations_too_rare", "warning")]


def test_scores_that_are_no_numbers_are_counted() -> None:
    assert found(made([(1, [0.1, 0.2, 0.3, math.nan, 0.85])] * 5)) == [("scores_not_finite", "warning")]


def test_few_evaluations_before_the_target_make_its_time_coarse() -> None:
    assert found(made([(1, rising(2))] * 5)) == [("evaluations_too_rare", "warning")]
    assert found(made([(1, rising(6))] * 5)) == []


def test_a_target_that_the_next_evaluation_misses_again_is_named() -> None:
    """Met at 6 and 8; in the other launches met to the end, or at the last evaluation, after which there is none."""
    lost = [0.1, 0.2, 0.3, 0.4, 0.5, 0.85, 0.7, 0.85]
    measured = made([(1, lost), (1, rising(6)), (1, rising(8)), (1, rising(6)), (1, rising(6))])
    (one,) = (one for one in examine(measured, "target") if one.rule == "target_missed_again")
    assert one.evidence.startswith("1 launch met accuracy 0.8 and missed it at the next evaluation")


def test_ranks_that_disagree_are_named() -> None:
    record = Handmade(levels=(2,), blocks=1)
    record.experiment = record.experiment.model_copy(update={"target": Target(goal="accuracy=0.9")})
    launch = record.launch(workers=2)
    for rank, score in enumerate((0.5, 0.625)):
        record.event(launch, "score", 4.0, rank=rank, incarnation=0, step=1, value=score, detail={"name": "accuracy"})
    (one,) = examine(record.measured(), "target")
    assert (one.rule, one.severity) == ("scores_differ_by_rank", "warning")
    assert "0.125" in one.evidence


def test_a_line_that_was_not_read_beside_others_that_were_is_shown() -> None:
    record = Handmade(levels=(1,), blocks=1)
    record.experiment = record.experiment.model_copy(update={"target": Target(goal="loss=0.1")})
    launch, line = record.launch(workers=1), "Train Epoch: 1 Loss: 0.319"
    record.event(launch, "score", 4.0, step=1, value=0.5, detail={"name": "loss", "source": "printed"})
    assert "scores_unread" not in [rule for rule, _ in found(record.measured())]
    record.event(launch, "score_unclear", 3.0, detail={"name": "loss", "line": line})
    (one,) = (one for one in examine(record.measured(), "target") if one.rule == "scores_unread")
    assert one.severity == "warning"
    assert line in one.evidence
    record.event(launch, "score", 5.0, step=2, value=0.4, detail={"name": "loss", "source": "script"})  # its own report settles it
    assert "scores_unread" not in [rule for rule, _ in found(record.measured())]


def test_without_a_target_nothing_is_examined() -> None:
    assert found(Handmade(levels=(1,), blocks=1).measured()) == []
