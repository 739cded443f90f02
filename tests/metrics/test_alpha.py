"""Is the latency of a simulated link found within a tenth, and within its interval?"""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent
from assay.metrics import alpha, beta
from tests.collectives_made import Made, known, one

ALPHA, BETA = 30e-6, 0.8e-9


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("op", "n"), [("all_reduce", 2), ("all_reduce", 8), ("all_gather", 4), ("broadcast", 4), ("send_recv", 3)])
def test_alpha_and_beta_are_found_within_a_tenth(op: str, n: int, seed: int) -> None:
    measured = Made(ops=(op,), levels=(n,), alpha=ALPHA, beta=BETA, noise=0.03, luck=0.03, seed=seed).measured()
    group = one(measured).group
    assert known(alpha.METRIC.compute(measured, {})[group]).value == pytest.approx(ALPHA, rel=0.1)
    assert known(beta.METRIC.compute(measured, {})[group]).value == pytest.approx(BETA, rel=0.1)


def test_intervals_of_alpha_and_beta_hold_the_truth() -> None:
    """95 % intervals over 40 records; with 95 % at least 34 of 40 hold it but for 1 in 3,000 (binomial)."""
    held = {"alpha": 0, "beta": 0}
    for seed in range(40):
        measured = Made(alpha=ALPHA, beta=BETA, noise=0.02, luck=0.05, seed=100 + seed, sizes=("1K:1M",)).measured()
        group = one(measured).group
        for name, metric, truth in (("alpha", alpha, ALPHA), ("beta", beta, BETA)):
            value = known(metric.METRIC.compute(measured, {})[group])
            held[name] += value.low <= truth <= value.high
    assert min(held.values()) >= 34


def test_too_few_sizes_give_no_link() -> None:
    for sizes in (("1K", "1M", "16M"), ("1M", "2M", "3M", "4M")):  # three; and four within a factor of four
        measured = Made(sizes=sizes).measured()
        found = alpha.METRIC.compute(measured, {})[one(measured).group]
        assert isinstance(found, Absent)
        assert found.reason == "insufficient"


def test_a_part_that_hardly_shows_is_absent_instead_of_any_number() -> None:
    """At 1 ns a byte and 1 s of latency 16 MiB take 1.7 % longer than nothing; with 1 ns of latency 1 KiB is all of it growth."""
    slow, quick = Made(alpha=1.0, beta=1e-9).measured(), Made(alpha=1e-9, beta=1e-9).measured()
    found = beta.METRIC.compute(slow, {})[one(slow).group]
    assert isinstance(found, Absent)
    assert "does not grow with the size up to 16777216 bytes" in found.detail
    assert known(alpha.METRIC.compute(slow, {})[one(slow).group]).value == pytest.approx(1.0, rel=0.1)
    found = alpha.METRIC.compute(quick, {})[one(quick).group]
    assert isinstance(found, Absent)
    assert "even 1024 bytes" in found.detail
    assert known(beta.METRIC.compute(quick, {})[one(quick).group]).value == pytest.approx(1e-9, rel=0.1)
