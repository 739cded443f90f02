"""The slow rank and its phase: by hand, against brute force, and by chances that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fireassay.stats.groups.stragglers import beyond_others, fewest_blocks, lost_waiting, search
from fireassay.stats.intervals.intervals import order_ranks

STEP = np.full(40, 0.1)  # so that 5 ms matter


def steps(ranks: int, seed: int, *, count: int = 40, sd: float = 0.005) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.05, sd, (count, ranks))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([1, 2], [-1, 1]),
        ([1, 2, 10], [-9, -8, 8]),  # of two others the slower one: a fast rank makes no other slow
        ([1, 2, 3, 10], [-2, -1, 1, 8]),
        ([5, 5, 5], [0, 0, 0]),
    ],
)
def test_a_rank_is_compared_with_the_upper_median_of_the_others(seconds: list[float], expected: list[float]) -> None:
    assert beyond_others(np.array([seconds], dtype=float)).tolist() == [expected]


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(arrays(float, st.tuples(st.integers(1, 4), st.integers(2, 7)), elements=st.integers(0, 9).map(float)))
def test_the_same_by_leaving_each_rank_out_in_turn(seconds: np.ndarray) -> None:
    for rank in range(seconds.shape[1]):
        others = np.sort(np.delete(seconds, rank, axis=1), axis=1)
        upper = others[:, others.shape[1] // 2]
        assert (beyond_others(seconds)[:, rank] == seconds[:, rank] - upper).all()


def test_lost_waiting_is_each_ranks_lead_over_the_last() -> None:
    assert lost_waiting(np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 3.0]])).tolist() == [5.0 / 3.0, 0.0]


@pytest.mark.parametrize("confidence", [0.9, 0.95, 1 - 0.01 / 24, 1 - 0.01 / 60_000])
def test_the_fewest_blocks_are_the_fewest_that_have_an_interval(confidence: float) -> None:
    fewest = fewest_blocks(confidence)
    assert order_ranks(fewest, 0.5, confidence)[0] is not None
    assert order_ranks(fewest - 1, 0.5, confidence)[0] is None


def test_four_ranks_and_six_phases_need_thirteen_steps() -> None:
    """2^-13 <= (0.01 / 24) / 2 < 2^-12."""
    own = {str(phase): steps(4, phase, count=12) for phase in range(6)}
    assert "13 are needed" in search(own, STEP[:12]).insufficient
    own = {str(phase): steps(4, phase, count=13) for phase in range(6)}
    assert search(own, STEP[:13]).insufficient == ""


def test_the_slow_rank_and_its_phase_are_named_with_their_excess() -> None:
    own = {"a": steps(3, 1), "b": steps(3, 2)}
    own["b"][:, 2] += 0.03
    (found,) = search(own, STEP).found
    assert (found.rank, found.phase) == (2, "b")
    assert found.seconds.low <= 0.03 <= found.seconds.high
    assert 0.02 < found.seconds.low < found.seconds.value < found.seconds.high < 0.04


def test_two_slow_ranks_of_five_are_both_named_the_slower_first() -> None:
    own = {"a": steps(5, 1)}
    own["a"][:, 0] += 0.02
    own["a"][:, 3] += 0.05
    assert [one.rank for one in search(own, STEP).found] == [3, 0]


@pytest.mark.parametrize(
    ("late_s", "step_s", "named"),
    [
        (0.0019, 0.01, False),
        (0.0021, 0.01, True),  # 2 ms of a short step
        (0.049, 1.0, False),
        (0.051, 1.0, True),  # 5 % of a long one
    ],
)
def test_an_excess_too_small_to_matter_is_not_named(late_s: float, step_s: float, named: bool) -> None:
    own = {"a": np.full((40, 2), 0.05)}
    own["a"][:, 1] += late_s
    assert bool(search(own, np.full(40, step_s)).found) is named


def test_late_in_every_third_step_is_late() -> None:
    own = {"a": steps(2, 1, count=120, sd=0.001)}
    own["a"][::3, 0] += 0.06
    assert [one.rank for one in search(own, np.full(120, 0.1)).found] == [0]


def test_a_single_hiccup_is_no_slowness_and_hides_none() -> None:
    own = {"a": steps(2, 1)}
    own["a"][7, 0] += 3.0
    assert search(own, STEP).found == ()
    own["a"][:, 1] += 0.05
    assert [one.rank for one in search(own, STEP).found] == [1]


@pytest.mark.slow
def test_names_without_a_cause_are_as_rare_as_promised() -> None:
    """One rank's true excess is the least that matters, where a name comes most easily: at most half of the family's chance for it."""
    family, trials = 0.4, 1500
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(trials):
        own = np.zeros((40, 2))
        own[:, 0] = rng.standard_cauchy(40) + 5.0  # heavy tails: the median is what it is
        hits += bool(search({"a": own}, np.full(40, 100.0), family=family, least_s=0.0).found)
    chance = family / 2 / 2  # two ranks; one side
    assert hits / trials <= chance + 3 * math.sqrt(chance * (1 - chance) / trials)


@pytest.mark.slow
def test_a_drifting_machine_names_no_rank() -> None:
    """Excesses that remember each other (0.8 from step to step), of twice the least one: no rank is slow throughout."""
    rng = np.random.default_rng(6)
    hits = 0
    for _ in range(300):
        noise = rng.normal(0.0, 0.006, (60, 4))
        walk = np.zeros((60, 4))
        for step in range(1, 60):
            walk[step] = 0.8 * walk[step - 1] + noise[step]
        hits += bool(search({"a": 0.05 + walk, "b": steps(4, 1, count=60)}, np.full(60, 0.1)).found)
    assert hits / 300 <= 0.01


def work(
    rng: np.random.Generator, count: int, ranks: int, *, jitter: float = 0.1, spikes: float = 0.02, spike_s: float = 0.04
) -> np.ndarray:
    """20 ms of work in each step: log-normal, now and then delayed by somebody else."""
    late = spike_s * rng.random((count, ranks)) * (rng.random((count, ranks)) < spikes)
    return np.asarray(0.02 * rng.lognormal(0.0, jitter, (count, ranks)) + late)


def judged(own: dict[str, np.ndarray]) -> list[tuple[int, str]]:
    return sorted((one.rank, one.phase) for one in search(own, sum(own.values()).max(axis=1)).found)  # type: ignore[union-attr]


@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("in_turn", [True, False])
def test_alternating_late_ranks_name_no_rank(ranks: int, in_turn: bool) -> None:
    """By 50 ms of a step of 150, in turn or by lot, for 400 steps: compared step by step, each of 4 ranks would be late by
    12.5 ms.
    """
    for seed in range(20):
        rng = np.random.default_rng(seed)
        own = {phase: work(rng, 400, ranks) for phase in "abcde"}
        late = np.arange(400) % ranks if in_turn else rng.integers(ranks, size=400)
        own["b"][np.arange(400), late] += 0.05
        assert judged(own) == []


def test_no_rank_is_named_on_a_noisy_machine() -> None:
    """Times that vary by 40 %, and one in five is held up by as much as the whole step."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        assert judged({phase: work(rng, 200, 4, jitter=0.4, spikes=0.2, spike_s=0.2) for phase in "abcde"}) == []


@pytest.mark.parametrize("ranks", [2, 4])
def test_late_by_150_ms_in_a_tenth_of_a_thousand_steps_is_late(ranks: int) -> None:
    """15 ms a step, where 6 matter: in at least 95 % of 20 seeds, and no other rank."""
    right = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        own = {phase: work(rng, 1000, ranks) for phase in "abcde"}
        own["b"][:, 1] += 0.15 * (rng.random(1000) < 0.1)
        right += judged(own) == [(1, "b")]
    assert right >= 19


def test_several_slow_ranks_are_named_each_with_its_phase_and_a_mild_imbalance_is_not() -> None:
    """50 ms on two ranks of four; the others differ by 1 ms for good."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        own = {phase: work(rng, 60, 4) + np.array([0.0, 0.0005, 0.001, 0.0]) for phase in "abcde"}
        own["b"][:, 0] += 0.05
        own["c"][:, 2] += 0.05
        assert judged(own) == [(0, "b"), (2, "c")]


def test_no_rank_is_named_alone_or_without_data() -> None:
    assert search({"a": steps(1, 1)}, STEP).insufficient
    assert search({}, STEP).insufficient


def test_shapes_that_differ_and_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="40 steps"):
        search({"a": steps(2, 1, count=39)}, STEP)
    bad = steps(2, 1)
    bad[3, 1] = math.nan
    with pytest.raises(ValueError, match="finite"):
        search({"a": bad}, STEP)


@pytest.mark.slow
def test_ten_thousand_ranks_are_searched_at_once() -> None:
    own = {"a": steps(10_000, 1), "b": steps(10_000, 2)}
    own["b"][:, 4321] += 0.05
    assert [(one.rank, one.phase) for one in search(own, STEP).found] == [(4321, "b")]
