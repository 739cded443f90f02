"""Do the assertions for people's own test suites fail on what is shown, pass on what is excluded, and say else what would decide?

The values are planted: functions that do a multiple of another's work, launches drawn around a known ratio, items that are known to be right.
"""

from __future__ import annotations

import math
import sys
import unittest
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fireassay
from fireassay import testing
from fireassay.errors import SpecError, WorkloadError
from fireassay.estimates.estimate import Estimate
from fireassay.testing import Inadmissible, Inconclusive, NotHeld, Slower, assert_held, assert_not_slower, judged
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.judge import Judgement
from tests.api.conftest import GOOD
from tests.verdict.sides import made, side


@pytest.fixture(scope="module")
def template() -> tuple[Side, Side]:
    """Two sides that were measured in turn; only their results are replaced below."""
    return side("base", made(identifier="a", session="s")), side("now", made(identifier="b", session="s"))


def with_times(of: Side, seconds: list[float]) -> Side:
    """The side with these wall times of its launches."""
    values = of.judgement.results["wall_time"]
    (name,) = values
    former = values[name]
    assert isinstance(former, Estimate)
    value = math.exp(float(np.mean(np.log(seconds))))
    drawn = replace(former, value=value, low=0.9 * value, high=1.1 * value, launch_values=tuple(seconds))
    metrics = {"wall_time": of.judgement.metrics["wall_time"]}
    return replace(of, judgement=Judgement(results={"wall_time": {name: drawn}}, verdict=of.judgement.verdict, metrics=metrics))


def outcome(sides: tuple[Side, Side], base: list[float], now: list[float], margin: float) -> str:
    first, second = (with_times(one, seconds) for one, seconds in zip(sides, (base, now), strict=True))
    found, row = judged(first, second, margin=margin, metric="wall_time")
    try:
        testing._settled(found, row, "rounds={}".format, len(base))
    except AssertionError as error:
        return type(error).__name__
    return "passed"


def rates(sides: tuple[Side, Side], ratio: float, margin: float, runs: int) -> Counter[str]:
    """How assertions end with a true ratio: 5 blocks that share 5 % of drift, and 2 % of their own on each side."""
    rng = np.random.default_rng(20261201)
    ends: Counter[str] = Counter()
    for _ in range(runs):
        drift = rng.normal(0.0, 0.05, 5)
        base, now = (10.0 * factor * np.exp(drift + rng.normal(0.0, 0.02, 5)) for factor in (1.0, ratio))
        ends[outcome(sides, base.tolist(), now.tolist(), margin)] += 1
    return ends


RUNS = 200


@pytest.mark.slow
def test_equal_sides_are_called_slower_in_at_most_2_5_percent(template: tuple[Side, Side]) -> None:
    """With 3 Monte Carlo standard errors."""
    ends = rates(template, 1.0, 0.05, RUNS)
    assert ends["Slower"] / RUNS <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / RUNS)
    assert ends["passed"] / RUNS > 0.5, "five blocks with 2 % of noise show a margin of 5 %"


@pytest.mark.deep
def test_a_true_slowdown_at_the_margin_passes_in_at_most_5_percent(template: tuple[Side, Side]) -> None:
    ends = rates(template, 1.05, 0.05, RUNS)
    assert ends["passed"] / RUNS <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


QUIET = [10.0, 10.1, 9.9, 10.05, 9.95]


@pytest.mark.parametrize(
    ("factor", "end"),
    [(1.2, "Slower"), (1.03, "passed"), (1.0, "passed"), (0.7, "passed")],
    ids=["20 % slower", "within the margin, though certain", "equal", "faster"],
)
def test_a_planted_change_ends_as_the_margin_says(template: tuple[Side, Side], factor: float, end: str) -> None:
    assert outcome(template, QUIET, [factor * second for second in QUIET[::-1]], 0.05) == end


def test_the_message_names_value_interval_margin_and_what_would_decide(template: tuple[Side, Side]) -> None:
    noisy = [8.0, 12.0, 9.0, 12.5, 9.5]
    first, second = with_times(template[0], QUIET), with_times(template[1], noisy)
    found, row = judged(first, second, margin=0.05, metric="wall_time")
    with pytest.raises(Inconclusive, match=r"\[.*\].* against base 10.*margin 5 %") as caught:
        testing._settled(found, row, "rounds={}".format, 5)
    assert row is not None
    assert caught.value.would_decide == f"rounds={row.launches_needed}"
    assert str(caught.value).endswith(f"To decide: {caught.value.would_decide}")


# ---- functions ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The module `planted_work`, in the working directory."""
    (tmp_path / "planted_work.py").write_text(
        "def little(): return sum(range(1_000))\n\n\ndef much(): return sum(range(100_000))\n\n\ndef raises(): raise ValueError('no')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("planted_work", None)


@pytest.mark.slow
def test_a_function_that_does_a_hundred_times_the_work_is_slower_and_its_records_are_kept(work: Path) -> None:
    import planted_work  # type: ignore[import-not-found]

    with pytest.raises(Slower, match="planted_work:much .* against planted_work:little"):
        assert_not_slower(planted_work.much, planted_work.little, rounds=3, round_s=0.005)
    assert "planted_work:little" in assert_not_slower(planted_work.little, planted_work.much, rounds=3, round_s=0.005)
    assert len({fireassay.open(path).path for path in (work / "records").iterdir()}) == 4


@pytest.mark.slow
def test_a_function_that_raises_is_an_error_and_no_failed_assertion(work: Path) -> None:
    import planted_work

    with pytest.raises(WorkloadError, match="planted_work:raises.*ValueError"):
        assert_not_slower(planted_work.raises, planted_work.little, rounds=3, round_s=0.005)


@pytest.mark.parametrize(
    ("arguments", "words", "message"),
    [
        ((math.sin, math.cos), {"margin": 0.0}, "margin: found 0.0"),
        ((math.sin, math.cos), {"margin": math.nan}, "margin: found nan"),
        ((math.sin, math.cos), {"rounds": 2}, "rounds: found 2; allowed: 3 or more"),
        ((math.sin, math.cos), {"round_s": -1}, "round_s: found -1"),
        ((math.sin, GOOD), {}, "a function beside a record"),
        ((lambda: 1, math.cos), {}, "a function that a fresh process can import by name"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_measured(
    arguments: tuple[object, object], words: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match=message):
        assert_not_slower(*arguments, root=tmp_path, **words)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_an_argument_that_does_not_exist_is_refused_as_of_any_function() -> None:
    with pytest.raises(TypeError, match="launches"):
        assert_not_slower(math.sin, math.cos, launches=3)


# ---- records -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_records_under_other_conditions_are_inadmissible_and_the_argument_is_named() -> None:
    with pytest.raises(Inadmissible, match=r"--readers 0 against --readers 2") as caught:
        assert_not_slower(fireassay.open(GOOD.parent / "after"), GOOD.parent / "before")
    assert str(caught.value).endswith("\nIf that is what you study: varying=('workload.arguments',)")


@pytest.mark.slow
def test_two_sessions_do_not_pass_without_a_history_and_the_way_on_is_named() -> None:
    """15 % are assumed between sessions: a margin of 5 % cannot be shown by two records."""
    before, after = (GOOD.parent / name for name in ("before", "after"))
    with pytest.raises(AssertionError) as caught:
        assert_not_slower(before, after, varying=("workload.arguments",))
    assert isinstance(caught.value, Slower | Inconclusive)
    if isinstance(caught.value, Inconclusive):
        assert "history" in caught.value.would_decide


def test_quality_within_the_margin_is_held_and_worse_is_not() -> None:
    assert "margin 0.01" in assert_held(GOOD)
    assert assert_held(GOOD, at="workers=2").startswith("workers=2: quality held")
    with pytest.raises(NotHeld, match=r"workers=2: quality degraded: .*\[.*\], margin 0.01"):
        assert_held(GOOD.parent / "worse_accuracy")


def test_too_few_launches_are_inconclusive_and_their_number_is_named() -> None:
    with pytest.raises(Inconclusive, match="1 launch") as caught:
        assert_held(GOOD.parent / "seed_mismatch")
    assert caught.value.would_decide == "3 launches"


@pytest.mark.parametrize(("name", "message"), [("engines", "INVALID"), ("steps", "no margin of quality was fixed beforehand")])
def test_a_record_that_is_no_evidence_never_passes(name: str, message: str) -> None:
    with pytest.raises(Inadmissible, match=message):
        assert_held(GOOD.parent / name)


def test_an_unknown_configuration_and_a_margin_without_a_base_are_refused() -> None:
    with pytest.raises(SpecError, match="workers=9"):
        assert_held(GOOD, at="workers=9")
    with pytest.raises(SpecError, match="margin"):
        assert_held(GOOD, margin=0.1)


def test_they_fail_a_test_of_unittest_and_do_not_break_it() -> None:
    class Held(unittest.TestCase):
        def test_held(self) -> None:
            assert_held(GOOD.parent / "worse_accuracy")

    result = unittest.TestResult()
    Held("test_held").run(result)
    assert (len(result.failures), len(result.errors)) == (1, 0)
