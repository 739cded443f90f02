"""Are clients on several hosts named when they sent something else, late, on an unknown clock, or died?"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.client_clocks import APART, client_clocks, on_common_clock
from fireassay.metrics.results import LazyResults
from fireassay.record.declared import CLOCKS
from fireassay.record.folder import table_row
from tests.serving_made import ServingMade
from tests.verdict.served import blind, found, rules

MS, S = 1_000_000, 1_000_000_000
APART_NS = {"a": 0, "b": 5000 * S}  # own time of each host minus the coordinator's
Reading = Callable[[int], tuple[int, int]]  # number of the reading -> round trip, error of the host's clock


def quick(_: int) -> tuple[int, int]:
    return 200_000, 0


def made(readings: Reading = quick, *, lost_at_s: float | None = None, late_s: float = 0.0, others: list[int] | None = None) -> RecordData:
    """One launch of 10 s at 10 requests/s by clients 0 on a and 1 on b, in turn, as it is recorded: each row on its host's clock."""
    record = ServingMade(rate=(10.0,), process="constant", blocks=1, seconds=10.0, replicas=1)
    launch = record.launch()
    for number in range(100):
        client, due_s = number % 2, number / 10
        gone = lost_at_s is not None and client == 1 and due_s >= lost_at_s
        if gone:
            record.request(launch, due_s, status="lost", client=client, lag_s=None, done_s=None, tokens_out=None)
        else:
            record.request(launch, due_s, done_s=0.05, at_s=[0.02, 0.05], tokens_out=2, client=client, lag_s=late_s * client)
    t0 = record.t0[launch]
    rows = []
    for number in range(30):
        trip, error = readings(number)
        sent = t0 + number * 10 * S // 29
        for client, (host, apart) in enumerate(APART_NS.items()):
            there = sent + trip // 2 + apart + (error if client else 0)
            times = {"sent_ns": sent, "heard_ns": there, "answered_ns": there, "received_ns": sent + trip, "bound_ns": trip // 2}
            rows.append(table_row(CLOCKS, launch=launch, rank=client, incarnation=0, host="vm", peer=host, **times))
    if lost_at_s is not None:
        record.event(launch, "client_lost", lost_at_s, detail={"client": 1, "client_host": "b", "why": "SIGKILL"})
    record.rows["clocks"] += rows
    record.manifest["schedules"] = {str(launch): {"sha256": "0" * 64, "sent": {"requests": 100, "sum": "00", "others": others or []}}}
    measured = record.measured()
    tables = dict(measured.tables)
    offsets = json.dumps({"client_offsets_ns": {host: -apart for host, apart in APART_NS.items()}})
    begin = pl.col("kind") == "load_begin"
    tables["events"] = tables["events"].with_columns(detail=pl.when(begin).then(pl.lit(offsets)).otherwise("detail"))
    tables["launches"] = tables["launches"].with_columns(placement=pl.lit(json.dumps({"client_hosts": ["a", "b"]})))
    own = pl.when(pl.col("client") == 1).then(APART_NS["b"]).otherwise(0)
    times = ("scheduled_ns", "sent_ns", "first_byte_ns", "first_token_ns", "first_visible_ns", "last_token_ns", "done_ns")
    tables["requests"] = tables["requests"].with_columns(pl.col(times) + own)
    return replace(measured, tables=on_common_clock(tables))


def values(measured: RecordData, *names: str) -> list[Any]:
    results = LazyResults(measured, catalog.load_all("metrics"))
    return [results[name]["rate=10"] for name in names]


def test_the_rows_of_all_hosts_are_on_the_coordinators_clock() -> None:
    measured = made()
    begin = measured.table("events").filter(pl.col("kind") == "load_begin")["ns"][0]
    rows = measured.table("requests").sort("request")
    assert ((rows["scheduled_ns"] - begin) / MS).to_list() == [100.0 * number for number in range(100)]
    assert {host: (clock.offset_ns, clock.bound_ns) for (_, host), clock in client_clocks(measured.tables).items()} == {
        "a": (0, pytest.approx(100_000, rel=0.01)),
        "b": (-5000 * S, pytest.approx(100_000, rel=0.01)),
    }
    assert (rules("client_clocks", measured), rules("client_host", measured), rules("client_split", measured)) == ([], [], [])
    assert isinstance(values(measured, "request_throughput")[0], Estimate)


def test_one_slow_reading_does_not_widen_the_bound() -> None:
    measured = made(lambda number: (200 * MS if number == 0 else 200_000, 0))
    assert client_clocks(measured.tables)[0, "b"].bound_ns < 2 * MS


@pytest.mark.parametrize(
    ("readings", "why"),
    [
        (lambda number: (200_000, 50 * MS if number > 15 else 0), "a clock was set"),
        (lambda _: (3 * S, 0), "known to 1.50 s only"),  # a window of 10 s is shorter than ten errors of 3 s
    ],
)
def test_rates_are_refused_and_latencies_stay_if_a_clock_is_not_known(readings: Reading, why: str) -> None:
    measured = made(readings)
    (finding,) = found("client_clocks", measured)
    assert (finding.rule, finding.severity) == ("client_clocks", "warning")
    assert "cannot carry rates (launch 0)" in finding.evidence
    assert why in finding.evidence
    throughput, ttft = values(measured, "request_throughput", "ttft_p50")
    assert throughput == APART
    assert not isinstance(ttft, Absent)
    assert ttft.value == pytest.approx(0.02)


def test_a_client_that_sent_other_requests_is_inadmissible_and_named() -> None:
    (finding,) = found("client_split", made(others=[1]))
    assert (finding.rule, finding.severity) == ("client_split", "invalid")
    assert "client 1 on b sent other requests" in finding.evidence


def test_a_late_host_is_named_and_the_other_is_not() -> None:
    (finding,) = found("client_host", made(late_s=0.008))
    assert finding.rule == "client_host_late"
    assert "late on b by 8 ms" in finding.evidence
    assert " a by" not in finding.evidence


def test_a_lost_host_ends_the_window_and_counts_as_no_error() -> None:
    measured = made(lost_at_s=6.0)
    (finding,) = found("client_host", measured)
    assert (finding.rule, finding.severity) == ("client_host_lost", "warning")
    assert "b died" in finding.evidence
    assert "20 requests lost" in finding.evidence
    assert rules("ledger", measured) == []
    counted = measured.served.requests.filter("counted")
    assert (counted.height, counted["ok"].all()) == (61, True)  # due in the first 6 s; the first lost one was due at 6.1 s
    assert measured.served.windows["seconds"].to_list() == [pytest.approx(6.1)]
    failed, throughput = values(measured, "error_rate", "request_throughput")
    assert failed.value == 0.0
    assert throughput.value == pytest.approx(10.0, rel=0.02)


def test_a_record_of_one_host_is_blind_and_unchanged() -> None:
    record = ServingMade(rate=(10.0,), blocks=1)
    record.request(record.launch(), 0.0, done_s=0.1)
    measured = record.measured()
    assert blind("client_clocks", measured) == blind("client_host", measured) == "all clients ran on one host"
    assert blind("client_split", measured) == "one client process sent every request"
    assert on_common_clock(measured.tables) is measured.tables
