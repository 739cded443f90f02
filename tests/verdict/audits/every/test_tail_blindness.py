"""tail_blindness: a middle without its tail."""

from __future__ import annotations

import pytest

from tests.handmade import Handmade
from tests.verdict.claiming import LATENCY, claim, found, the_finding
from tests.verdict.making import judged, rules


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
