"""Time, samples, dollars and joules to the target, by hand-made launches; every expected value is worked out in its comment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.record_data import RecordData, from_record
from fireassay.frames.training.time_to_quality import launches_to_quality
from fireassay.metrics.results import LazyResults
from fireassay.metrics.training.quality_target import METRICS
from fireassay.record.reader import open_record
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.target import Target
from fireassay.stats.intervals.intervals import log_t, mean_t, paired_log_ratio
from fireassay.verdict.comparison.groups import definition
from fireassay.verdict.gates.limits import check_target
from tests.handmade import Handmade

Scores = Sequence[float]


def made(
    launches: Sequence[tuple[int, Scores]],
    *,
    goal: str | tuple[str, ...] = "accuracy=0.8",
    pace: Sequence[float] = (),
    statuses: Sequence[str] = (),
    prices: float | None = None,
    within_s: float | None = None,
    name: str = "accuracy",
) -> RecordData:
    """Launches (workers, scores) of one step of 8 items for each score, 1 s long or as `pace` says, 2 s after the launch began; round by round."""
    levels = tuple(sorted({workers for workers, _ in launches}))
    record = Handmade(levels=levels, blocks=len(launches) // len(levels), prices=prices)
    record.experiment = record.experiment.model_copy(update={"target": Target(goal=goal, within_s=within_s)})
    for number, (workers, scores) in enumerate(launches):
        length = pace[number] if pace else 1.0
        status = statuses[number] if statuses else "ok"
        launch = record.launch(workers=workers, block=number // len(levels), wall_s=100.0, status=status)
        record.steps(launch, seconds=[length] * len(scores), items=8.0, start_s=2.0)
        record.event(launch, "first_step", 2.0, rank=0, incarnation=0)
        for step, score in enumerate(scores, 1):
            detail = {"name": name, "source": "script", "steps": step}
            record.event(launch, "score", 2.0 + step * length, rank=0, incarnation=0, step=step, value=score, detail=detail)
    return record.measured()


def results(measured: RecordData) -> LazyResults:
    return LazyResults(measured, {metric.name: metric for metric in METRICS})


def value(measured: RecordData, metric: str, configuration: str = "workers=1") -> Value:
    return results(measured)[metric][configuration]


def number(measured: RecordData, metric: str, configuration: str = "workers=1") -> Estimate:
    found = value(measured, metric, configuration)
    assert isinstance(found, Estimate), found
    return found


UP = [0.5, 0.7, 0.8, 0.9]  # meets 0.8 at the third evaluation


def rising(at: int, length: int = 8) -> Scores:
    """Scores that meet 0.8 at evaluation `at`, or never if that is beyond the length."""
    return [0.85 if step >= at else 0.5 for step in range(1, length + 1)]


def test_the_first_evaluation_that_meets_the_target_is_its_time_its_samples_and_its_dollars() -> None:
    """Third evaluation: 3 s after the first step, 5 s after the launch's begin, 24 items, 5 s of one worker at 3.6 $/h = 0.005 $."""
    measured = made([(1, UP)] * 5, prices=3.6)
    assert number(measured, "time_to_quality").value == 3.0
    assert number(measured, "time_to_quality_wall").value == 5.0
    assert number(measured, "samples_to_quality").value == 24.0
    assert math.isclose(number(measured, "cost_to_quality").value, 0.005)
    assert number(measured, "quality_reached").value == 1.0


def test_a_launch_that_never_reaches_it_is_censored_at_its_last_evaluation_and_not_dropped() -> None:
    """2, 3, 4, 5 s and longer than 8 s: the median is 4; of those that reached it alone it would be 3.5."""
    measured = made([(1, rising(at)) for at in (2, 3, 4, 5, 99)])
    time = number(measured, "time_to_quality")
    assert (time.value, time.high, time.n_launches, time.launch_values) == (4.0, math.inf, 5, ())
    assert "1 censored" in time.method
    assert number(measured, "quality_reached").value == 0.8


def test_the_mean_counts_a_launch_that_never_reached_it_as_the_horizon_and_is_finite() -> None:
    """(2 + 3 + 4 + 5 + 8) / 5, and 8 s at most; without a censored launch the plain mean with Student's t."""
    mean = number(made([(1, rising(at)) for at in (2, 3, 4, 5, 99)]), "mean_time_to_quality")
    assert mean.value == pytest.approx(4.4)
    assert 0.0 < mean.low < mean.value < mean.high <= 8.0
    assert "up to 8 s, by which 4 of 5 launches reached it" in mean.method
    whole = number(made([(1, rising(at)) for at in (2, 3, 4, 5, 6)]), "mean_time_to_quality")
    assert (whole.value, whole.low) == (pytest.approx(4.0), pytest.approx(mean_t([2, 3, 4, 5, 6], 0.95).low))


def test_the_mean_of_launches_that_all_miss_it_is_at_most_their_end() -> None:
    mean = number(made([(1, rising(99))] * 5), "mean_time_to_quality")
    assert (mean.value, mean.high) == (8.0, 8.0)
    assert mean.low < 4.0


def test_every_count_has_the_horizon_of_the_count_whose_launches_were_cut_first() -> None:
    """Two workers end at 4 s, one of them without the target: 5 s of one worker counts as 4."""
    measured = pairs([3, 3, 5, 3, 3], [4, 4, 4, 4, 99], 0.5)
    assert number(measured, "mean_time_to_quality").value == pytest.approx((4 * 3 + 4) / 5)
    assert number(measured, "mean_time_to_quality", "workers=2").value == pytest.approx((4 * 2 + 4) / 5)


def test_a_target_that_most_launches_miss_has_no_median_and_says_how_many_and_beyond_which_time() -> None:
    absent = value(made([(1, rising(at)) for at in (2, 99, 99, 99, 99)]), "time_to_quality")
    assert isinstance(absent, Absent)
    assert absent.detail.startswith("median not reached: 1 of 5 launches reached accuracy 0.8; more than ")


def test_a_target_met_again_at_the_next_evaluation_is_held_and_one_at_the_last_is_not_yet() -> None:
    """Met at 2, lost at 3, met at 4 and 5: held from 4 on. Met at the last alone: censored."""
    assert number(made([(1, [0.5, 0.8, 0.7, 0.8, 0.9])] * 5), "time_to_quality_held").value == 4.0
    assert isinstance(value(made([(1, [0.5, 0.8])] * 5), "time_to_quality_held"), Absent)


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_a_launch_that_crashed_counts_as_reached_if_it_did_before_and_else_as_censored(status: str) -> None:
    measured = made([(1, rising(at)) for at in (2, 3, 4, 5, 99)], statuses=["ok", status, "ok", "ok", status])
    rows = launches_to_quality(measured)
    assert rows["reached"].to_list() == [True, True, True, True, False]
    assert rows["cut"].to_list()[1] == rows["cut"].to_list()[4] == {"failed": "crashed", "timeout": "timed out"}[status]
    assert number(measured, "time_to_quality").value == 4.0


@pytest.mark.parametrize("status", ["aborted", "skipped", "contaminated"])
def test_a_launch_that_was_made_again_is_none_of_its_own(status: str) -> None:
    measured = made([(1, rising(at)) for at in (2, 3, 4, 5, 99)], statuses=["ok"] * 4 + [status])
    assert launches_to_quality(measured).height == 4


def test_a_score_that_is_no_number_meets_nothing_and_is_counted() -> None:
    measured = made([(1, [0.5, math.nan, 0.8])] * 5)
    assert launches_to_quality(measured)["nans"].to_list() == [1] * 5
    assert number(measured, "time_to_quality").value == 3.0


def test_a_launch_that_crashed_before_its_first_evaluation_is_censored_at_its_last_step() -> None:
    """Two steps without a score: censored after 2 s; S after 3, 3, 3, 3 s of the four others is 0 at 3 s."""
    record = made([(1, UP)] * 4 + [(1, [])], statuses=["ok"] * 4 + ["failed"])
    assert launches_to_quality(record)["reached"].to_list() == [True] * 4 + [False]
    assert number(record, "time_to_quality").n_launches == 5


def test_a_record_without_any_evaluation_has_rows_and_a_reason() -> None:
    measured = made([(1, [])] * 3)
    assert launches_to_quality(measured)["evaluations"].to_list() == [0] * 3
    assert isinstance(value(measured, "time_to_quality"), Absent)


def test_a_lower_target_is_met_from_above() -> None:
    assert number(made([(1, [2.0, 0.5, 0.3, 0.2])] * 5, goal="loss=0.3", name="loss"), "time_to_quality").value == 3.0


def test_a_target_that_nothing_evaluates_is_answered_with_the_names_that_were_found() -> None:
    absent = value(made([(1, UP)] * 5, goal="top5=0.9"), "time_to_quality")
    assert isinstance(absent, Absent)
    assert "no evaluation named 'top5'" in absent.detail
    assert "found: accuracy" in absent.detail
    assert "p.evaluate(step, score" in absent.detail


def test_a_target_met_before_training_is_no_time() -> None:
    record = Handmade(levels=(1,), blocks=1)
    record.experiment = record.experiment.model_copy(update={"target": Target(goal="accuracy=0.8")})
    launch = record.launch(workers=1)
    record.event(launch, "first_step", 5.0, rank=0, incarnation=0)
    record.event(launch, "score", 4.0, rank=0, incarnation=0, step=0, value=0.9, detail={"name": "accuracy"})
    absent = value(record.measured(), "time_to_quality")
    assert isinstance(absent, Absent)
    assert "before the first step" in absent.detail


def test_the_joules_are_those_of_the_counter_at_that_time() -> None:
    """The third evaluation is 5 s after the begin; the counter goes from 0 J at 0 s to 100 J at 10 s: 50 J."""
    record = Handmade(levels=(1,), blocks=1)
    record.experiment = record.experiment.model_copy(update={"target": Target(goal="accuracy=0.8")})
    launch = record.launch(workers=1)
    record.event(launch, "first_step", 2.0, rank=0, incarnation=0)
    record.event(launch, "score", 5.0, rank=0, incarnation=0, step=3, value=0.9, detail={"name": "accuracy"})
    record.reading(launch, "package-0", "energy", 0.0, at_s=0.0, unit="J")
    record.reading(launch, "package-0", "energy", 100.0, at_s=10.0, unit="J")
    assert number(record.measured(), "energy_to_quality").value == pytest.approx(50.0)


def pairs(base: Sequence[int], own: Sequence[int], pace: float) -> RecordData:
    """Rounds of one and of two workers; steps of two workers take `pace` s."""
    launches = [(workers, rising(at)) for one, two in zip(base, own, strict=True) for workers, at in ((1, one), (2, two))]
    return made(launches, pace=[1.0, pace] * len(base))


def test_the_speedup_to_the_target_is_the_product_of_speed_per_sample_and_samples() -> None:
    """One worker: 4, 4, 5, 4, 4 steps of 1 s; two: 5, 6, 5, 6, 5 of 0.5 s. All reach it: geometric means of the rounds."""
    measured = pairs([4, 4, 5, 4, 4], [5, 6, 5, 6, 5], 0.5)
    speedup, rate, samples = (
        number(measured, name, "workers=2") for name in ("speedup_to_quality", "rate_ratio_to_quality", "samples_ratio_to_quality")
    )
    by_hand = paired_log_ratio([4.0, 4.0, 5.0, 4.0, 4.0], [2.5, 3.0, 2.5, 3.0, 2.5], 0.95)
    assert (speedup.value, speedup.low, speedup.high) == pytest.approx((by_hand.value, by_hand.low, by_hand.high))
    assert rate.value == pytest.approx(2.0)
    assert samples.value == pytest.approx(log_t([5 / 4, 6 / 4, 1.0, 6 / 4, 5 / 4], 0.95).value)
    assert speedup.value == pytest.approx(rate.value / samples.value)
    assert number(measured, "efficiency_to_quality", "workers=2").value == pytest.approx(speedup.value / 2)
    assert number(measured, "speedup_to_quality", "workers=1").value == 1.0


def test_a_round_with_a_censored_launch_bounds_the_ratio_on_one_side() -> None:
    """Ratios 2, 2, 2, 1 (own 4 x 0.5 s against 4 s ...) and one round where two workers never got there: below 4 / (8 x 0.5) = 1."""
    measured = pairs([4, 4, 4, 4, 4], [4, 4, 4, 8, 99], 0.5)
    speedup = number(measured, "speedup_to_quality", "workers=2")
    assert (speedup.value, speedup.low) == (pytest.approx(2.0), 0.0)
    assert "1 of them with a censored launch" in speedup.method


def test_a_censored_round_beside_the_median_leaves_the_ratio_of_medians() -> None:
    """Ratios 2, 2, 1, 1 and one round below 8 / 4.5: its place is unknown. Medians: 4 s of one worker, of two 4 s of 2, 2, 4, 4.5+, 4."""
    measured = pairs([4, 4, 4, 4, 8], [4, 4, 8, 8, 99], 0.5)
    speedup = number(measured, "speedup_to_quality", "workers=2")
    assert speedup.value == pytest.approx(1.0)
    assert "Kaplan-Meier" in speedup.method


def test_where_the_base_never_gets_there_the_ratio_has_no_upper_bound() -> None:
    measured = pairs([4, 4, 4, 4, 99], [4, 4, 4, 4, 4], 0.5)
    speedup = number(measured, "speedup_to_quality", "workers=2")
    assert (speedup.value, speedup.high) == (pytest.approx(2.0), math.inf)


def test_where_neither_gets_there_in_most_rounds_there_is_no_ratio() -> None:
    assert isinstance(value(pairs([99] * 3 + [4] * 2, [99] * 3 + [4] * 2, 0.5), "speedup_to_quality", "workers=2"), Absent)


@pytest.mark.parametrize(
    ("at", "within", "status"),
    [
        ([3, 3, 3, 3, 3], 5.0, "PASS"),
        ([3, 3, 3, 3, 3], 2.0, "FAIL"),
        ([2, 3, 4, 5, 99], 4.5, "INCONCLUSIVE"),
        ([99] * 8, 6.0, "FAIL"),  # no median, but it lies beyond 8 s
        ([99] * 8, 9.0, "INCONCLUSIVE"),
    ],
)
def test_the_gate_needs_the_whole_interval_and_fails_a_median_that_lies_beyond_it(at: list[int], within: float, status: str) -> None:
    measured = made([(1, rising(one)) for one in at], within_s=within)
    (gate,) = check_target(measured, results(measured))
    assert gate.status == status


def test_without_a_target_nothing_is_asked() -> None:
    measured = Handmade(levels=(1,), blocks=1).measured()
    assert check_target(measured, {}) == ()
    assert launches_to_quality(measured).height == 0
    assert not any(metric.requested(measured) for metric in METRICS)


def test_the_experiment_of_the_record_keeps_its_target() -> None:
    experiment: Experiment = made([(1, UP)]).experiment
    assert experiment.target is not None
    assert experiment.target.parsed.met(0.8)


def test_a_real_training_with_a_seed_that_never_gets_there_agrees_with_its_raw_events(repository: Path) -> None:
    """tests/records/target: five seeds on one and two workers. The times, straight from the events, and the median by hand."""
    measured = from_record(open_record(repository / "tests" / "records" / "target"))
    events = measured.table("events")
    first = dict(events.filter(pl.col("kind") == "first_step").group_by("launch").agg(pl.col("ns").min()).iter_rows())
    met = dict(events.filter((pl.col("kind") == "score") & (pl.col("value") >= 0.8)).group_by("launch").agg(pl.col("ns").min()).iter_rows())
    for configuration, reached in (("workers=1", 5), ("workers=2", 4)):
        launches = measured.table("launches").filter(configuration=configuration)["launch"].to_list()
        times = sorted((met[launch] - first[launch]) / 1e9 for launch in launches if launch in met)
        assert len(times) == reached
        assert number(measured, "time_to_quality", configuration).value == pytest.approx(times[2])  # of five, the censored one last
    assert math.isinf(number(measured, "time_to_quality", "workers=2").high)
    rate, samples = (number(measured, name, "workers=2").value for name in ("rate_ratio_to_quality", "samples_ratio_to_quality"))
    assert rate > 0.0
    assert 1.5 < samples < 2.1  # the batch is twice as large


def test_records_with_more_launches_are_compared_and_with_another_target_or_horizon_not() -> None:
    five, six, harder = (
        made([(1, UP)] * launches, goal=goal) for launches, goal in ((5, "accuracy=0.8"), (6, "accuracy=0.8"), (5, "accuracy=0.9"))
    )
    for metric in ("time_to_quality", "mean_time_to_quality", "quality_reached"):
        assert definition(value(five, metric)) == definition(value(six, metric))
        assert definition(value(five, metric)) != definition(value(harder, metric))
    until_8, until_9 = (made([(1, rising(4, length))] * 4 + [(1, rising(99, length))]) for length in (8, 9))
    assert definition(value(until_8, "mean_time_to_quality")) != definition(value(until_9, "mean_time_to_quality"))
