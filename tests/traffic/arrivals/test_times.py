"""Do arrivals have the distribution that their name promises?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fireassay.errors import SpecError
from fireassay.spec.sections.serving import Arrivals
from fireassay.traffic.arrivals.draws import Ints, due, profile

pytestmark = pytest.mark.slow


S = 1_000_000_000


def asked(process: str, duration_s: float, warm_up_s: float = 0.0, **keys: object) -> Arrivals:
    return Arrivals.model_validate({"process": process, "duration_s": duration_s, "warm_up_s": warm_up_s, **keys})


def dispersion(due_ns: Ints, window_s: float, duration_s: float) -> float:
    """Variance over mean of the counts in windows."""
    counts = np.histogram(due_ns, bins=np.arange(0.0, duration_s + window_s / 2, window_s) * S)[0]
    return float(counts.var(ddof=1) / counts.mean())


@pytest.mark.parametrize("process", ["poisson", "server"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 2**31 - 1])
def test_poisson_arrivals_scatter_as_much_as_their_mean(process: str, seed: int) -> None:
    due_ns = due(asked(process, 20_000.0), 20.0, seed)
    # Of 4000 windows the dispersion has a standard error of sqrt(2 / 4000) = 0.022.
    for window_s in (0.25, 1.0, 5.0):
        assert 0.9 < dispersion(due_ns, window_s, 20_000.0) < 1.1


@pytest.mark.parametrize("seed", range(5))
def test_gaps_of_poisson_arrivals_are_exponential(seed: int) -> None:
    gaps = np.diff(due(asked("poisson", 5000.0), 20.0, seed)) / S
    assert stats.kstest(gaps, "expon", args=(0, 1 / 20.0)).pvalue > 0.01
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 0.02  # guidellm repeats gaps ten times


@pytest.mark.parametrize("window_s", [0.25, 1.0, 5.0])
def test_constant_arrivals_do_not_scatter(window_s: float) -> None:
    assert dispersion(due(asked("constant", 2000.0), 20.0, 1), window_s, 2000.0) < 0.01


def test_constant_arrivals_are_equally_far_apart_and_begin_at_once() -> None:
    assert due(asked("constant", 1.0), 4.0, 1).tolist() == [0, S // 4, S // 2, 3 * S // 4]
    assert due(asked("constant", 1.0), 3.0, 1).tolist() == [0, 333333333, 666666667]
    assert due(asked("constant", 1.0, 0.5), 2.0, 9).tolist() == [0, S // 2, S]


@pytest.mark.parametrize("cv", [0.5, 1.0, 2.0])
def test_gaps_of_gamma_arrivals_vary_as_asked(cv: float) -> None:
    gaps = np.diff(due(asked("gamma", 20_000.0, cv=cv), 20.0, 3)).astype(float)
    assert abs(gaps.std() / gaps.mean() / cv - 1.0) < 0.02
    assert abs(gaps.mean() / (S / 20.0) - 1.0) < 0.01


def test_gamma_arrivals_with_a_variation_of_one_are_poisson() -> None:
    gaps = np.diff(due(asked("gamma", 5000.0, cv=1.0), 20.0, 1)) / S
    assert stats.kstest(gaps, "expon", args=(0, 1 / 20.0)).pvalue > 0.01


STAGES = [{"duration_s": 10, "rate": 0, "rate_to": 200}, {"duration_s": 20, "rate": 200}, {"duration_s": 10, "rate": 200, "rate_to": 40}]


def test_stages_have_the_requests_that_their_rates_add_up_to() -> None:
    # Triangle 10 * 200 / 2 = 1000, rectangle 20 * 200 = 4000, trapezium 10 * (200 + 40) / 2 = 1200.
    counts = np.zeros(3)
    for seed in range(25):
        counts += np.histogram(due(asked("stages", 40.0, stages=STAGES), None, seed), bins=[0, 10 * S, 30 * S, 40 * S])[0]
    for found, expected in zip(counts, (25_000, 100_000, 30_000), strict=True):
        assert abs(found - expected) < 4 * expected**0.5


def test_within_a_ramp_arrivals_grow_with_the_square_of_the_time() -> None:
    ramp = asked("stages", 10.0, stages=[{"duration_s": 10, "rate": 0, "rate_to": 2000}])
    times = due(ramp, None, 1) / (10.0 * S)
    assert stats.kstest(times, lambda share: share**2).pvalue > 0.01


def test_a_falling_ramp_is_the_mirror_of_a_rising_one() -> None:
    ramp = asked("stages", 10.0, stages=[{"duration_s": 10, "rate": 2000, "rate_to": 0}])
    times = due(ramp, None, 1) / (10.0 * S)
    assert stats.kstest(times, lambda share: 1 - (1 - share) ** 2).pvalue > 0.01


def test_stages_are_multiples_of_the_load_where_there_is_one() -> None:
    pieces = profile(asked("stages", 40.0, 5.0, stages=STAGES), 0.5)
    assert [(piece.duration_s, piece.rate, piece.rate_to) for piece in pieces] == [
        (5.0, 0.0, 0.0),
        (10.0, 0.0, 100.0),
        (20.0, 100.0, 100.0),
        (10.0, 100.0, 20.0),
    ]


def test_the_warm_up_of_stages_has_the_rate_with_which_they_begin() -> None:
    stages = [{"duration_s": 10, "rate": 100, "rate_to": 0}]
    assert profile(asked("stages", 10.0, 5.0, stages=stages), None)[0].requests == 500.0


def test_a_pause_between_stages_has_no_requests() -> None:
    stages = [{"duration_s": 1, "rate": 100}, {"duration_s": 5, "rate": 0}, {"duration_s": 1, "rate": 100}]
    times = due(asked("stages", 7.0, stages=stages), None, 4)
    assert not ((times >= S) & (times < 6 * S)).any()
    assert (times < S).sum() > 50
    assert (times >= 6 * S).sum() > 50


def test_twice_the_rate_is_the_same_arrivals_twice_as_fast() -> None:
    slow, fast = due(asked("poisson", 100.0), 5.0, 1), due(asked("poisson", 100.0), 10.0, 1)
    assert np.abs(fast[: len(slow)] * 2 - slow).max() <= 1


def test_a_longer_load_begins_like_a_shorter_one() -> None:
    short, long = due(asked("gamma", 10.0, cv=2), 50.0, 1), due(asked("gamma", 1000.0, cv=2), 50.0, 1)
    assert long[: len(short)].tolist() == short.tolist()
    assert long[len(short)] >= 10 * S


def test_a_number_of_requests_ends_the_load_sooner() -> None:
    every = due(asked("poisson", 100.0), 10.0, 1)
    assert due(asked("poisson", 100.0, requests=7), 10.0, 1).tolist() == every[:7].tolist()
    assert due(asked("poisson", 1.0, requests=10**6), 10.0, 1).tolist() == every[every < S].tolist()


def test_more_than_can_be_planned_is_refused_before_it_takes_all_memory() -> None:
    with pytest.raises(SpecError, match=r"serving.rate: found 1e\+10 requests in a launch; allowed: at most 5000000"):
        due(asked("poisson", 1e3), 1e7, 1)


@given(
    st.sampled_from(["constant", "poisson", "gamma", "stages"]),
    st.integers(0, 2**31),
    st.floats(0.01, 500.0),
    st.floats(0.1, 20.0),
    st.floats(0.0, 5.0),
    st.floats(0.05, 5.0),
)
def test_arrivals_are_in_order_and_within_the_load(
    process: str, seed: int, rate: float, duration_s: float, warm_up_s: float, cv: float
) -> None:
    stages = [{"duration_s": duration_s / 2, "rate": 1.0, "rate_to": cv}, {"duration_s": duration_s / 2, "rate": 0.5}]
    times = due(asked(process, duration_s, warm_up_s, cv=cv, stages=stages), rate, seed)
    assert (np.diff(times) >= 0).all()
    assert ((times >= 0) & (times < (warm_up_s + duration_s) * S)).all()
