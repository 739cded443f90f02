"""Are tails shown, from enough trials?"""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.verdict.claims.pitfalls import of_record
from tests.handmade import Handmade
from tests.verdict.claiming import LATENCY, NOTHING, claim, found, the_finding
from tests.verdict.making import good, judged, rules

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


@pytest.mark.parametrize("statistic", ["mean", "median", "p50"])
def test_a_latency_with_nothing_but_its_middle_is_named(statistic: str) -> None:
    said = claim(numbers=[LATENCY | {"statistic": statistic}])
    assert found(said) == {"tail_not_reported": "warning"}


def test_a_percentile_of_the_tail_beside_it_clears_it() -> None:
    middle = LATENCY | {"statistic": "median", "value": 0.1, "interval": {"low": 0.09, "high": 0.11, "kind": "confidence"}}
    assert found(claim(numbers=[middle, LATENCY])) == {}


def test_a_speedup_has_no_tail_to_report() -> None:
    assert found(claim()) == {}


@pytest.mark.parametrize(
    "metric",
    [
        "ttft",
        "TPOT",
        "itl",
        "e2e",
        "e2el",
        "inter-token latency",
        "time to first token",
        "time per output token",
        "queue time",
        "waiting time",
        "TBT",
        "response time",
        "end-to-end latency",
        "1st token latency",
        "round-trip time",
        "decode time",
        "queueing delay",
        "latency_ms",
    ],
)
def test_a_wait_has_many_names(metric: str) -> None:
    wait = LATENCY | {"metric": metric, "statistic": "mean"}
    assert "tail_not_reported" in found(claim(numbers=[wait]))
    assert "tail_not_reported" not in found(claim(numbers=[wait, wait | {"statistic": "p99", "value": 0.21}]))


@pytest.mark.parametrize(
    "metric",
    ["step time", "epoch time", "training time", "end-to-end training time", "end-to-end speedup", "data wait", "all-reduce latency"],
)
def test_nobody_waits_for_a_training(metric: str) -> None:
    assert "tail_not_reported" not in found(claim(numbers=[LATENCY | {"metric": metric, "statistic": "mean"}]))


def test_the_statistic_may_stand_in_the_name_and_a_tail_belongs_to_one_system() -> None:
    plain = {key: value for key, value in LATENCY.items() if key != "statistic"}
    assert "tail_not_reported" in found(claim(numbers=[plain | {"metric": "mean TTFT (ms)"}]))
    assert "tail_not_reported" not in found(claim(numbers=[plain | {"metric": "p99 TTFT (ms)"}]))
    two = [
        LATENCY | {"of": "A"},
        LATENCY | {"of": "A", "statistic": "mean", "value": 0.19},
        LATENCY | {"of": "B", "statistic": "mean", "value": 0.19},
    ]
    assert the_finding(claim(numbers=two), "tail_not_reported").configuration == "latency (mean) of B"


# ---- percentile trials ----
# percentile_trials: ceil(ln(0.025)/ln(p)) trials at least: 36, 72, 368 and 3688 for p90, p95, p99 and p99.9.

PERCENTILE_TRIALS = catalog.load("verdict.audits", "percentile_trials")


def latency(**changes: object) -> dict[str, object]:
    return {key: value for key, value in {**LATENCY, **changes}.items() if value is not NOTHING}


@pytest.mark.parametrize(("statistic", "least"), [("p90", 36), ("p95", 72), ("p99", 368), ("p999", 3688)])
def test_one_trial_less_than_the_least_is_inadmissible(statistic: str, least: int) -> None:
    few, enough = (claim(numbers=[latency(statistic=statistic, trials=n)]) for n in (least - 1, least))
    assert found(few) == {"too_few_trials": "invalid"}
    assert found(enough) == {}


def test_a_percentile_without_its_trials_is_left_open() -> None:
    assert found(claim(numbers=[latency(trials=NOTHING)])) == {"trials_unsaid": "note"}


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
