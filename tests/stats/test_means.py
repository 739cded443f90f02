"""Is every kind of quantity averaged as its meaning demands, and the wrong mean refused?"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay import catalog
from assay.metrics.estimate import Absent
from assay.metrics.measured import from_record
from assay.record.reader import open_record
from assay.stats.intervals import mean_t
from assay.stats.means import MEANS, Kind, NoMean, mean, quotient
from assay.verdict.judge import compute

SECONDS, WORK = [10.0, 100.0, 40.0], [100.0, 100.0, 100.0]  # three runs of 100 Gflop (Hoefler & Belli, SC'15; T12)
RATES = [10.0, 1.0, 2.5]


def test_the_mean_rate_of_three_runs_is_two_and_neither_four_and_a_half_nor_2_92() -> None:
    """300 Gflop in 150 s.  Arithmetic mean of the rates 13.5/3 = 4.5; geometric mean 25^(1/3) = 2.92: nobody computed so fast."""
    assert mean("rate", numerators=WORK, denominators=SECONDS) == pytest.approx(2.0)
    assert mean("rate", RATES, numerators=WORK) == pytest.approx(2.0) == stats.hmean(RATES)
    with pytest.raises(NoMean, match="needs its numerators"):
        mean("rate", RATES)  # 4.5 is not to be had
    assert stats.gmean(RATES) == pytest.approx(2.92, abs=0.005)  # nor this: no argument of `mean` leads to it


def test_the_rate_of_unequal_work_is_weighted_by_it() -> None:
    """Half an hour at 100/s and half an hour at 50/s are 75/s; 1 Gflop at 1/s and 9 at 9/s take 2 s for 10: 5/s."""
    assert mean("rate", numerators=[180_000, 90_000], denominators=[1800, 1800]) == 75
    assert mean("rate", [1, 9], numerators=[1, 9]) == pytest.approx(5)


def test_costs_and_counts_add_up() -> None:
    assert mean("cost", SECONDS) == pytest.approx(50)
    assert mean("count", [0, 1, 5]) == 2


def test_ratios_are_refused_without_their_parts() -> None:
    """Speedups 2 (100 s -> 50 s) and 4 (10 s -> 2.5 s): together 110 s -> 52.5 s, not 3 and not 2.83."""
    with pytest.raises(NoMean, match="numerators and denominators"):
        mean("ratio", [2, 4])
    with pytest.raises(NoMean, match="numerators and denominators"):
        mean("ratio", [2, 4], numerators=[100, 10])
    assert mean("ratio", numerators=[100, 10], denominators=[50, 2.5]) == pytest.approx(110 / 52.5)


def test_levels_have_no_mean() -> None:
    with pytest.raises(NoMean, match="pool what lies behind it"):
        mean("level", [0.9, 0.8])


@pytest.mark.parametrize("kind", ["cost", "count", "rate", "ratio"])
def test_nothing_and_what_is_no_number_have_no_mean(kind: Kind) -> None:
    with pytest.raises(NoMean):
        mean(kind, [])
    with pytest.raises(NoMean):
        mean(kind, [1.0, float("nan")], numerators=[1.0, float("nan")], denominators=[1.0, 1.0])


def test_mismatched_or_empty_denominators_are_refused() -> None:
    with pytest.raises(NoMean, match="2 and 1"):
        mean("rate", numerators=[1, 2], denominators=[1])
    with pytest.raises(NoMean, match="more than 0"):
        mean("rate", numerators=[1, 2], denominators=[0, 0])


@given(st.lists(st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)), min_size=1, max_size=20))
def test_a_mean_rate_times_the_whole_time_is_the_whole_work(runs: list[tuple[float, float]]) -> None:
    work, seconds = [w for w, _ in runs], [s for _, s in runs]
    assert mean("rate", numerators=work, denominators=seconds) * sum(seconds) == pytest.approx(sum(work))


@pytest.mark.parametrize("name", catalog.names("metrics"))
def test_every_metric_says_its_kind_and_is_averaged_or_refused_accordingly(name: str) -> None:
    """3 and 6 over 1 and 2, as values or as parts."""
    kind = catalog.load("metrics", name).kind
    assert kind in MEANS
    if kind in ("cost", "count"):
        assert mean(kind, [3.0, 6.0]) == 4.5
        return
    with pytest.raises(NoMean):
        mean(kind, [3.0, 6.0])
    if kind != "level":
        assert mean(kind, numerators=[3.0, 6.0], denominators=[1.0, 2.0]) == 3.0


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


def test_the_metrics_of_a_record_are_centred_over_launches_as_their_kind_demands(repository: Path) -> None:
    """Rates: geometric, so that items per dollar and dollars per item agree; costs and counts: between the harmonic and the
    arithmetic mean of the launches; ratios: between the extremes.  So never the best of several."""
    results = compute(from_record(open_record(repository / "tests" / "records" / "good")), catalog.load_all("metrics"))
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
