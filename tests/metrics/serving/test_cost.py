"""Dollars and joules of the window over what was made in it."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.metrics.serving.cost import COST_PER_GOOD_TOKEN, ENERGY_PER_GOOD_TOKEN
from fireassay.spec.sections.serving import Objectives
from tests.metrics.serving.values import absent, estimate
from tests.serving_made import ServingMade

pytestmark = pytest.mark.slow


IN_TIME = Objectives(ttft_s=0.2)


def priced(price: float | None = 3.6, blocks: int = 2, **how: Any) -> ServingMade:
    """Two replicas at 3.6 $/h: 0.002 $ a second. Every second from 0 to 10 s a request of 4 tokens, done within 0.8 s, the odd ones and
    in the first two launches only with a first token within 0.2 s."""
    made = ServingMade(rate=(1.0,), blocks=blocks, prices=price, **how)
    for block in range(blocks):
        number = made.launch(block=block)
        for second in range(11):
            made.request(number, float(second), ttft_s=0.1 if second % 2 and block < 2 else 0.5, gap_s=0.1, tokens_out=4)
    return made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cost_per_request", 0.02 / 10),  # window [0, 10): 0.02 $ for the 10 answers that ended in it
        ("cost_per_token", 0.02 / 40),
        ("tokens_per_dollar", 2000),
        ("cost_per_good_token", 0.02 / 20),  # the 5 odd ones are in time: late answers are paid for and not counted
    ],
)
def test_dollars_are_those_of_the_window(name: str, expected: float) -> None:
    assert estimate(name, priced(objectives=IN_TIME)).value == pytest.approx(expected)


@pytest.mark.parametrize("name", ["cost_per_request", "cost_per_token", "tokens_per_dollar", "cost_per_good_token"])
def test_without_a_price_there_is_none(name: str) -> None:
    assert "usd_per_worker_hour" in absent(name, priced(None, objectives=IN_TIME)).detail


def test_without_objectives_or_good_requests_there_is_none() -> None:
    absent(COST_PER_GOOD_TOKEN, priced())
    assert "met every objective" in absent(COST_PER_GOOD_TOKEN, priced(objectives=Objectives(ttft_s=0.01))).detail


def test_a_launch_in_which_nothing_was_good_is_paid_for() -> None:
    """A third launch in which every answer was late: 0.06 $ for 40 tokens, and not 0.04 $."""
    value = estimate(COST_PER_GOOD_TOKEN, priced(blocks=3, objectives=IN_TIME))
    assert value.value == pytest.approx(0.06 / 40)
    assert value.n_launches == 3
    assert value.launch_values == pytest.approx((0.001, 0.001))
    assert value.low < value.value < value.high


# ---- joules ------------------------------------------------------------------------------------------------------

PER = pytest.mark.parametrize(("name", "made_in_window"), [("energy_per_request", 10), ("energy_per_token", 40)])


def with_readings(readings: list[tuple[float, float]], method: str = "counter") -> ServingMade:
    """Requests of 4 tokens every second, and cumulative joules at some seconds."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    for second in range(13):
        made.request(number, float(second), phase="warm_up" if second < 2 else "main", ttft_s=0.1, gap_s=0.1, tokens_out=4)
    for at_s, joules in readings:
        made.reading(number, "package-0", "energy", joules, at_s=at_s, unit="J", method=method)
    return made


@PER
def test_only_the_joules_of_the_window_count(name: str, made_in_window: int) -> None:
    """Readings at -1, 5 and 13 s: 0, 60 and 180 J. At 2 s 30 J, at 12 s 165 J: 135 J for 40 tokens of 10 answers."""
    value = estimate(name, with_readings([(-1.0, 0.0), (5.0, 60.0), (13.0, 180.0)]))
    assert value.value == pytest.approx(135 / made_in_window)


@PER
def test_a_model_says_that_it_is_one(name: str, made_in_window: int) -> None:
    assert "MODELLED" in estimate(name, with_readings([(0.0, 0.0), (13.0, 130.0)], "modelled")).method


@PER
@pytest.mark.parametrize("readings", [[], [(3.0, 0.0), (5.0, 60.0)]])
def test_without_readings_round_the_window_there_is_none(name: str, made_in_window: int, readings: list[tuple[float, float]]) -> None:
    absent(name, with_readings(readings))


def half_late(objectives: Objectives | None) -> ServingMade:
    """Every second request is late; 10 W from t0 on."""
    made = priced(None, 1, objectives=objectives)
    for at_s in (0.0, 11.0):
        made.reading(0, "package-0", "energy", 10.0 * at_s, at_s=at_s, unit="J", method="counter")
    return made


def test_late_answers_take_joules_and_are_not_counted() -> None:
    """Window [0, 10): 100 J for the 20 tokens of the 5 odd requests."""
    assert estimate(ENERGY_PER_GOOD_TOKEN, half_late(IN_TIME)).value == pytest.approx(5.0)


def test_without_objectives_nothing_is_good() -> None:
    assert "serving.objectives" in absent(ENERGY_PER_GOOD_TOKEN, half_late(None)).detail
