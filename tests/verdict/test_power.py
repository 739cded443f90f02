"""What an experiment will be able to show is told before it runs, by formulas that can be checked by hand."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from fireassay.spec.experiment import Experiment, Factor, Launches, Quality
from fireassay.spec.sections.workload import Workload
from fireassay.stats.comparing.comparison import detectable_effect
from fireassay.verdict.power import Expectation, foresee
from tests.handmade import Handmade
from tests.verdict.making import MARGIN, good, judged


def asked(*, quality: Quality | None = MARGIN, levels: tuple[int, ...] = (1, 2), **launches: object) -> Experiment:
    return Experiment(
        name="next",
        workload=Workload(script="train.py"),
        factor=Factor(levels=levels),
        launches=Launches(**launches),  # type: ignore[arg-type]
        quality=quality,
    )


def by_subject(found: tuple[Expectation, ...]) -> dict[str, Expectation]:
    return {expectation.subject: expectation for expectation in found}


def test_without_an_earlier_record_supposed_spreads_are_told() -> None:
    found = by_subject(foresee(asked()))
    assert [name for name in found if name.startswith("if ")] == [
        "if launches vary by 1 %",
        "if launches vary by 2 %",
        "if launches vary by 5 %",
    ]
    # exp(t[.975, 4] * 0.02 / sqrt 5) - 1 = exp(2.776 * 0.00894) - 1 = 2.5 %
    assert "interval about ±2.5 %" in found["if launches vary by 2 %"].sentence
    assert "vary" not in found["if launches vary by 2 %"].sentence  # its subject says so


def test_the_half_width_comes_from_the_earlier_launches() -> None:
    made = good()
    found = by_subject(foresee(asked(), made.measured(), judged(made).results))
    # Base steps of 1 s times 1.00, 1.01, 1.02, 1.03, 1.04: sd of the logarithms 0.0155.
    spread = float(stats.tstd([math.log(1 + 0.01 * block) for block in range(5)]))
    half = math.expm1(float(stats.t.ppf(0.975, 4)) * spread / math.sqrt(5))
    assert half == pytest.approx(0.0194, abs=5e-4)
    assert "interval about ±1.9 %" in found["step time at workers=1"].sentence
    assert "launches vary by 1.6 %" in found["step time at workers=1"].sentence
    assert "from 5 rounds" in found["speedup at workers=2"].sentence


def test_a_noise_floor_above_the_detectable_effect_decides() -> None:
    found = by_subject(foresee(asked(), floor=0.30))
    assert "noise floor, 30 %, is larger and sets the limit" in found["if launches vary by 2 %"].sentence
    assert "noise floor" not in by_subject(foresee(asked(), floor=0.001))["if launches vary by 2 %"].sentence


def test_fewer_than_three_launches_decide_nothing() -> None:
    first = foresee(asked(per_configuration=2))[0]
    assert not first.possible
    assert first.sentence.startswith("2 launches per configuration cannot decide anything")


def test_adaptive_launches_are_foreseen() -> None:
    found = by_subject(foresee(asked(precision=0.02)))
    # At 97.5 % each: t[.9875, 4] = 3.495, times 0.01 / sqrt 5 = 1.6 % < 2 %: the first look suffices.
    assert found["if launches vary by 1 %"].sentence.startswith("±2 % is reached after about 5 launches")
    hopeless = by_subject(foresee(asked(precision=0.001, at_most=10)))["if launches vary by 5 %"]
    assert "more than launches.at_most = 10" in hopeless.sentence


@pytest.mark.slow
def test_a_margin_that_the_examples_cannot_carry_is_refused_before_the_run() -> None:
    made = good()
    results = judged(made).results
    # 299 items bound a change by one point if none changes; the earlier record scored 40 (quality.md 3.2).
    narrow = by_subject(foresee(asked(quality=Quality(margin=0.01)), made.measured(), results))["quality"]
    assert not narrow.possible
    assert "needs 299 held-out examples" in narrow.sentence
    assert "scored 40" in narrow.sentence
    # ln .05 / ln .9 = 28.4
    wide = by_subject(foresee(asked(quality=Quality(margin=0.1)), made.measured(), results))["quality"]
    assert wide.possible
    assert "needs 29 held-out examples" in wide.sentence


@pytest.mark.slow
def test_what_looking_costs_is_in_the_plan_of_quality_and_of_percentiles() -> None:
    """Adaptive records are judged at 97.5 %: ln .025 / ln .99 = 367.04 items without a flip, ln .0125 / ln .99 = 436.0 steps."""
    made = good()
    adaptive = asked(quality=Quality(margin=0.01), precision=0.02)
    found = by_subject(foresee(adaptive, made.measured(), judged(made).results))
    assert "needs 368 held-out examples" in found["quality"].sentence
    assert f"at least {math.ceil(math.log(0.0125) / math.log(0.99))} independent" in found["p99 step time"].sentence


def test_no_quality_is_told() -> None:
    assert not by_subject(foresee(asked(quality=None)))["quality"].possible


def test_a_p99_needs_368_independent_steps() -> None:
    made = good()
    tail = by_subject(foresee(asked(), made.measured(), judged(made).results))["p99 step time"]
    # 8 steps in each of 5 launches; ln(.025)/ln(.99) = 367.04.
    assert not tail.possible
    assert tail.sentence.startswith("about 40 steady steps per configuration; a p99 needs at least 368")


def pilot(between: float, within: float) -> Handmade:
    """4 launches of the base with 20 steps of 1 s: a launch's level is e^(+-between), a window's (2 steps) e^(+-within)."""
    made = Handmade(levels=(1,), blocks=4)
    for block in range(4):
        level = between if block % 2 else -between
        number = made.launch(workers=1, block=block, wall_s=120.0)
        made.steps(number, seconds=[math.exp(level + (within if (step // 2) % 2 else -within)) for step in range(20)])
    return made


def length_of(made: Handmade) -> Expectation:
    return by_subject(foresee(asked(levels=(1,)), made.measured(), judged(made).results))["launch length at workers=1"]


@pytest.mark.slow
def test_the_cheapest_length_of_a_launch_is_that_of_kalibera_and_jones() -> None:
    # Logarithms: 10 windows of +-w, S_1^2 = w^2 10/9; launch means +-b, S_2^2 = b^2 4/3, T_2^2 = S_2^2 - S_1^2/10.
    # b = .01, w = .05: S_1^2 = .0027778, S_2^2 = .00013333: less than S_1^2/10 = .00027778, so the launches add nothing.
    assert "launches add no detectable variation" in length_of(pilot(0.01, 0.05)).sentence
    # b = .05, w = .01: S_1^2 = .00011111, T_2^2 = .0033333 - .0000111 = .0033222; a window costs 2 s, a launch 120 - 20 s:
    # r = ceil(sqrt(50 * .00011111/.0033222)) = ceil(1.293) = 2 windows of 2 steps.
    told = length_of(pilot(0.05, 0.01)).sentence
    assert "about 4 steady steps per launch (it had 20); beyond that, add launches" in told
    assert told.startswith("0.33 % of the variance between launches")


def needed(cv: float, wanted: float) -> int:
    """The fewest launches that find `wanted` in 4 of 5 cases, by trying each number."""
    least = math.log1p(0.01)  # the default of comparison.smallest_effect
    return next(k for k in range(3, 1000) if detectable_effect(cv * math.sqrt(2 / k), k - 1, 0.95, least) <= math.log1p(wanted))


def test_a_wanted_change_has_its_number_of_launches() -> None:
    found = by_subject(foresee(asked(), detect=0.02))
    for cv in (0.01, 0.02, 0.05):
        sentence = found[f"launches, if they vary by {cv:.0%}".replace("%", " %")].sentence
        assert sentence.startswith("5 show ")
        assert sentence.endswith(f"; 2 % needs {needed(cv, 0.02)} (--launches {needed(cv, 0.02)})"), sentence


def test_the_configuration_that_varies_most_sets_the_number() -> None:
    made = good()
    found = foresee(asked(), made.measured(), judged(made).results)
    (only,) = (expectation for expectation in found if expectation.subject.startswith("launches, "))
    assert only.subject.startswith("launches, step time at workers=")
    assert only.sentence.endswith("; --detect 0.02 says how many 2 % needs")


@pytest.mark.parametrize(
    ("wanted", "floor", "why"),
    [(0.01, None, "1 % is not above comparison.smallest_effect = 0.01"), (0.02, 0.03, "2 % is not above this machine's noise floor, 3 %")],
)
def test_a_change_that_no_launches_show_says_why(wanted: float, floor: float | None, why: str) -> None:
    found = by_subject(foresee(asked(), floor=floor, detect=wanted))["launches, if they vary by 5 %"]
    assert not found.possible
    assert why in found.sentence
