"""send_lag: a client that sends late is named in every run, a healthy one in none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.serving_made import ServingMade
from tests.tiers import some
from tests.verdict.served import blind, clean, found, rules, steady


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(20), 2))
def test_an_overloaded_client_is_flagged_and_a_healthy_one_is_not(seed: int) -> None:
    """Lag is exponential: a mean of 0.2 ms has its p99 at 0.9 ms, of a median latency of about 0.36 s 0.3 %; 5 ms have it at 23 ms, 6 %."""
    assert found("send_lag", clean(seed=seed, lag_s=0.0002)) == ()
    assert ("client_bound", "invalid") in rules("send_lag", clean(seed=seed, lag_s=0.005))


def made(**row: Any) -> ServingMade:
    record = ServingMade(rate=(20.0,), blocks=3, seconds=5.0, **row.pop("asked", {}))
    steady(record, **{"ttft_s": 0.1, "gap_s": 0.1, "tokens_out": 10, **row})
    return record


def test_the_limit_is_a_share_of_the_median_latency() -> None:
    """The latency is 0.1 + 9 x 0.1 = 1 s, so that 10 ms of lag are let pass and 11 ms are not."""
    assert found("send_lag", made(lag_s=0.010).measured()) == ()
    (finding,) = found("send_lag", made(lag_s=0.011).measured())
    assert (finding.rule, finding.severity, finding.configuration) == ("client_bound", "invalid", "rate=20")
    assert finding.evidence == (
        "requests were sent late: p99 of the lag 11.0 ms, which is 1.1 % of the median latency of 1 s; at most 1 % are allowed; "
        "in 3 of 3 launches (launches 0, 1, 2)"
    )


def test_the_experiment_sets_the_limits() -> None:
    assert found("send_lag", made(lag_s=0.011, asked={"client": {"most_lag": 0.02}}).measured()) == ()


def test_the_time_of_a_new_connection_is_not_the_clients() -> None:
    assert found("send_lag", made(lag_s=0.5, connect_s=0.495).measured()) == ()


def test_one_launch_that_stumbled_is_a_warning() -> None:
    record = ServingMade(rate=(20.0,), blocks=3, seconds=5.0)
    for block in range(3):
        launch = record.launch(block=block)
        for place in range(100):
            record.request(launch, 0.05 * place, ttft_s=0.1, gap_s=0.1, tokens_out=10, lag_s=0.05 if block == 1 else 0.0)
    (finding,) = found("send_lag", record.measured())
    assert finding.severity == "warning"
    assert finding.evidence.endswith("in 1 of 3 launches (launch 1)")


def held(number: int) -> ServingMade:
    """100 requests due, of which the last `number` were never sent."""
    record = ServingMade(rate=(20.0,), blocks=1, seconds=5.0)
    launch = record.launch()
    for place in range(100):
        unsent = place >= 100 - number
        record.request(launch, 0.05 * place, status="unsent" if unsent else "ok", lag_s=None if unsent else 0.0)
    return record


def test_requests_that_were_never_sent_lower_the_achieved_load() -> None:
    assert found("send_lag", held(2).measured()) == ()
    (finding,) = found("send_lag", held(3).measured())
    assert (finding.rule, finding.severity) == ("load_not_achieved", "invalid")
    assert finding.evidence.startswith("only 97 % of the requested load was sent; at least 98 % are needed")


def test_a_client_that_falls_behind_sends_at_a_lower_rate() -> None:
    """Due over 4.95 s, sent over 10 % more: 1/1.1 = 90.9 % of the rate."""
    record = ServingMade(rate=(20.0,), blocks=1, seconds=5.0)
    launch = record.launch()
    for place in range(100):
        record.request(launch, 0.05 * place, lag_s=0.005 * place, ttft_s=100.0)  # so slow that the lag itself is no sign
    (finding,) = found("send_lag", record.measured())
    assert finding.rule == "load_not_achieved"
    assert finding.evidence.startswith("only 90.9 % of the requested load was sent")


def test_in_a_closed_loop_a_free_stream_that_waits_is_lost_load() -> None:
    """Each takes 1 s from when its stream was free, 25 ms of it the client's; from the first end to the last sending 9 of 8.025 s / 25
    ms.
    """
    record = ServingMade(concurrency=(1,), blocks=1, seconds=10.0, client={"most_lag": 0.5})
    launch = record.launch()
    for place in range(10):
        record.request(launch, float(place), lag_s=0.025, ttft_s=0.5, gap_s=0.5, tokens_out=2, stream=0, follows=place > 0)
    (finding,) = found("send_lag", record.measured())
    assert finding.rule == "load_not_achieved"
    assert finding.evidence.startswith("only 97.2 % of the requested concurrency was in flight")


def closed(lag_s: float, requests: int = 100, latency_s: float = 0.64, streams: int = 32) -> ServingMade:
    """Streams that keep step; each waits for the client after every answer."""
    record = ServingMade(concurrency=(streams,), blocks=1, seconds=requests * (latency_s + lag_s))
    launch = record.launch()
    for stream in range(streams):
        for place in range(requests):
            record.request(
                launch,
                place * (latency_s + lag_s),
                lag_s=lag_s if place else 0.0,
                at_s=[lag_s + latency_s / 2, lag_s + latency_s],
                tokens_out=2,
                stream=stream,
                follows=place > 0,
            )
    return record


@pytest.mark.slow
def test_in_a_closed_loop_the_lag_is_the_clients_own_think_time() -> None:
    """7 ms of 0.64 s: 1.1 % of the latency, which an open loop would not be allowed; and 98.9 % were in flight."""
    assert found("send_lag", closed(0.007).measured()) == ()
    (finding,) = found("send_lag", closed(0.02).measured())  # 97 %
    assert (finding.rule, finding.severity) == ("load_not_achieved", "invalid")


def test_a_stream_that_has_no_further_request_is_no_lost_load() -> None:
    """Two streams of four requests, one twice as fast: while the slow one goes on alone, nothing more was asked for."""
    record = ServingMade(concurrency=(2,), blocks=1, seconds=10.0)
    launch = record.launch()
    for stream, latency in enumerate((1.0, 2.0)):
        for place in range(4):
            record.request(launch, place * latency, at_s=[latency], tokens_out=1, stream=stream, follows=place > 0)
    assert found("send_lag", record.measured()) == ()


def test_a_lag_below_a_millisecond_is_none_however_short_the_latency() -> None:
    """Latencies of 20 ms, of which 1 % are 0.2 ms."""
    short = {"ttft_s": 0.01, "gap_s": 0.01, "tokens_out": 2}
    assert found("send_lag", made(lag_s=0.0009, **short).measured()) == ()
    assert rules("send_lag", made(lag_s=0.0012, **short).measured()) == [("client_bound", "invalid")]


def test_requests_that_the_server_refused_were_sent() -> None:
    record = ServingMade(rate=(20.0,), blocks=1, seconds=5.0)
    launch = record.launch()
    for place in range(100):
        record.request(launch, 0.05 * place, **({"status": "refused", "lag_s": None} if place % 2 else {}))
    assert found("send_lag", record.measured()) == ()


def test_a_record_without_times_of_sending_cannot_be_examined() -> None:
    record = ServingMade(rate=(20.0,), blocks=1)
    record.launch()
    assert blind("send_lag", record.measured()) == "no request of a timed launch has a sending time"
    assert blind("send_lag", clean()) is None
