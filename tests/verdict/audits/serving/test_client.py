"""Did the client send and stamp as planned?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fireassay.spec.sections.serving import Objectives
from tests.serving_made import ServingMade
from tests.tiers import some
from tests.verdict.served import blind, changed, clean, found, rules, steady

# ---- client ceiling ----
# client_ceiling: a load beyond what the client was calibrated for is inadmissible, near it a warning.


def load(calibration: Any, *, processes: int = 1) -> ServingMade:
    """100 requests, one every 0.05 s: 99 gaps in 4.95 s are 20 a second; two chunks each."""
    made = ServingMade(rate=(20.0,), blocks=3, seconds=5.0, client={"processes": processes})
    steady(made, tokens_out=2)
    if calibration is not None:
        made.manifest["environment"] = {"before": {"doctor": {"client": calibration}}}
    return made


def test_without_a_calibration_there_is_a_note() -> None:
    measured = load(None).measured()
    assert rules("client_ceiling", measured) == [("client_not_calibrated", "note")]
    assert "never calibrated" in (blind("client_ceiling", measured) or "")


def test_far_below_the_ceiling_nothing_is_said() -> None:
    measured = load({"ceiling": {"requests_per_s": 14_000.0, "chunks_per_s": 400_000.0}}).measured()
    assert found("client_ceiling", measured) == ()
    assert blind("client_ceiling", measured) is None


@pytest.mark.parametrize(("ceiling", "severity"), [(40.1, []), (39.9, ["warning"]), (20.1, ["warning"]), (19.9, ["invalid"])])
def test_half_of_the_ceiling_is_let_pass_more_is_not_and_beyond_it_is_inadmissible(ceiling: float, severity: list[str]) -> None:
    measured = load({"requests_per_s": ceiling}).measured()
    assert [one.severity for one in found("client_ceiling", measured)] == severity


def test_the_share_of_the_ceiling_is_said() -> None:
    """20 / 25 = 80 %."""
    (finding,) = found("client_ceiling", load({"requests_per_s": 25.0}).measured())
    assert finding.evidence == "20 requests per second are 80 % of what the client can carry here (25, by assay doctor client)"


def test_chunks_have_a_ceiling_of_their_own() -> None:
    """40 / 30 = 133 %."""
    (finding,) = found("client_ceiling", load({"requests_per_s": 1e6, "chunks_per_s": 30.0}).measured())
    assert finding.evidence.startswith("40 chunks per second are 133 %")
    assert finding.severity == "invalid"


def test_several_processes_carry_as_many_times_as_much() -> None:
    assert found("client_ceiling", load({"requests_per_s": 21.0}, processes=2).measured()) == ()


def test_a_calibration_of_another_version_or_month_is_named() -> None:
    calibration = {"ceiling": {"requests_per_s": 1e6}, "stale": "40 days old: run assay doctor client again"}
    assert rules("client_ceiling", load(calibration).measured()) == [("client_calibration_stale", "note")]


# ---- send lag ----
# send_lag: a client that sends late is named in every run, a healthy one in none.


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(20), 2))
def test_an_overloaded_client_is_flagged_and_a_healthy_one_is_not(seed: int) -> None:
    """Lag is exponential: a mean of 0.2 ms has its p99 at 0.9 ms, of a median latency of about 0.36 s 0.3 %; 5 ms have it at 23 ms, 6 %."""
    assert found("send_lag", clean(seed=seed, lag_s=0.0002)) == ()
    assert ("client_bound", "invalid") in rules("send_lag", clean(seed=seed, lag_s=0.005))


def send_lag_made(**row: Any) -> ServingMade:
    record = ServingMade(rate=(20.0,), blocks=3, seconds=5.0, **row.pop("asked", {}))
    steady(record, **{"ttft_s": 0.1, "gap_s": 0.1, "tokens_out": 10, **row})
    return record


def test_the_limit_is_a_share_of_the_median_latency() -> None:
    """The latency is 0.1 + 9 x 0.1 = 1 s, so that 10 ms of lag are let pass and 11 ms are not."""
    assert found("send_lag", send_lag_made(lag_s=0.010).measured()) == ()
    (finding,) = found("send_lag", send_lag_made(lag_s=0.011).measured())
    assert (finding.rule, finding.severity, finding.configuration) == ("client_bound", "invalid", "rate=20")
    assert finding.evidence == (
        "requests were sent late: p99 of the lag 11.0 ms, which is 1.1 % of the median latency of 1 s; at most 1 % are allowed; "
        "in 3 of 3 launches (launches 0, 1, 2)"
    )


def test_the_experiment_sets_the_limits() -> None:
    assert found("send_lag", send_lag_made(lag_s=0.011, asked={"client": {"most_lag": 0.02}}).measured()) == ()


def test_the_time_of_a_new_connection_is_not_the_clients() -> None:
    assert found("send_lag", send_lag_made(lag_s=0.5, connect_s=0.495).measured()) == ()


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


def thinking(lag_s: float = 0.0, kind: str = "think", pause_s: float = 0.5, answer_s: float = 1.0) -> ServingMade:
    """Two streams of conversations of 3 requests with pauses inside of them; the client adds `lag_s` before each."""
    record = ServingMade(concurrency=(2,), blocks=1, seconds=30.0)
    launch = record.launch()
    for stream in range(2):
        free = 0.1 * stream
        for place in range(10):
            pauses = place % 3 > 0
            due = free + (pause_s if pauses else 0.0)
            how: dict[str, Any] = {"pause_s": pause_s, "pause_kind": kind} if pauses else {}
            late = lag_s if place else 0.0
            record.request(launch, due, lag_s=late, at_s=[lag_s + answer_s], tokens_out=1, stream=stream, follows=place > 0, **how)
            free = due + lag_s + answer_s
    return record


@pytest.mark.parametrize("kind", ["think", "tool", "retrieval"])
def test_pauses_on_purpose_are_the_load_and_not_missing_from_it(kind: str) -> None:
    assert found("send_lag", thinking(kind=kind).measured()) == ()
    assert found("send_lag", thinking(0.015, kind=kind).measured()) == ()  # 1.5 % of what is not a pause


def test_beside_pauses_a_late_client_is_still_named() -> None:
    """From 1.15 to 12.6 s: 8.1 and 8 s in flight, 2.9 and 3 s of pauses: 16.1 + 5.9 of 22.9 s."""
    (finding,) = found("send_lag", thinking(0.05).measured())
    assert finding.evidence.startswith("only 96.1 % of the requested concurrency was in flight or in a pause on purpose")


def test_with_pauses_the_load_is_a_request_per_answer_and_pause_however_fast_the_server() -> None:
    """Little's law: N / (answer + pause + lag) instead of N / (answer + pause); 2 ms in (3 x 5 + 2 x 500) / 3 ms are 0.6 %."""
    assert found("send_lag", thinking(0.002, answer_s=0.005).measured()) == ()


def test_a_wait_that_the_server_asked_for_is_no_pause_on_purpose() -> None:
    assert rules("send_lag", thinking(kind="none").measured()) == [("load_not_achieved", "invalid")]


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
    assert found("send_lag", send_lag_made(lag_s=0.0009, **short).measured()) == ()
    assert rules("send_lag", send_lag_made(lag_s=0.0012, **short).measured()) == [("client_bound", "invalid")]


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


# ---- transport ----
# transport: the library's path is a note, mixed paths are a warning.


@pytest.mark.slow
def test_the_lean_path_needs_no_word() -> None:
    assert found("transport", clean()) == ()


@pytest.mark.slow
def test_the_librarys_path_is_a_note() -> None:
    library = changed(clean(), "requests", lambda frame: frame.with_columns(transport=pl.lit("library")))
    assert rules("transport", library) == [("library_transport", "note")]


@pytest.mark.slow
def test_two_paths_in_one_record_are_a_warning() -> None:
    path = pl.when(pl.col("request") % 4 == 0).then(pl.lit("library")).otherwise(pl.col("transport"))
    (finding,) = found("transport", changed(clean(), "requests", lambda frame: frame.with_columns(transport=path)))
    assert (finding.rule, finding.severity) == ("transports_mixed", "warning")
    assert "% lean" in finding.evidence
    assert "% library" in finding.evidence


# ---- stamp uncertainty ----
# stamp_uncertainty: times that may be off by more than a fiftieth are no measurement, and what nobody knows is not called certain.


def stamps_made(**row: Any) -> ServingMade:
    """TTFT 0.1 s, nine gaps of 0.1 s: E2E 1 s."""
    asked = row.pop("asked", {})
    record = ServingMade(rate=(20.0,), blocks=3, seconds=5.0, **asked)
    steady(record, **{"ttft_s": 0.1, "gap_s": 0.1, "tokens_out": 10, **row})
    return record


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_record_whose_times_are_known_is_not_flagged(seed: int) -> None:
    assert found("stamp_uncertainty", clean(seed=seed)) == ()


@pytest.mark.slow
def test_the_limit_is_a_share_of_the_median_of_each_latency() -> None:
    """A fiftieth of 0.1 s is 2 ms; of a time per token of 0.1 s likewise, of which 2 x 2.1 ms / 9 is far away."""
    assert found("stamp_uncertainty", stamps_made(unsure_s=0.002).measured()) == ()
    (finding,) = found("stamp_uncertainty", stamps_made(unsure_s=0.0021).measured())
    assert (finding.rule, finding.severity, finding.configuration) == ("times_uncertain", "invalid", "rate=20")
    assert finding.evidence == (
        "TTFT is too uncertain: p99 of its uncertainty 2.10 ms, at a median of 100 ms; at most 2 ms (2 %, or the fixed "
        "allowance) is admissible; in 3 of 3 launches (launches 0, 1, 2)"
    )


def test_the_remedy_names_other_programs_where_they_took_the_processors() -> None:
    """Busy 10 of 20 processor seconds, 1 of them the launch's own: 45 % belong to others."""
    record = stamps_made(unsure_s=0.0021)
    for launch in record.t0:
        shared_with_others(record, launch)
    (finding,) = found("stamp_uncertainty", record.measured())
    assert "other programs used 45 % of the processors" in finding.remedy
    assert "fewer streams" not in finding.remedy


def test_the_remedy_names_no_programs_that_ran_beside_another_launch() -> None:
    record = ServingMade(rate=(20.0, 40.0), blocks=3, seconds=5.0)
    for configuration, row in (("rate=20", {"unsure_s": 0.0021}), ("rate=40", {})):
        for block in range(3):
            launch = record.launch(configuration, block=block)
            for at in range(60):
                record.request(launch, 0.5 + at * 0.05, ttft_s=0.1, gap_s=0.1, tokens_out=10, **row)
            if configuration == "rate=40":
                shared_with_others(record, launch)
    (finding,) = found("stamp_uncertainty", record.measured())
    assert finding.configuration == "rate=20"
    assert "fewer streams" in finding.remedy


def shared_with_others(record: ServingMade, launch: int) -> None:
    for at, busy, idle, own in ((0.0, 0.0, 0.0, 0.0), (5.0, 10.0, 10.0, 1.0)):
        record.reading(launch, "cpu", "busy", busy, at_s=at)
        record.reading(launch, "cpu", "idle", idle, at_s=at)
        record.reading(launch, "cpu", "steal", 0.0, at_s=at)
        record.reading(launch, "launch", "cpu_time", own, at_s=at)


@pytest.mark.slow
def test_a_millisecond_is_allowed_however_short_the_latency_is() -> None:
    """Of a TTFT of 10 ms a fiftieth is 0.2 ms."""
    assert found("stamp_uncertainty", stamps_made(ttft_s=0.01, unsure_s=0.001).measured()) == ()
    assert rules("stamp_uncertainty", stamps_made(ttft_s=0.01, unsure_s=0.0011).measured()) == [("times_uncertain", "invalid")]


@pytest.mark.slow
def test_the_experiment_sets_both_limits() -> None:
    client = {"most_uncertainty": 0.03, "free_uncertainty_s": 0.0}
    assert found("stamp_uncertainty", stamps_made(unsure_s=0.003, asked={"client": client}).measured()) == ()
    assert rules("stamp_uncertainty", stamps_made(unsure_s=0.0031, asked={"client": client}).measured()) == [("times_uncertain", "invalid")]


@pytest.mark.slow
def test_every_latency_is_judged_by_itself() -> None:
    """30 ms of a TTFT of 0.1 s, of an E2E of 1 s, and 2 x 30 / 9 = 6.7 ms of a TPOT of 0.1 s."""
    evidence = [one.evidence.split(" is ")[0] for one in found("stamp_uncertainty", stamps_made(unsure_s=0.03).measured())]
    assert evidence == ["TTFT", "TPOT", "E2E"]


@pytest.mark.slow
def test_gaps_are_judged_where_an_objective_names_them() -> None:
    """1.5 ms of a TTFT of 0.1 s pass; of a gap of 0.1 s the two chunks' 3 ms do not."""
    assert found("stamp_uncertainty", stamps_made(unsure_s=0.0015).measured()) == ()
    record = stamps_made(unsure_s=0.0015, asked={"objectives": Objectives(itl_s=0.5)})
    (finding,) = found("stamp_uncertainty", record.measured())
    assert finding.evidence.startswith("ITL is too uncertain: p99 of its uncertainty 3 ms")


@pytest.mark.slow
def test_the_first_visible_text_is_judged_where_an_objective_names_it() -> None:
    kinds = {"kinds": [2, *[1] * 9], "unsure_s": 0.0045}  # the visible text begins at 0.2 s
    names = [one.evidence.split(" is ")[0] for one in found("stamp_uncertainty", stamps_made(**kinds).measured())]
    assert names == ["TTFT"]
    record = stamps_made(**kinds, asked={"objectives": Objectives(ttft_visible_s=0.5)})
    assert [one.evidence.split(" is ")[0] for one in found("stamp_uncertainty", record.measured())] == ["TTFT", "visible TTFT"]


def stumbled(launches: int, share: int = 2) -> ServingMade:
    """So many of three launches in which one request in `share` is unsure."""
    record = ServingMade(rate=(20.0,), blocks=3, seconds=5.0)
    for block in range(3):
        launch = record.launch(block=block)
        for place in range(100):
            unsure = block < launches and place % share == 0
            record.request(launch, 0.05 * place, ttft_s=0.1, gap_s=0.1, tokens_out=10, unsure_s=0.005 if unsure else 0.0)
    return record


@pytest.mark.slow
def test_one_launch_that_stumbled_is_a_warning_and_most_are_invalid() -> None:
    assert rules("stamp_uncertainty", stumbled(1).measured()) == [("times_uncertain", "warning")]
    assert rules("stamp_uncertainty", stumbled(2).measured()) == [("times_uncertain", "invalid")]


@pytest.mark.slow
def test_one_request_in_a_hundred_may_be_unsure() -> None:
    assert found("stamp_uncertainty", stumbled(3, share=100).measured()) == ()


@pytest.mark.slow
def test_what_nobody_knows_is_a_note_and_neither_certain_nor_invalid() -> None:
    record = stamps_made(unsure_s=None).measured()
    assert rules("stamp_uncertainty", record) == [("uncertainty_unknown", "note")]
    assert blind("stamp_uncertainty", record) == "the uncertainty of the answers' times is unknown"
    assert blind("stamp_uncertainty", clean()) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("transport", "remedy"), [("library", "transport"), ("process", "serve the model"), ("foreign", "serve the model")]
)
def test_the_remedy_depends_on_why_the_uncertainty_is_unknown(transport: str, remedy: str) -> None:
    record = stamps_made(unsure_s=None).measured()
    rows = record.tables["requests"].with_columns(transport=pl.lit(transport))
    (finding,) = found("stamp_uncertainty", replace(record, tables={**record.tables, "requests": rows}))
    assert remedy in finding.remedy
