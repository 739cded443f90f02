"""The live view's percentiles are those of the last requests."""

from __future__ import annotations

from fireassay.traffic.client.accounting import RECENT, Window


def test_percentiles_are_of_the_last_requests_in_milliseconds() -> None:
    window = Window()
    for number in range(10 * RECENT):
        ms = 1_000_000 * (1000 if number < 9 * RECENT else 1 + number % 100)
        window.take(due_ns=0, sent_ns=ms // 10, first_ns=ms, last_ns=2 * ms, tokens=2)
    told = window.report("load", 3)
    assert told["ttft_ms"]["p50"] <= 60.0
    assert told["ttft_ms"]["p99"] <= 100.0
    assert told["e2e_ms"]["p50"] == 2 * told["ttft_ms"]["p50"]
    assert told["tpot_ms"] == told["ttft_ms"]
    assert (told["tokens"], told["in_flight"], told["state"]) == (20 * RECENT, 3, "load")


def test_a_window_without_requests_tells_no_number() -> None:
    told = Window().report("ready", 0)
    assert (told["ttft_ms"], told["lag_ms_p99"], told["due"]) == ({}, None, 0)


def test_an_answer_of_one_token_has_no_time_per_token() -> None:
    window = Window()
    window.take(due_ns=0, sent_ns=1, first_ns=5_000_000, last_ns=5_000_000, tokens=1)
    told = window.report("load", 0)
    assert (told["tpot_ms"], told["ttft_ms"]["p50"]) == ({}, 5.0)
