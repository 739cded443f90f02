"""Time per token is over the tokens that the stream showed; where their number is unknown it is not measured."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.metrics.serving.latency import ITL_P50, TPOT_P50
from fireassay.metrics.serving.objectives import SLO_ATTAINMENT
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT
from fireassay.spec.sections.serving import Objectives
from tests.metrics.serving.values import absent, estimate
from tests.serving_made import ServingMade

FIVE = {"at_s": [0.95, 1.07, 1.19, 1.31, 1.43], "chars": [4] * 5}  # 120 ms a token


def answers(tokenizer: int | None = None, objectives: Objectives | None = None, n: int = 40, **row: Any) -> ServingMade:
    made = ServingMade(rate=(1.0,), blocks=3, objectives=objectives)
    for block in range(3):
        number = made.launch(block=block)
        for second in range(n):
            request = made.request(number, float(second), **{**FIVE, **row})
            if tokenizer is not None:
                made.counted(number, request, tokens_out=tokenizer)
    return made


@pytest.mark.parametrize(
    ("row", "tpot_s"),
    [
        ({"tokens_out": 20, "reasoning_tokens": 15}, 0.12),  # reasoning that is counted and not sent
        ({"tokens_out": 5, "reasoning_tokens": None}, 0.12),
        ({"tokens_out": 5, "reasoning_tokens": 0}, 0.12),
        ({"tokens_out": 5, "reasoning_tokens": 15}, 0.12),  # a server that counts reasoning apart
        ({"tokens_out": 20, "reasoning_tokens": None}, 0.03),  # four tokens a chunk: 0.48 s for the 16 after the first
        ({"tokens_out": 20, "reasoning_tokens": 4, "kinds": [2, 1, 1, 1, 1]}, 0.03),  # reasoning that is shown counts
        ({"tokens_out": 400, "reasoning_tokens": None, "tokenizer": 5}, 0.12),  # by its text
    ],
)
def test_the_time_per_token_is_that_of_the_tokens_shown(row: dict[str, Any], tpot_s: float) -> None:
    made = answers(**row)
    assert estimate(TPOT_P50, made).value == pytest.approx(tpot_s)
    assert estimate(ITL_P50, made).value == pytest.approx(tpot_s)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"tokens_out": 400}, "shows"),  # 20 characters are no 400 tokens
        ({"tokens_out": 20, "reasoning_tokens": 18}, "shows"),  # two tokens in five chunks
        ({"tokens_out": 300, "reasoning_tokens": 290, "kinds": [2, 1, 1, 1, 1]}, "shows"),  # a summary of reasoning
        ({"tokens_out": 20, "at_s": [1.43] * 20, "chars": [4] * 20}, "at one moment"),  # a proxy holds the stream back
        ({"tokens_out": None}, "usage"),
    ],
)
def test_an_unknown_number_of_tokens_gives_no_time_per_token_and_meets_no_objective(row: dict[str, Any], why: str) -> None:
    made = answers(objectives=Objectives(tpot_s=0.05), **row)
    for metric in (TPOT_P50, ITL_P50, SLO_ATTAINMENT):
        assert why in absent(metric, made).detail


def test_hidden_reasoning_misses_the_objective_that_its_visible_tokens_miss() -> None:
    made = answers(objectives=Objectives(tpot_s=0.05), tokens_out=20, reasoning_tokens=15)
    assert estimate(SLO_ATTAINMENT, made).value == 0.0


def test_hidden_reasoning_was_made_all_the_same() -> None:
    """20 tokens a second, of which the stream shows 5."""
    assert estimate(OUTPUT_THROUGHPUT, answers(tokens_out=20, reasoning_tokens=15)).value == pytest.approx(20.0, rel=0.05)


def test_a_short_answer_in_one_read_is_fast_and_not_held_back() -> None:
    made = answers(n=2, tokens_out=3, at_s=[0.1] * 3, chars=[4] * 3)
    assert made.measured().served.requests["tpot_s"].to_list() == [0.0] * 6
