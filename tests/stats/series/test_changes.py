"""Does the detector over history find published changes, keep what it found as values are added, and keep its rates?"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fireassay.stats.series.changes import Change, Changes, across_series, chance_ever, chance_once, changes_in_history
from tests.stats.series.test_steady_state import NILE

pytestmark = pytest.mark.slow


Array = NDArray[np.float64]

# A published performance history: mongodb/signal-processing-algorithms, tests/data/robust_series.json (Apache-2.0), rounded.
# The level rises at 25, sinks over 64 ... 70 and rises at 114.
MONGODB = np.array(
    [
        "28681",
        "29161",
        "28751",
        "29029",
        "28498",
        "29200",
        "29263",
        "28982",
        "29048",
        "28803",
        "28784",
        "28393",
        "28299",
        "28840",
        "29120",
        "28439",
        "28891",
        "29495",
        "28790",
        "28913",
        "29022",
        "28622",
        "28644",
        "29071",
        "28425",
        "30794",
        "30688",
        "31276",
        "30481",
        "31418",
        "30504",
        "31209",
        "31215",
        "30480",
        "31383",
        "31013",
        "31109",
        "30929",
        "30276",
        "30705",
        "30319",
        "31329",
        "30529",
        "31226",
        "31272",
        "30937",
        "30360",
        "30847",
        "30936",
        "30463",
        "31029",
        "30936",
        "30841",
        "30554",
        "30008",
        "30803",
        "30820",
        "30067",
        "30695",
        "30338",
        "30891",
        "31017",
        "30543",
        "30455",
        "29978",
        "29776",
        "29826",
        "30127",
        "29652",
        "29279",
        "28784",
        "28291",
        "28758",
        "28778",
        "28253",
        "28113",
        "28779",
        "29810",
        "29480",
        "29226",
        "29239",
        "28935",
        "28530",
        "29108",
        "28153",
        "29050",
        "29226",
        "28943",
        "28804",
        "29038",
        "29040",
        "29446",
        "28497",
        "29039",
        "28429",
        "28340",
        "28766",
        "28597",
        "29118",
        "28133",
        "28029",
        "28354",
        "28795",
        "29469",
        "29663",
        "28225",
        "29536",
        "29102",
        "28562",
        "28710",
        "28246",
        "28859",
        "28582",
        "28433",
        "30554",
        "31047",
        "31394",
        "31423",
        "30932",
        "31004",
        "31061",
        "31549",
        "30795",
        "31391",
        "31972",
        "31366",
        "31806",
        "31379",
        "31629",
        "31052",
        "31487",
        "31510",
        "31818",
        "32072",
        "30674",
        "31094",
        "31295",
        "30789",
        "30641",
        "31254",
        "31182",
        "30762",
        "31511",
        "31193",
        "31382",
        "31918",
        "31252",
        "31478",
        "31383",
        "31138",
        "31396",
        "30427",
        "30250",
        "31046",
        "30794",
        "31183",
        "31162",
        "31253",
        "31052",
        "32146",
        "31198",
        "31186",
        "31264",
        "31333",
        "31133",
        "31207",
        "31418",
        "31627",
        "31450",
        "30875",
        "31684",
        "31370",
        "31901",
    ],
    dtype=np.float64,
)
# The first 40 values of the history that apache/otava tests itself with (tests/tigerbeetle_test.py, Apache-2.0): a step at 15,
# and a single value far off at 10.
TIGERBEETLE = np.array(
    [
        "26705",
        "26475",
        "26641",
        "26806",
        "26835",
        "26911",
        "26564",
        "26812",
        "26874",
        "26682",
        "15672",
        "26745",
        "26460",
        "26977",
        "26851",
        "23412",
        "23547",
        "23674",
        "23519",
        "23670",
        "23662",
        "23462",
        "23750",
        "23717",
        "23524",
        "23588",
        "23687",
        "23793",
        "23937",
        "23715",
        "23570",
        "23730",
        "23690",
        "23699",
        "23670",
        "23860",
        "23988",
        "23652",
        "23681",
        "23798",
    ],
    dtype=np.float64,
)


def places(found: Changes) -> list[int]:
    return [change.index for change in found.certain]


def autocorrelated(rng: np.random.Generator, n: int, phi: float = 0.5) -> Array:
    values = [0.0]
    for e in rng.normal(size=n + 49):
        values.append(phi * values[-1] + e)
    return np.array(values[50:])


def kept(values: Array, lengths: list[int]) -> list[Changes]:
    """What is certain with fewer values is certain with more, inside its span, and no less clear."""
    looks = [changes_in_history(values[:m]) for m in lengths]
    for before, after in itertools.pairwise(looks):
        assert len(after.certain) >= len(before.certain)
        for old, new in zip(before.certain, after.certain, strict=False):
            assert new.known == old.known
            assert old.earliest <= new.index <= old.latest
            assert new.p_value is not None
            assert old.p_value is not None
            assert new.p_value <= old.p_value
        if before.p_value is not None:
            assert after.p_value is not None
            assert after.p_value <= before.p_value
    return looks


def test_the_nile_fell_in_1899_and_changed_nowhere_else() -> None:
    found = changes_in_history(np.log(NILE))  # Cobb 1978: index 28 from 1871
    assert places(found) == [28]
    assert found.certain[0].before == pytest.approx(np.log(NILE[:28]).mean())
    assert found.certain[0].after == pytest.approx(np.log(NILE[28:]).mean(), abs=0.005)  # 1913 is an outlier


def test_a_published_history_keeps_its_three_changes_however_many_values_there_are() -> None:
    # the old switch at a left-over of 0.2 gave all three or none, as values were added
    found = places(changes_in_history(np.log(MONGODB)))
    assert len(found) == 3
    assert [abs(a - b) <= 4 for a, b in zip(found, (25, 67, 114), strict=True)] == [True] * 3
    looks = kept(np.log(MONGODB), list(range(17, 174, 12)))
    late = [look for look in looks if look.n >= 125]
    assert [len(look.certain) for look in late] == [3] * 5


def test_an_outlier_is_separated_and_attracts_no_change() -> None:
    found = changes_in_history(np.log(TIGERBEETLE))
    assert (places(found), found.outliers) == ([15], (10,))
    assert math.exp(found.certain[0].before) == pytest.approx(np.delete(TIGERBEETLE[:15], 10).mean(), rel=1e-3)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(12, 60),
    steps=st.integers(0, 3),
    wild=st.integers(0, 3),
    phi=st.sampled_from([0.0, 0.5, 0.9]),
    whole=st.booleans(),
)
def test_a_certain_change_stays_as_values_are_added(seed: int, n: int, steps: int, wild: int, phi: float, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    values = autocorrelated(rng, n, phi)
    for at in rng.integers(0, n, steps):
        values[at:] += rng.normal(0.0, 6.0)
    values[rng.integers(0, n, wild)] += rng.normal(0.0, 30.0)
    kept(np.round(values) if whole else values, list(range(9, n + 1, 3)))


def test_no_change_is_ever_found_in_independent_values_more_often_than_promised() -> None:
    # 1 % over 500 values, so less over 60, looked at after each; 150 histories, and 2 are seen in 0.2 % of such tests at 0.5 %
    rng = np.random.default_rng(11)
    found = [changes_in_history(rng.normal(size=60)) for _ in range(150)]
    assert sum(bool(one.certain) for one in found) <= 3
    assert sum(any(c.kind == "suspected" and c.p_value is not None for c in one.changes) for one in found) <= 6


@pytest.mark.parametrize(("n", "histories"), [(50, 150), pytest.param(200, 400, marks=pytest.mark.deep)])
def test_a_history_with_a_long_memory_seldom_holds_a_certain_change(n: int, histories: int) -> None:
    """AR(0.8), without a change: 8 of 100 held a certain one before memory weakened a step, of 200 values 11."""
    rng = np.random.default_rng([39, n])
    certain = sum(bool(changes_in_history(autocorrelated(rng, n, 0.8)).certain) for _ in range(histories))
    assert certain / histories < 0.02 + 2.0 * math.sqrt(0.02 * 0.98 / histories)


def test_autocorrelated_values_give_at_most_three_percent() -> None:
    # 3 % + 3 standard errors of 120 histories = 7.7 %
    rng = np.random.default_rng(12)
    assert sum(bool(changes_in_history(autocorrelated(rng, 60)).certain) for _ in range(120)) <= 9


def test_noise_that_grows_is_no_change_of_level() -> None:
    # the spread doubles halfway; with one spread for both sides a fifth of such histories held a change
    rng = np.random.default_rng(15)
    louder = np.where(np.arange(120) < 60, 0.6, 1.3)
    assert sum(bool(changes_in_history(louder * rng.normal(size=120)).certain) for _ in range(60)) <= 6


@pytest.mark.parametrize(("shown", "least"), [(3, 0.80), (5, 0.95)])
def test_a_step_of_three_sigma_is_found_after_a_few_values(shown: int, least: float) -> None:
    # certain or suspected, at a single look
    rng = np.random.default_rng([13, shown])
    step = np.where(np.arange(60) >= 60 - shown, 3.0, 0.0)
    told = [bool(changes_in_history(rng.normal(size=60) + step).changes) for _ in range(60)]
    assert sum(told) / 60 >= least - 3 * math.sqrt(least * (1 - least) / 60)


def test_a_step_of_three_sigma_is_certain_with_eight_values() -> None:
    rng = np.random.default_rng(14)
    step = np.where(np.arange(60) >= 52, 3.0, 0.0)
    assert sum(bool(changes_in_history(rng.normal(size=60) + step).certain) for _ in range(40)) >= 36


def test_several_changes_are_found_where_they_are_with_their_levels() -> None:
    rng = np.random.default_rng(3)
    data = np.r_[rng.normal(10, 0.5, 40), rng.normal(14, 0.5, 30), rng.normal(12, 0.5, 40)]
    found = changes_in_history(data).certain
    assert [change.index for change in found] == [40, 70]
    assert (found[0].before, found[0].after, found[1].after) == pytest.approx((10, 14, 12), abs=0.3)


def test_a_regression_that_was_undone_is_two_changes() -> None:
    t = np.arange(100)
    data = np.random.default_rng(6).normal(size=100) + 3.0 * ((t >= 33) & (t < 66))
    found = places(changes_in_history(data))
    assert [abs(index - at) <= 2 for index, at in zip(found, (33, 66), strict=True)] == [True, True]


def test_a_passing_regression_is_found_between_equal_values_and_their_outliers() -> None:
    # mongodb/signal-processing-algorithms, tests/test_detection.py: regression and recovery
    data = np.full(45, 50.0)
    data[[2, 32]] = 100.0
    data[15:30] = 100.0
    assert places(changes_in_history(data)) == [15, 30]


@pytest.mark.parametrize("last", [1, 2])
def test_a_step_of_the_last_one_or_two_values_is_suspected_and_no_finding(last: int) -> None:
    data = np.r_[10 + 0.1 * np.sin(np.arange(40.0)), np.full(last, 11.0)]
    found = changes_in_history(data)
    assert [(change.kind, change.index, change.p_value) for change in found.changes] == [("suspected", 40, None)]
    assert found.outliers == ()


def test_a_suspected_change_becomes_certain() -> None:
    wave = np.array([0.0, 1.0, -0.5, 0.5, -1.0, 0.25, -0.25, 0.75, -0.75, 0.1])
    data = np.r_[np.tile(wave, 3), 1.7 + wave]
    kinds = [[c.kind for c in changes_in_history(data[:n]).changes] for n in (30, 33, 40)]
    assert kinds == [[], ["suspected"], ["change"]]


def test_two_outliers_at_the_beginning_are_no_change_and_hide_none() -> None:
    wave = 0.1 * np.sin(np.arange(40.0))
    data = np.r_[13.0, 13.0, 10 + wave, 11 + wave]
    assert places(changes_in_history(data[:42])) == []
    assert places(changes_in_history(data)) == [42]


def test_a_history_that_is_too_short_or_flat_holds_nothing() -> None:
    assert changes_in_history([1.0] * 9) == Changes(n=9)
    assert changes_in_history([1.0] * 30).changes == ()
    assert changes_in_history([1.0] * 30).outliers == ()


def test_the_unit_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    data = rng.normal(10, 1, 60) + 3.0 * (np.arange(60) >= 30)
    milli, plain = changes_in_history(1024 * data), changes_in_history(data)
    assert places(milli) == places(plain) != []
    assert milli.p_value == pytest.approx(plain.p_value)


def test_changes_certain_on_logarithms_stay_when_a_zero_comes() -> None:
    rng = np.random.default_rng(9)
    data = np.exp(np.r_[rng.normal(0, 0.3, 30), rng.normal(2, 0.3, 20)])
    before = changes_in_history(np.log(data))
    after = changes_in_history(np.r_[data, 0.0, 0.0], earlier=np.log(data))
    assert places(after) == places(before) == [30]
    assert after.certain[0].after == pytest.approx(data[30:].mean(), rel=0.05)


def test_the_chance_is_the_level_at_the_bound_and_falls_with_the_strength() -> None:
    assert chance_ever(4.75 - 11 / 50, 50) == pytest.approx(0.01)
    assert chance_once(3.85 - 3.8 / math.sqrt(100), 100) == pytest.approx(0.01)
    assert chance_ever(1.0, 50) == 1.0
    assert chance_ever(math.inf, 50) == 0.0
    chances = [chance_ever(z, 100) for z in np.linspace(0, 50, 400)]
    assert chances == sorted(chances, reverse=True)


def test_looking_at_several_series_is_paid_for() -> None:
    # Benjamini-Hochberg by hand, of 4: .009 * 4 / 1 = .036, .03 * 4 / 2 = .06, then 1 and 1; one that is too short counts
    change = Change(kind="change", index=9, before=1.0, after=2.0, p_value=0.009, earliest=9, latest=9, known=20)
    looks = [Changes(n=50, changes=(change,), p_value=p) for p in (0.009, 0.03)] + [Changes(n=50, p_value=1.0), Changes(n=3)]
    standing = across_series(looks, level=0.05)
    assert [len(one.changes) for one in standing] == [1, 0, 0, 0]
    assert [one.p_value for one in standing] == [pytest.approx(0.036), pytest.approx(0.06), 1.0, None]


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ([1.0, math.nan] * 10, {}, "finite"),
        ([[1.0, 2.0]], {}, "list"),
        ([1.0] * 20, {"alpha": 0.0}, "strictly between 0 and 1"),
        ([1.0] * 20, {"earlier": [1.0] * 21}, "21 earlier values for 20 values"),
    ],
)
def test_invalid_histories_are_errors(values: list[float], options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        changes_in_history(values, **options)  # type: ignore[arg-type]
