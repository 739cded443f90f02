"""Is the offset of two clocks inside its bound, drift or not, and are intervals refused that it cannot carry?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fireassay.stats.groups.clocks import Offset, Ping, linear_drift, offset, too_short

DELAY = st.floats(0.0, 5.0)


def pings(delays: list[tuple[float, float]], drift: float, start: float = 50.0, every: float = 10.0) -> list[Ping]:
    """A ping every 10 s that takes the delays there and back; the other clock is start + drift t ahead, and answers at once."""
    made = []
    for place, (there, back) in enumerate(delays):
        t0 = every * place
        arrival = t0 + there
        other = arrival + start + drift * arrival
        made.append(Ping(t0=t0, t1=other, t2=other, t3=arrival + back))
    return made


def test_four_timestamps_give_the_offset_and_its_bound() -> None:
    got = offset(Ping(t0=100.0, t1=150.3, t2=150.8, t3=101.1))
    assert (got.offset, got.bound) == pytest.approx((50.0, 0.3))


def test_whole_nanoseconds_keep_their_digits() -> None:
    """Wall clocks of 1.8e18 ns: a float would round to 256 ns."""
    sent = 1_800_000_000_000_000_001
    assert offset(Ping(t0=sent, t1=sent + 103, t2=sent + 105, t3=sent + 8)) == Offset(offset=100.0, bound=3.0)


AT_ONCE = [  # the first ping takes no time: above and below meet there but for the rounding of numbers around 50
    (6e-294, 1.8e-251),
    (2.24, 1.0),
    (2.87, 2.87),
    (4.69, 6e-294),
    (2.55, 1.5),
    (3.82, 5.0),
    (2.00001, 1.5e-186),
    (3.39, 1.81),
    (0.41, 1.16),
    (1.6, 0.05),
    (3.17, 3.51),
    (3.56, 4e-136),
    (5.0, 0.89),
    (1.84, 3.51),
    (1.78, 1e-209),
    (6e-201, 1.2e-38),
    (0.44, 1.0),
    (1.91, 3.55),
    (0.11, 3.4),
    (4.91, 3.89),
    (0.13, 2.51),
    (1.01, 1.1),
    (4.29, 0.53),
]


@pytest.mark.slow
@settings(max_examples=50)
@example(AT_ONCE, -0.0020394246283653994, 1.0)
@example([(0.0, 5e-324), *[(0.0, 0.0)] * 19], 1e-3, 0.5)
@given(st.lists(st.tuples(DELAY, DELAY), min_size=20, max_size=25), st.floats(-3e-3, 3e-3), st.floats(0.0, 1.0))
def test_with_drift_the_truth_is_inside_the_bound_at_every_moment(delays: list[tuple[float, float]], drift: float, place: float) -> None:
    got = linear_drift(pings(delays, drift))
    moment = min(got.begin + place * (got.end - got.begin), got.end)
    assert abs(got.at(moment).offset - (50.0 + drift * moment)) <= got.at(moment).bound + 1e-9
    assert abs(got.slope - drift) <= got.slope_bound + 1e-9


def test_the_offset_is_known_only_between_the_pings() -> None:
    got = linear_drift(pings([(0.1, 0.1)] * 20, drift=0.0))
    assert (got.begin, got.end) == pytest.approx((0.2, 190.0))
    with pytest.raises(ValueError, match="known from"):
        got.at(191.0)


def test_a_clock_that_was_set_is_no_linear_drift() -> None:
    before, after = pings([(0.1, 0.1)] * 20, drift=0.0), pings([(0.1, 0.1)] * 40, drift=0.0, start=60.0)[20:]
    with pytest.raises(ValueError, match="no straight line"):
        linear_drift(before + after)


@pytest.mark.parametrize(("interval", "refused"), [(3.0, False), (-3.0, False), (2.99, True), (0.0, True)])
def test_an_interval_shorter_than_ten_bounds_is_refused(interval: float, refused: bool) -> None:
    assert bool(too_short(interval, 0.3)) == refused
    assert too_short(0.0, 0.0) == ""
    if refused:
        assert "shorter than 10 times the bound" in too_short(interval, 0.3)
    with pytest.raises(ValueError, match="bound"):
        too_short(interval, -0.1)


def test_drift_is_found_under_queues_that_delay_most_pings() -> None:
    """10 us/s over 600 s, least delay 50 us each way, most pings delayed by milliseconds (the order of Huygens' figures)."""
    rng = np.random.default_rng(4)
    delays = [(5e-5 + float(a), 5e-5 + float(b)) for a, b in rng.exponential(2e-3, (600, 2))]
    got = linear_drift(pings(delays, drift=1e-5, every=1.0))
    assert got.slope == pytest.approx(1e-5, abs=1e-6)
    assert abs(got.at(300.0).offset - 50.003) <= got.at(300.0).bound < 2e-4


def test_an_impossible_ping_is_refused() -> None:
    with pytest.raises(ValueError, match="jumped"):
        offset(Ping(t0=0.0, t1=5.0, t2=7.0, t3=1.0))
    with pytest.raises(ValueError, match="at least 20 pings"):
        linear_drift(pings([(0.1, 0.1)] * 19, drift=0.0))
    with pytest.raises(ValueError, match="cannot show a drift"):
        linear_drift(pings([(0.1, 0.1)] * 20, drift=0.0, every=0.0))
