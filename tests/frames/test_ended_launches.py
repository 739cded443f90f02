"""Launches that were ended after their steps, as requested: values that need a whole job are absent, never a loss."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.record_tables import ended, ended_words
from fireassay.frames.training.correctness.sample_ledger import epochs
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated
from tests.verdict.making import EPOCH, MARGIN, good, judged, wrong

pytestmark = pytest.mark.slow


def cut(after: int, *, size: int | None = 32, short: tuple[int, ...] = (1, 2), **asked: object) -> Handmade:
    """The good record, of which the launches of these worker counts were ended after so many of their 8 steps."""
    made = good(**asked)  # type: ignore[arg-type]
    made.experiment = made.experiment.model_copy(
        update={"workload": made.experiment.workload.model_copy(update={"steps": after, "warm_up_steps": 0})}
    )
    launches = {row[0]: row[4] for row in made.rows["launches"]}
    short_ones = {number for number, workers in launches.items() if workers in short}
    for table, column in (("samples", 4), ("steps", 3)):
        made.rows[table] = [row for row in made.rows[table] if row[0] not in short_ones or row[column] < after]
    for number in short_ones:
        for rank in range(launches[number]):
            made.event(number, "steps_reached", 9.0, rank=rank, incarnation=0, step=after, value=after)
    if size is None:
        made.rows["fingerprints"] = [row for row in made.rows["fingerprints"] if row[4] != "dataset_size"]
    return made


def test_the_workers_say_that_a_launch_was_ended_and_words_say_after_how_much() -> None:
    measured = cut(5, short=(2,)).measured()
    assert ended(measured) == {1, 3, 5, 7, 9}
    assert ended_words(measured) == "ended after 5 steps as requested, after 0 to warm up"
    assert ended_words(good().measured()) == ""


def test_the_epoch_in_which_a_launch_was_ended_lost_nothing() -> None:
    """5 steps are an epoch of 4 and one step of the next."""
    judgement = judged(cut(5))
    assert wrong(judgement) == []
    lost = estimated(judgement.results["samples_lost"]["workers=2"])
    assert (lost.value, lost.n_trials) == (0.0, 5 * 32)


def test_an_ended_launch_needs_no_base_that_ended_so_too() -> None:
    """One worker ran to its end: elsewhere half an epoch would be lost."""
    assert wrong(judged(cut(5, short=(2,)))) == []


def test_a_launch_that_was_ended_in_its_first_epoch_says_nothing_about_lost_samples() -> None:
    for size in (32, None):
        assert "ended after 3 steps as requested" in absence(judged(cut(3, size=size)).results["samples_lost"]["workers=2"]).detail


def test_an_epoch_that_was_whole_when_the_launch_was_ended_is_judged() -> None:
    judgement = judged(cut(EPOCH))
    assert isinstance(judgement.results["samples_lost"]["workers=2"], Estimate)
    assert all(not epoch.cut_short for epoch in epochs(cut(EPOCH).measured()))


def test_samples_that_an_ended_launch_used_twice_are_still_found() -> None:
    made = cut(3)
    made.samples(1, [0, 1], step=2)
    assert "samples_duplicated" in wrong(judged(made))


def test_the_quality_of_a_training_that_was_not_finished_is_no_quality() -> None:
    """Scores of an evaluation in between, all wrong: neither a loss nor a reference at its floor."""
    judgement = judged(cut(5, right={1: 0, 2: 0}, quality=MARGIN))
    for name in ("quality", "quality_difference"):
        for value in judgement.results[name].values():
            assert isinstance(value, Absent)
        assert "ended after 5 steps as requested" in value.detail
    assert wrong(judgement) == []
    assert [gate.status for gate in judgement.verdict.gates if gate.gate == "quality"] == ["NOT_MEASURED"] * 2


def test_its_speed_is_judged_as_usual() -> None:
    judgement = judged(cut(7))
    assert isinstance(judgement.results["speedup"]["workers=2"], Estimate)
    assert [gate.status for gate in judgement.verdict.gates if gate.gate == "efficiency"] == ["PASS", "PASS"]
