"""Do strengths have published values and those of a logistic regression, and are infinite ones refused?"""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize

from fireassay.stats.people.paired_comparison import FIRST, SECOND, TIE, Choices, Strengths, strengths


def choices(rows: list[tuple[int, int, int, int]], sides: int, *, ordered: bool = False) -> Choices:
    """From (first, second, outcome, how often)."""
    flat = [row[:3] for row in rows for _ in range(row[3])]
    first, second, outcome = (np.array(column, dtype=np.intp) for column in zip(*flat, strict=True))
    count = np.arange(len(flat))
    return Choices(first=first, second=second, outcome=outcome, items=count % 40, raters=count % 7, sides=sides, ordered=ordered)


def test_strengths_of_journals_are_the_published_ones() -> None:
    """Turner and Firth, Journal of Statistical Software 48, 2012, section 2: citations of statistics journals (Stigler 1994), Biometrika
    0, Comm Statist -2.9491, JASA -0.4796, JRSS-B 0.2690."""
    cited = np.array([[714, 33, 320, 284], [730, 425, 813, 276], [498, 68, 1072, 325], [221, 17, 142, 188]])  # citing -> cited
    rows = [(a, b, FIRST, int(cited[b, a])) for a in range(4) for b in range(4) if a != b]
    found = strengths(choices(rows, 4))
    assert isinstance(found, Strengths)
    assert found.strengths == pytest.approx([0.0, -2.9491, -0.4796, 0.2690], abs=5e-5)
    assert (found.ties, found.position) == (None, None)


def drawn(rng: np.random.Generator, count: int, position: float, ties: float) -> Choices:
    true = np.array([0.0, 0.5, -0.3, 1.0])
    first = rng.integers(0, 4, count)
    second = (first + rng.integers(1, 4, count)) % 4
    x = true[first] - true[second] + position
    odds = np.exp(np.stack([x / 2, np.full(count, ties), -x / 2], axis=1))
    outcome = (rng.random((count, 1)) > np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    return Choices(
        first=first, second=second, outcome=outcome, items=rng.integers(0, 60, count), raters=rng.integers(0, 15, count), sides=4
    )


def test_without_ties_it_is_a_logistic_regression_with_an_intercept_for_position() -> None:
    data = drawn(np.random.default_rng(1), 900, 0.4, -np.inf)
    design = np.zeros((900, 4))
    design[np.arange(900), data.first] += 1.0
    design[np.arange(900), data.second] -= 1.0
    fit = sm.Logit((data.outcome == FIRST).astype(float), np.column_stack([design[:, 1:], np.ones(900)])).fit(disp=0)
    found = strengths(data)
    assert isinstance(found, Strengths)
    assert [*found.strengths[1:], found.position] == pytest.approx(fit.params, abs=1e-6)


def test_with_ties_it_is_the_maximum_of_davidsons_likelihood() -> None:
    data = drawn(np.random.default_rng(2), 700, 0.0, -0.2)

    def loss(theta: np.ndarray) -> float:
        worth, nu = np.exp(np.concatenate([[0.0], theta[:3]])), np.exp(theta[3])
        a, b = worth[data.first], worth[data.second]
        tied = nu * np.sqrt(a * b)
        return -float(np.log(np.choose(data.outcome, [a, tied, b]) / (a + b + tied)).sum())

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-6}).x
    found = strengths(Choices(**{**vars(data), "ordered": False}))
    assert isinstance(found, Strengths)
    assert [*found.strengths[1:], found.ties] == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize(
    ("rows", "sides", "group"),
    [
        ([(0, 1, FIRST, 5), (0, 2, FIRST, 5), (1, 2, TIE, 3)], 3, (0,)),  # a side that always wins
        ([(0, 1, FIRST, 5), (1, 0, FIRST, 5), (2, 3, FIRST, 2), (3, 2, FIRST, 2)], 4, (0, 1)),  # that never met
        ([(0, 1, SECOND, 4)], 2, (0,)),
    ],
)
def test_infinite_strengths_are_named(rows: list[tuple[int, int, int, int]], sides: int, group: tuple[int, ...]) -> None:
    assert strengths(choices(rows, sides)) == group


def test_a_single_tie_makes_strengths_finite() -> None:
    found = strengths(choices([(0, 1, FIRST, 9), (0, 1, TIE, 1)], 2))
    assert isinstance(found, Strengths)
    assert np.isfinite(found.strengths).all()


@pytest.mark.slow
def test_intervals_hold_the_strengths_where_raters_and_items_differ() -> None:
    rng, covered, runs = np.random.default_rng(4), 0, 200
    for _ in range(runs):
        found = strengths(drawn(rng, 900, 0.3, -0.5))
        assert isinstance(found, Strengths)
        interval = found.of_side(1, 0.95)
        covered += interval.low <= 0.5 <= interval.high
    assert covered / runs > 0.91
