"""training_state: random states as declared, optimizer states as the parameters, buffers alike before the first step."""

from __future__ import annotations

import pytest

from fireassay.spec.experiment import Scaling
from fireassay.verdict.audits.training.training_state import AUDIT
from tests.handmade import Handmade
from tests.verdict.making import good, judged, rules

pytestmark = pytest.mark.slow


def hashed(what: str, texts: dict[int, tuple[str, str]], *, layers: int = 0, declared: str = "") -> dict[str, str]:
    """Step -> the hashes of two ranks."""
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1)
    number = made.launch(workers=2)
    for rank in range(2):
        made.fingerprint(number, "random_layers", layers, rank=rank)
        if declared:
            made.fingerprint(number, "random_state", declared, rank=rank)
        for step, both in texts.items():
            made.fingerprint(number, "parameter_hash", f"p{step}", rank=rank, step=step)
            made.fingerprint(number, what, both[rank], rank=rank, step=step)
    return {finding.rule: finding.severity for finding in AUDIT.examine(made.measured(), {})}


EQUAL, APART = {0: ("a", "a"), 1: ("b", "b")}, {0: ("a", "c"), 1: ("b", "d")}


@pytest.mark.parametrize(
    ("states", "layers", "declared", "expected"),
    [
        (EQUAL, 1, "different", {"same_random_numbers": "fail"}),
        (EQUAL, 0, "different", {"same_random_numbers": "fail"}),  # augmentation draws too
        (EQUAL, 1, "", {"same_random_numbers": "warning"}),
        (EQUAL, 0, "", {}),
        (EQUAL, 1, "equal", {}),
        (APART, 1, "equal", {"random_numbers_differ": "fail"}),
        (APART, 1, "different", {}),
        (APART, 1, "", {}),
        ({0: ("a", "a"), 1: ("a", "a")}, 1, "", {}),  # nothing is drawn from this generator
    ],
)
def test_random_states_are_judged_by_what_is_declared(
    states: dict[int, tuple[str, str]], layers: int, declared: str, expected: dict[str, str]
) -> None:
    assert hashed("random_hash", states, layers=layers, declared=declared) == expected


def test_the_hosts_generator_is_judged_where_states_are_declared_different() -> None:
    """Loaders draw the seeds of their helpers from it, whatever the model's device is."""
    assert hashed("random_hash_host", EQUAL, declared="different") == {"same_random_numbers": "fail"}
    assert hashed("random_hash_host", APART, declared="different") == {}
    assert hashed("random_hash_host", EQUAL, layers=1) == {}


def test_an_optimizer_that_differs_while_parameters_agree_is_a_warning() -> None:
    assert hashed("optimizer_hash", {1: ("a", "b")}) == {"optimizer_states_differ": "warning"}
    assert hashed("optimizer_hash", {1: ("a", "a")}) == {}
    assert hashed("optimizer_shard_hash", {1: ("a", "b")}) == {}, "every rank has its own part"


def test_buffers_may_differ_after_a_step_and_not_before() -> None:
    assert hashed("buffer_hash", {0: ("a", "b")}) == {"buffers_differ_at_start": "warning"}
    assert hashed("buffer_hash", {0: ("a", "a"), 1: ("b", "c")}) == {}


def test_a_good_record_has_none() -> None:
    assert not rules(judged(good())).keys() & {"same_random_numbers", "optimizer_states_differ"}


def rates(
    one: dict[int, float], two: dict[int, float], *, mode: str = "strong", workers: int = 2, items: tuple[float, float] | None = None
) -> list[str]:
    """Finished steps -> the learning rate; `items` of all ranks in each step, with one worker and with several."""
    made = Handmade(levels=(1, workers), blocks=1, scaling=Scaling.model_validate({"mode": mode}))
    for level, told in ((1, one), (workers, two)):
        number = made.launch(workers=level)
        for rank in range(level):
            if items is not None:
                made.steps(number, rank=rank, seconds=[1.0] * 8, items=items[level > 1] / level)
            for step, rate in told.items():
                made.fingerprint(number, "learning_rate", rate, rank=rank, step=step)
    return [finding.evidence for finding in AUDIT.examine(made.measured(), {}) if finding.rule == "learning_rate_differs"]


def test_a_learning_rate_that_is_not_one_workers_is_a_warning_where_the_batch_is_the_same() -> None:
    assert rates({1: 0.1, 2: 0.05}, {1: 0.1, 2: 0.05}) == []
    (scaled,) = rates({1: 0.1}, {1: 0.4}, workers=4)
    assert scaled.startswith(
        "the learning rate after 1 step of launch 1 is 0.4, where one worker's is 0.1: 4 times, which is workers, with"
    )
    (root,) = rates({1: 0.1, 2: 0.1}, {1: 0.1, 2: 0.1 * 2**0.5})
    assert "after 2 steps" in root
    assert "which is the root of workers" in root
    (other,) = rates({1: 0.1}, {1: 0.001})
    assert ": 0.01 times, with the same global batch" in other
    assert rates({1: 0.0}, {1: 0.0}) == []
    assert rates({1: 0.1, 2: 0.05, 4: 0.01}, {1: 0.1, 2: 0.06, 5: 0.01}) == [], "another number of steps has another schedule"
    assert len(rates({1: 0.0}, {1: 0.1})) == 1


def test_a_larger_batch_may_have_another_learning_rate() -> None:
    assert rates({1: 0.1}, {1: 0.2}, mode="weak") == []


def test_a_batch_that_was_declared_the_same_and_was_not_may_have_another_learning_rate() -> None:
    """A fixed batch on each rank and a rate that grows with the workers, called strong."""
    assert rates({1: 0.1}, {1: 0.2}, items=(8.0, 16.0)) == []
    assert len(rates({1: 0.1}, {1: 0.2}, items=(8.0, 8.0))) == 1
