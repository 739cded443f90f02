"""Latencies: pooled over launches, of answered requests, with the number of failures, refused if there are too few."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fireassay import catalog
from fireassay.metrics.serving.latency import (
    CONNECT_TIME,
    SEND_LAG,
    SESSION_TIME,
    STEP_TTFT,
    TOOL_SHARE,
    TTFT_COLD,
    TTFT_SENT,
    TTFT_VISIBLE,
)
from tests.frames.serving.test_stamp_uncertainty import dealt_out
from tests.metrics.serving.values import absent, estimate, every_second, values_of
from tests.serving_made import ServingMade, serving_measured, simulated

pytestmark = pytest.mark.slow


SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
REQUESTS = [f"{stem}_{p}" for stem in ("ttft", "tpot", "e2e") for p in SHARES]
STREAMED = [name for name in REQUESTS if not name.startswith("e2e")]
MEDIANS = pytest.mark.parametrize("name", ["ttft_p50", "tpot_p50", "itl_p50", "e2e_p50"])
GAPS = pytest.mark.parametrize("name", ["itl_p50", "itl_p99"])


def lasting(stem: str, seconds: float) -> dict[str, Any]:
    """A request whose latency is so long."""
    return {
        "ttft": {"ttft_s": seconds, "tokens_out": 2},
        "tpot": {"ttft_s": 0.1, "gap_s": seconds, "tokens_out": 3},
        "e2e": {"at_s": [0.0001, seconds], "tokens_out": 2},
    }[stem]


@pytest.mark.parametrize("name", REQUESTS)
def test_it_is_the_quantile_of_all_requests_and_not_of_the_launches(name: str) -> None:
    """1 ... 3000 ms dealt out at random to 5 launches: the linear quantile is 1 + p x 2999 ms."""
    stem, _, p = name.partition("_")
    made, times = ServingMade(rate=(100.0,), blocks=5), np.random.default_rng(2).permutation(3000) + 1
    for block, launch in enumerate(np.split(times, 5)):
        number = made.launch(block=block)
        for index, milliseconds in enumerate(launch.tolist()):
            made.request(number, index * 0.01, **lasting(stem, milliseconds / 1e3))
    value = estimate(name, made, "rate=100")
    assert value.value == pytest.approx((1 + SHARES[p] * 2999) / 1e3)
    assert value.low < value.value < value.high
    assert (value.n_trials, value.n_launches) == (3000, 5)


@pytest.mark.parametrize("name", REQUESTS)
def test_it_is_absent_where_nothing_could_be_seen(name: str) -> None:
    measured = serving_measured([{"due_s": 0.0, "status": "5xx"}, {"due_s": 1.0, "status": "5xx"}], rate=(1.0,))
    assert absent(name, measured).reason == "not_measured"


@pytest.mark.parametrize("name", [*STREAMED, "ttft_sent_p99", "ttft_uncertainty_p99", "tpot_uncertainty_p99"])
def test_answers_that_were_not_streamed_have_none(name: str) -> None:
    assert absent(name, serving_measured([{"due_s": 0.0}], rate=(1.0,), stream=False)).reason == "not_applicable"


@MEDIANS
def test_a_percentile_of_requests_is_about_serving_only(name: str) -> None:
    metric = catalog.load("metrics", name)
    assert (metric.unit, metric.better, metric.dimension, metric.about) == ("s", "lower", "performance", ("serving",))


@MEDIANS
def test_failures_are_reported_but_in_no_percentile(name: str) -> None:
    """Of 41 requests per launch one in 20 fails after a minute: 3 x 3 failures, and no minute in the median."""
    rows = [
        {"due_s": index * 0.1, "status": "timeout", "done_s": 60.0} if index % 20 == 0 else {"due_s": index * 0.1} for index in range(41)
    ]
    value = estimate(name, serving_measured(rows, rate=(10.0,)), "rate=10")
    assert value.value < 1.0
    assert "9 requests of 123 due failed" in value.method
    assert "measured window" in value.method


@MEDIANS
def test_one_launch_has_a_value_and_no_interval(name: str) -> None:
    measured = serving_measured([{"due_s": index * 0.1} for index in range(50)], rate=(10.0,), blocks=1)
    value = estimate(name, measured, "rate=10")
    assert (value.low, value.high, value.n_launches) == (-math.inf, math.inf, 1)


@MEDIANS
def test_why_there_is_nothing_is_said(name: str) -> None:
    made = ServingMade(rate=(10.0, 20.0), blocks=1, warm_up_s=2.0)
    made.request(made.launch("rate=10"), 1.0, phase="warm_up")
    made.launch("rate=20", status="failed")
    assert "duration_s" in absent(name, made, "rate=10").detail
    assert "no timed launch of rate=20 succeeded" in absent(name, made, "rate=20").detail


def test_warm_up_and_cold_requests_are_in_no_percentile() -> None:
    measured = simulated(rate=(10.0,), blocks=3, seconds=20.0, warm_up_s=2.0, seed=2).measured()
    main = measured.table("requests").filter(measured.table("requests")["phase"] == "main")
    assert estimate("e2e_p50", measured, "rate=10").n_trials == main.height


# ---- gaps between tokens -----------------------------------------------------------------------------------------


def chunked(requests: int, every_s: float, blocks: int = 3, **row: Any) -> ServingMade:
    made = ServingMade(rate=(10.0,), blocks=blocks)
    for block in range(blocks):
        number = made.launch(block=block)
        for index in range(requests):
            made.request(number, index * every_s, **row)
    return made


@GAPS
def test_it_is_the_quantile_of_all_gaps_and_not_of_the_launches(name: str) -> None:
    """Gaps of 1 ... 3000 ms dealt out at random, six to an answer: the linear quantile is 1 + p x 2999 ms."""
    made, gaps = ServingMade(rate=(10.0,), blocks=5), np.random.default_rng(2).permutation(3000) + 1
    for block, answers in enumerate(gaps.reshape(5, 100, 6) / 1e3):
        number = made.launch(block=block)
        for index, few in enumerate(answers):
            made.request(number, index * 0.1, at_s=[0.1, *(0.1 + few.cumsum()).tolist()], tokens_out=7)
    value = estimate(name, made, "rate=10")
    assert value.value == pytest.approx((1 + SHARES[name.removeprefix("itl_")] * 2999) / 1e3)
    assert value.n_trials == 3000


@GAPS
def test_two_tokens_in_a_chunk_halve_its_gap_and_the_method_says_so(name: str) -> None:
    """Chunks every 0.2 s with two tokens each, without a count per chunk."""
    value = estimate(name, chunked(400, 0.01, gap_s=0.2, chunks=5, tokens_out=10), "rate=10")
    assert value.value == pytest.approx(0.1)
    assert "1,200 answers" in value.method


@GAPS
def test_without_a_count_of_tokens_there_is_no_gap(name: str) -> None:
    assert "tokenizer" in absent(name, chunked(40, 0.1, chunks=5, tokens_out=None), "rate=10").detail


# ---- how exact, and first tokens of other kinds ------------------------------------------------------------------


@pytest.mark.parametrize(("stem", "factor"), [("ttft", 1.0), ("tpot", 2 / 9), ("e2e", 1.0)])
def test_an_uncertainty_is_that_of_the_answered_requests(stem: str, factor: float) -> None:
    """Of the first chunk, of both over the 9 tokens after the first, of the last."""
    assert dealt_out(f"{stem}_uncertainty_p99", tokens_out=10) == pytest.approx((1 + 0.99 * 2999) / 1e6 * factor, rel=1e-6)


def test_client_waits_are_not_in_the_time_from_sending() -> None:
    """Every request was sent 2 s late and answered 0.1 s after that."""
    made = ServingMade(rate=(100.0,), blocks=5)
    for block in range(5):
        number = made.launch(block=block)
        for index in range(600):
            made.request(number, index * 0.01, lag_s=2.0, ttft_s=2.1)
    assert estimate(TTFT_SENT, made, "rate=100").value == pytest.approx(0.1)


def test_reasoning_is_not_visible() -> None:
    """Reasoning from 0.1 s, content from 0.4 s in every request."""
    made = chunked(40, 0.1, at_s=[0.1, 0.2, 0.4, 0.5], kinds=[2, 2, 1, 1], tokens_out=4)
    assert estimate(TTFT_VISIBLE, made, "rate=10").value == pytest.approx(0.4)


def test_answers_of_reasoning_alone_have_no_visible_token() -> None:
    assert "reasoning" in absent(TTFT_VISIBLE, chunked(4, 0.1, 1, at_s=[0.1], kinds=[2], tokens_out=1), "rate=10").detail


def test_only_launches_with_a_fresh_engine_are_cold() -> None:
    """Launch 0 found a fresh engine: 1 and 3 s; launch 1 a used one: 0.1 s."""
    made = ServingMade(rate=(1.0,), blocks=2)
    for block, times in enumerate([(1.0, 3.0), (0.1, 0.1)]):
        number = made.launch(block=block)
        if block == 0:
            made.event(number, "server_ready", -0.9, value=0)
        for index, ttft in enumerate(times):
            made.request(number, -0.5 + 0.1 * index, phase="cold", ttft_s=ttft)
        made.request(number, 0.0, ttft_s=9.0)
    value = estimate(TTFT_COLD, made)
    assert (value.value, value.n_trials, value.n_launches) == (pytest.approx(2.0), 2, 1)


def test_engines_of_others_are_taken_as_they_are() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.request(made.launch(), -0.5, phase="cold", ttft_s=0.4)
    assert estimate(TTFT_COLD, made).value == pytest.approx(0.4)


def test_prompts_sent_alone_to_be_compared_are_not_cold_ones() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    made.request(number, -0.9, phase="cold", ttft_s=0.4)
    made.request(number, -0.5, phase="cold", kind="identity", ttft_s=0.05)
    value = estimate(TTFT_COLD, made)
    assert (value.value, value.n_trials) == (pytest.approx(0.4), 1)


def test_without_cold_requests_nothing_is_cold() -> None:
    absent(TTFT_COLD, every_second(1))


# ---- sessions ----------------------------------------------------------------------------------------------------


def test_first_turns_are_no_later_steps() -> None:
    """First turns take 1 s, later ones 0.2 s."""
    made = ServingMade(rate=(10.0,), blocks=3)
    for block in range(3):
        number = made.launch(block=block)
        for session in range(40):
            for turn in range(2):
                due = session * 0.1 + turn
                made.request(number, due, ttft_s=0.2 if turn else 1.0, session=session, turn=turn, follows=turn > 0)
    value = estimate(STEP_TTFT, made, "rate=10")
    assert (value.value, value.n_trials) == (pytest.approx(0.2), 120)


def test_single_requests_have_no_later_step() -> None:
    assert "turns" in absent(STEP_TTFT, every_second()).detail


def with_sessions(turns: int = 2, seen: int = 2, status: str = "ok") -> ServingMade:
    """40 sessions per launch; the second turn is due 3 s after the first and takes 1 s."""
    made = ServingMade(rate=(10.0,), blocks=3)
    for block in range(3):
        number = made.launch(block=block)
        for session in range(40):
            for turn in range(seen):
                made.request(
                    number,
                    session * 0.1 + 3.0 * turn,
                    session=session,
                    turn=turn,
                    at_s=[1.0],
                    tokens_out=1,
                    status=status if turn else "ok",
                    follows=turn > 0,
                )
            for turn in range(seen, turns):
                made.arrival(number, request=1000 + session, session=session, turn=turn, due_s=None)
    return made


def test_a_session_runs_from_the_first_turn_to_the_end_of_the_last() -> None:
    value = estimate(SESSION_TIME, with_sessions(), "rate=10")
    assert (value.value, value.n_trials) == (pytest.approx(4.0), 120)


@pytest.mark.parametrize("made", [with_sessions(turns=3), with_sessions(status="5xx"), with_sessions(turns=1, seen=1)])
def test_a_session_cut_off_failed_or_single_does_not_count(made: ServingMade) -> None:
    assert "more than one turn" in absent(SESSION_TIME, made, "rate=10").detail


def test_tools_against_generation() -> None:
    """A session of three requests of 1 s each, 2 s in a tool before the second and 4 s of thinking before the third: 2/5."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    common: dict[str, Any] = {"session": 7, "at_s": [1.0], "tokens_out": 1}
    made.request(number, 0.0, turn=0, **common)
    made.request(number, 3.0, turn=1, pause_s=2.0, pause_kind="tool", follows=True, **common)
    made.request(number, 8.0, turn=2, pause_s=4.0, pause_kind="think", follows=True, **common)
    made.request(number, 9.0, at_s=[1.0], tokens_out=1)
    assert estimate(TOOL_SHARE, made).value == pytest.approx(2 / 5)


def test_without_tools_nothing_is_spent_in_them() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second), session=second, turn=0)
    assert "tool_steps" in absent(TOOL_SHARE, made).detail


# ---- parts of a request ------------------------------------------------------------------------------------------


def test_only_new_connections_are_set_up() -> None:
    """Set-ups of 1 ... 300 ms on every second request: the median is 150.5 ms."""
    made, times = ServingMade(rate=(10.0,), blocks=3), np.random.default_rng(2).permutation(300) + 1
    for block, launch in enumerate(np.split(times, 3)):
        number = made.launch(block=block)
        for index, milliseconds in enumerate(launch.tolist()):
            made.request(number, index * 0.2, connect_s=milliseconds / 1e3, lag_s=0.5, ttft_s=1.0)
            made.request(number, index * 0.2 + 0.1)
    assert estimate(CONNECT_TIME, made, "rate=10").value == pytest.approx(0.1505)


def test_kept_connections_have_no_set_up() -> None:
    assert "reused a connection" in absent(CONNECT_TIME, every_second()).detail


def test_failed_requests_lag_too_and_connecting_is_no_lag() -> None:
    """Lags of 1 ... 3000 us dealt out at random after 5 ms of connecting; every second request fails."""
    made, lags = ServingMade(rate=(100.0,), blocks=5), np.random.default_rng(2).permutation(3000) + 1
    for block, launch in enumerate(np.split(lags, 5)):
        number = made.launch(block=block)
        for index, microseconds in enumerate(launch.tolist()):
            status = "5xx" if index % 2 else "ok"
            made.request(number, index * 0.01, lag_s=0.005 + microseconds / 1e6, connect_s=0.005, status=status)
    assert estimate(SEND_LAG, made, "rate=100").value == pytest.approx((1 + 0.99 * 2999) / 1e6)


def test_unsent_requests_have_no_lag() -> None:
    assert "was sent" in absent(SEND_LAG, every_second(lag_s=None, status="unsent")).detail


def test_a_request_on_a_connection_that_was_opened_for_another_was_not_sent_early() -> None:
    """Sent 1 ms after it was due, on a new connection that had taken 20 ms: it waited for none of them."""
    requests = every_second(lag_s=0.001, connect_s=0.020).measured().served.requests
    assert requests["lag_s"].to_list() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("part", ["tokenize", "prefill"])
def test_an_in_process_time_is_the_median_of_the_requests_that_report_it(part: str) -> None:
    """1 ... 300 ms in no order: the median is 150.5 ms."""
    made, times = ServingMade(rate=(10.0,), blocks=3), np.random.default_rng(3).permutation(300) + 1
    for block, launch in enumerate(np.split(times, 3)):
        number = made.launch(block=block)
        for index, milliseconds in enumerate(launch.tolist()):
            made.request(number, index * 0.2, ttft_s=1.0, **{f"{part}_s": milliseconds / 1e3})  # type: ignore[arg-type]
    assert estimate(f"{part}_time_p50", made, "rate=10").value == pytest.approx(0.1505)


@pytest.mark.parametrize("part", ["tokenize", "prefill"])
def test_behind_a_server_it_does_not_apply(part: str) -> None:
    value = absent(f"{part}_time_p50", every_second())
    assert (value.reason, "in this process" in value.detail) == ("not_applicable", True)
    assert list(values_of(f"{part}_time_p50", every_second())) == ["rate=1"]
