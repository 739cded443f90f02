"""Are tails shown, from enough trials?"""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.verdict.audits.every import tails as audited
from fireassay.verdict.pitfalls import of_record
from tests.handmade import Handmade
from tests.verdict.making import good, judged, rules_of

rules = rules_of(audited.AUDITS)

# ---- tail blindness ----
# tail_blindness: a middle without its tail.


def with_slow_steps(every: int, slow_s: float, steps: int = 200) -> Handmade:
    """Five launches of one worker; every so many steps one is slow, the others take 1 s."""
    made = Handmade(levels=(1,), blocks=5)
    for block in range(5):
        number = made.launch(workers=1, block=block, wall_s=10_000.0)
        made.steps(number, seconds=[slow_s if step % every == every - 1 else 1.0 for step in range(steps)], items=8.0)
    return made


@pytest.mark.slow
def test_steps_that_are_slow_now_and_then_hold_much_of_the_time() -> None:
    """One step of 20 takes 10 s: 10/(19 + 10) = 34 % of the time."""
    assert rules(judged(with_slow_steps(20, 10.0)))["heavy_tail"] == ["workers=1"]


@pytest.mark.parametrize(("every", "slow_s"), [(20, 1.0), (20, 2.9), (100, 10.0)])
def test_steps_without_a_tail_or_with_a_light_one_are_clear(every: int, slow_s: float) -> None:
    """2.9 s is below 3 medians; one step of 100 that takes 10 s holds 10/109 = 9 % of the time."""
    assert "heavy_tail" not in rules(judged(with_slow_steps(every, slow_s)))


@pytest.mark.slow
def test_too_few_steps_show_no_tail() -> None:
    assert "heavy_tail" not in rules(judged(with_slow_steps(20, 10.0, steps=60)))


# ---- percentile trials ----
# percentile_trials: ceil(ln(0.025)/ln(p)) trials at least: 36, 72, 368 and 3688 for p90, p95, p99 and p99.9.

PERCENTILE_TRIALS = catalog.load("verdict.audits", "percentile_trials")


@pytest.mark.slow
def test_a_record_that_refused_its_percentiles_has_nothing_to_examine() -> None:
    made = good()
    states = {pitfall.name: pitfall for pitfall in of_record(made.measured())}
    assert states["percentile_trials"].state == "not examined"
    assert states["percentile_trials"].reason.startswith("no tail percentile is shown")


@pytest.mark.parametrize(("trials", "rules"), [(367, ["too_few_trials"]), (368, [])])
def test_a_percentile_that_is_shown_on_too_few_trials_is_inadmissible(trials: int, rules: list[str]) -> None:
    shown = Estimate(value=1.0, low=0.9, high=1.1, unit="s", confidence=0.95, n_launches=5, n_trials=trials, method="m", signature="s")
    found_here = tuple(PERCENTILE_TRIALS.examine(good().measured(), {"step_time_p99": {"workers=1": shown}}))
    assert [finding.rule for finding in found_here] == rules
