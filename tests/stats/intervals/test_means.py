"""Is the quotient of sums right, and does every metric say which mean has a meaning for it?"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fireassay import catalog
from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import from_record
from fireassay.metrics.results import LazyResults
from fireassay.record.reader import open_record
from fireassay.stats.intervals.intervals import mean_t
from fireassay.stats.intervals.means import MEANS, NoMean, quotient


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")]])
def test_nothing_and_what_is_no_number_have_no_quotient(bad: list[float]) -> None:
    with pytest.raises(NoMean):
        quotient(bad, [1.0, 1.0], 0.95)
    with pytest.raises(NoMean):
        quotient([1.0, 1.0], bad, 0.95)


def test_mismatched_or_empty_denominators_are_refused() -> None:
    with pytest.raises(NoMean, match="2 and 1"):
        quotient([1, 2], [1], 0.95)
    with pytest.raises(NoMean, match="more than 0"):
        quotient([1, 2], [0, 0], 0.95)


@given(st.lists(st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)), min_size=1, max_size=20))
def test_a_mean_rate_times_the_whole_time_is_the_whole_work(runs: list[tuple[float, float]]) -> None:
    work, seconds = [w for w, _ in runs], [s for _, s in runs]
    assert quotient(work, seconds, 0.95).value * sum(seconds) == pytest.approx(sum(work))


@pytest.mark.parametrize("name", catalog.names("metrics"))
def test_every_metric_says_its_kind(name: str) -> None:
    assert catalog.load("metrics", name).kind in MEANS


def test_the_share_of_a_whole_is_the_quotient_of_sums_with_the_interval_worked_out_by_hand() -> None:
    """Productive 9, 40, 51 of 10, 50, 60 s: 100/120.  Residuals 0.6667, -1.6667, 1 over mean 40: sd 1.45297/40 = .036324,
    times t[.975, 2] = 4.302653 over sqrt(3): .090235."""
    got = quotient([9, 40, 51], [10, 50, 60], 0.95)
    assert got.value == pytest.approx(100 / 120)
    assert (got.value - got.low, got.high - got.value) == pytest.approx((0.090235, 0.090235), abs=1e-5)


def test_shares_of_equal_wholes_have_students_interval() -> None:
    shares = [0.9, 0.8, 0.85, 0.7]
    got, plain = quotient([10 * s for s in shares], [10] * 4, 0.95), mean_t(shares, 0.95)
    assert (got.value, got.low, got.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_one_share_bounds_nothing() -> None:
    got = quotient([9], [10], 0.95)
    assert (got.value, got.low, got.high) == (0.9, -math.inf, math.inf)


@pytest.mark.slow
def test_the_metrics_of_a_record_are_centred_over_launches_as_their_kind_demands(repository: Path) -> None:
    """Rates: geometric, so that items per dollar and dollars per item agree; costs and counts: between the harmonic and the
    arithmetic mean of the launches; ratios: between the extremes.  So never the best of several."""
    results = LazyResults(from_record(open_record(repository / "tests" / "records" / "good")), catalog.load_all("metrics"))
    seen = set()
    for name, values in results.items():
        kind = catalog.load("metrics", name).kind
        for value in values.values():
            launches = [] if isinstance(value, Absent) else list(value.launch_values)
            if isinstance(value, Absent) or len(launches) < 2 or min(launches) <= 0.0 or kind == "level":
                continue
            seen.add(kind)
            ratio = kind == "ratio"
            least, most = (min(launches), max(launches)) if ratio else (stats.hmean(launches), np.mean(launches))
            assert least * (1 - 1e-9) <= value.value <= most * (1 + 1e-9), name
            if kind == "rate":
                assert value.value == pytest.approx(stats.gmean(launches)), name
    assert {"cost", "rate", "ratio"} <= seen
