"""Rates inside of the window, what is under way, and how long prompts and answers are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.metrics.serving.throughput import ACHIEVED_RATE, INPUT_THROUGHPUT, OFFERED_RATE, OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from tests.metrics.serving.values import absent, estimate, every_second, values_of
from tests.serving_made import ServingMade, simulated


def ramped(blocks: int = 1, **row: object) -> ServingMade:
    """A request every second from 0 to 9 s, of which the first two are warm-up: the window is [2, 9)."""
    made = ServingMade(rate=(1.0,), blocks=blocks, warm_up_s=2.0)
    for block in range(blocks):
        number = made.launch(block=block)
        for second in range(10):
            made.request(number, float(second), phase="warm_up" if second < 2 else "main", **row)  # type: ignore[arg-type]
    return made


# ---- tokens ------------------------------------------------------------------------------------------------------


def test_only_tokens_inside_the_window_count() -> None:
    """4 tokens each at 0.25, 0.75, 1.25, 1.75 s: in [2, 9) 28 tokens arrive in 7 s."""
    value = estimate(OUTPUT_THROUGHPUT, ramped(2, ttft_s=0.25, gap_s=0.5, tokens_out=4))
    assert value.value == pytest.approx(4.0)
    assert "every chunk's tokens are known" in value.method


def test_a_missing_count_is_no_zero() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(4):
        made.request(number, float(second), chunks=3, tokens_out=None if second == 2 else 3)
    value = absent(OUTPUT_THROUGHPUT, made)
    assert "no usage for 1 answer" in value.detail
    assert "serving.tokenizer" in value.detail


def test_embeddings_have_no_tokens() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, task="embeddings")
    number = made.launch()
    for second in range(4):
        made.request(number, float(second), chunks=0, tokens_out=None, done_s=0.1)
    assert absent(OUTPUT_THROUGHPUT, made).reason == "not_applicable"


def test_a_prompt_counts_when_its_answer_begins() -> None:
    """First token 0.5 s after it was due, 100 tokens each: in [2, 9) 7 prompts in 7 s."""
    assert estimate(INPUT_THROUGHPUT, ramped(ttft_s=0.5, tokens_in=100)).value == pytest.approx(100.0)


def test_without_a_count_of_prompts_there_is_no_input() -> None:
    absent(INPUT_THROUGHPUT, every_second(4, tokens_in=None))


# ---- requests ----------------------------------------------------------------------------------------------------


def test_ramp_and_drain_are_outside() -> None:
    """Answered 1.5 s later: answers at 2.5 ... 8.5 s end in [2, 9): 7 in 7 s."""
    assert estimate(REQUEST_THROUGHPUT, ramped(at_s=[1.5], tokens_out=1)).value == pytest.approx(1.0)


def test_failures_are_no_answers() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(9):
        made.request(number, float(second), status="5xx" if second % 2 else "ok", at_s=[0.5] if second % 2 == 0 else None)
    assert estimate(REQUEST_THROUGHPUT, made).value == pytest.approx(4 / 8)  # 0.5, 2.5, 4.5 and 6.5 s in [0, 8)


def test_a_failed_launch_has_no_rate() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.launch(status="failed")
    absent(REQUEST_THROUGHPUT, made)


def test_equal_gaps_give_their_rate_exactly() -> None:
    """Every 0.1 s from 2.0 to 9.9 s: 79 in [2.0, 9.9), 7.9 s long."""
    made = ServingMade(rate=(10.0,), blocks=2, warm_up_s=2.0)
    for block in range(2):
        number = made.launch(block=block)
        for index in range(100):
            phase = "warm_up" if index < 20 else "main"
            made.request(number, index / 10, phase=phase, status="5xx" if index % 3 else "ok")
    value = estimate(OFFERED_RATE, made, "rate=10")
    assert (value.value, value.low, value.high) == pytest.approx((10.0, 10.0, 10.0))


def test_a_single_request_gives_no_rate() -> None:
    assert absent(OFFERED_RATE, every_second(1)).reason == "insufficient"


def test_late_and_unsent_requests_are_not_achieved() -> None:
    """Due at 0 ... 10 s; every fifth never sent, that of 8 s only 60 s later: sent in [0, 10) are 1-4, 6, 7, 9: 0.7/s."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(11):
        if second % 5 == 0:
            made.request(number, float(second), lag_s=None, status="unsent")
        else:
            made.request(number, float(second), lag_s=60.0 if second == 8 else 0.0, ttft_s=61.0)
    assert estimate(ACHIEVED_RATE, made).value == pytest.approx(0.7)


def test_a_launch_that_sent_nothing_achieved_nothing() -> None:
    assert estimate(ACHIEVED_RATE, every_second(2, lag_s=None, status="unsent")).value == 0.0


@pytest.mark.parametrize("streams", [1, 2])
def test_a_closed_loop_achieves_what_it_offers(streams: int) -> None:
    """Every second an answer and the next request, 1 ms later: 15 sends in 14 gaps are not 15/14 requests per second."""
    made = ServingMade(concurrency=(streams,), blocks=1, seconds=20.0)
    number = made.launch()
    for stream in range(streams):
        for place in range(16):
            made.request(number, float(place), lag_s=0.001 if place else 0.0, at_s=[1.0], tokens_out=1, stream=stream, follows=place > 0)
    name = f"concurrency={streams}"
    offered, achieved = estimate(OFFERED_RATE, made, name).value, estimate(ACHIEVED_RATE, made, name).value
    assert achieved == offered == pytest.approx(streams, rel=1e-3)


LAGS = st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 3.0), st.booleans()), min_size=2, max_size=20)


@given(LAGS, st.sampled_from(["poisson", "closed"]), st.floats(0.0, 3.0))
def test_no_more_is_achieved_than_offered(sends: list[tuple[float, float, bool]], process: str, warm_up_s: float) -> None:
    """Any gaps, lags and unsent requests, with a warm-up whose late requests reach into the window."""
    closed = process == "closed"
    asked: dict[str, Any] = {"concurrency": (1,)} if closed else {"rate": (1.0,)}
    made = ServingMade(blocks=1, warm_up_s=warm_up_s, seconds=100.0, **asked)
    number, due = made.launch(), 0.0
    for place, (gap, lag, unsent) in enumerate(sends):
        due += gap
        lost = unsent and not closed
        phase = "warm_up" if due < warm_up_s else "main"
        status = "unsent" if lost else "ok"
        made.request(number, due, phase=phase, lag_s=None if lost else lag, at_s=None if lost else [lag + 0.5], tokens_out=1, status=status,
                     stream=0 if closed else None, follows=closed and place > 0)  # fmt: skip
        due += lag + 0.5 if closed else 0.0
    (offered,), (achieved,) = (values_of(metric, made).values() for metric in (OFFERED_RATE, ACHIEVED_RATE))
    assert isinstance(offered, Absent) == isinstance(achieved, Absent)
    if isinstance(offered, Estimate) and isinstance(achieved, Estimate):
        assert achieved.value <= offered.value


# ---- under way ---------------------------------------------------------------------------------------------------


def test_requests_in_flight_are_the_area_inside_the_window() -> None:
    """Window [2, 9): the request from 1 to 4 s is inside for 2 s, 5 to 6 s for 1 s, 9 to 12 s not at all: 3/7."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    made.request(number, 1.0, phase="warm_up", at_s=[3.0], tokens_out=1)
    made.request(number, 5.0, status="reset", done_s=1.0)
    made.request(number, 9.0, at_s=[3.0], tokens_out=1)
    assert estimate("in_flight_mean", made).value == pytest.approx(3 / 7)


def test_little_s_ratio_is_one_where_requests_begin_and_end_inside() -> None:
    """Window [2, 9): 5 to 6 s and 7 to 8 s: 2 s under way, and latencies that sum to 2 s. That of 9 s is not in [2, 9)."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    for due in (5.0, 7.0, 9.0):
        made.request(number, due, at_s=[1.0], tokens_out=1)
    assert estimate("little_ratio", made).value == pytest.approx(1.0)


def test_a_growing_queue_is_above_one() -> None:
    """Due every second, the k-th takes k seconds: [0, 9) holds 2.5 x 9 ... of what they take in all."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(10):
        made.request(number, float(second), at_s=[1.0 + second], tokens_out=1)
    # latencies of those due in [0, 9): 1 + ... + 9 = 45; inside of the window: min(1 + k, 9 - k) = 1+2+3+4+5+4+3+2+1 = 25
    assert estimate("little_ratio", made).value == pytest.approx(45 / 25)


@pytest.mark.slow
def test_a_stable_queue_is_near_one() -> None:
    value = estimate("little_ratio", simulated(rate=(10.0,), blocks=3, seconds=40.0, seed=4), "rate=10")
    assert abs(value.value - 1.0) < 0.02


@pytest.mark.parametrize("name", ["in_flight_mean", "little_ratio"])
def test_without_requests_nothing_is_under_way(name: str) -> None:
    absent(name, every_second(0))


# ---- per request -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["in", "out"])
def test_tokens_are_the_mean_over_answers(side: str) -> None:
    """2, 4 and 9 tokens; the failed request has none."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second, tokens in enumerate([2, 4, 9]):
        made.request(number, float(second), **{f"tokens_{side}": tokens})  # type: ignore[arg-type]
    made.request(number, 3.0, status="5xx")
    value = estimate(f"tokens_{side}_mean", made)
    assert (value.value, value.n_trials) == (pytest.approx(5.0), 3)


@pytest.mark.parametrize("side", ["in", "out"])
def test_without_a_count_there_is_no_mean(side: str) -> None:
    assert "tokenizer" in absent(f"tokens_{side}_mean", every_second(chunks=2, **{f"tokens_{side}": None})).detail


def test_the_cached_share_is_over_tokens_and_not_over_requests() -> None:
    """90 of 100 and 0 of 300, and one request that does not tell: 90/400."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second, (cached, tokens) in enumerate([(90, 100), (0, 300), (None, 500)]):
        made.request(number, float(second), cached=cached, tokens_in=tokens)
    assert estimate("cached_share", made).value == pytest.approx(0.225)


def test_a_server_that_does_not_report_it_has_no_cached_share() -> None:
    assert "does not report" in absent("cached_share", every_second()).detail
