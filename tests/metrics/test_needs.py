"""Records without times of day have percentiles and shares, and no rates; what an import cannot say is absent with its reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.record_data import RecordData
from fireassay.metrics.results import unmet
from fireassay.metrics.serving.latency import METRICS as LATENCIES
from fireassay.metrics.serving.throughput import METRICS as THROUGHPUTS
from fireassay.verdict.judge import judge
from tests.metrics.narrow import absence, estimated
from tests.serving_made import ServingMade

pytestmark = pytest.mark.slow


def record(**foreign: Any) -> RecordData:
    """Three launches of forty requests: first tokens after 0.1, 0.2 and 0.3 s in turn, and every fourth one failed."""
    made = ServingMade(concurrency=(2,), blocks=3)
    for block in range(3):
        launch = made.launch(block=block)
        for place in range(10):
            for more, ttft in enumerate((0.1, 0.2, 0.3)):
                made.request(launch, place + 0.2 * more, ttft_s=ttft)
            made.request(launch, place + 0.8, status="5xx")
    measured = made.measured()
    told = {"tool": "vllm", "title": "vLLM bench serve", "clock": "sent", "times": "none", "requests": True, **foreign}
    return replace(measured, manifest={**measured.manifest, "foreign": told})


def test_every_request_counts_where_none_has_a_time_of_day() -> None:
    served = record().served
    assert served.requests["counted"].to_list() == [True] * 120
    assert served.windows["seconds"].null_count() == served.windows.height == 3


def test_percentiles_and_shares_are_known_and_rates_are_not() -> None:
    results = judge(record()).results
    median, failed = estimated(results["ttft_p50"]["concurrency=2"]), estimated(results["error_rate"]["concurrency=2"])
    assert median.value == 0.2
    assert failed.value == 0.25
    for name in ("output_throughput", "request_throughput", "achieved_rate", "in_flight_mean", "little_ratio"):
        rate = results[name]["concurrency=2"]
        assert isinstance(rate, Absent), name
        assert "does not say when its requests were sent" in rate.detail


def test_a_record_with_all_times_has_rates_too() -> None:
    whole = record(times="whole")
    assert not whole.timeless
    assert isinstance(judge(whole).results["request_throughput"]["concurrency=2"], Estimate)


def test_due_times_are_unknown_if_the_clock_starts_at_sending() -> None:
    sent, scheduled = (judge(record(times="whole", clock=clock)).results for clock in ("sent", "scheduled"))
    for name in ("send_lag_p99", "offered_rate"):
        assert "only when they were sent" in absence(sent[name]["concurrency=2"]).detail
    assert isinstance(scheduled["offered_rate"]["concurrency=2"], Estimate)


def test_other_tools_definitions_are_not_applied_to_a_tools_own_chunks() -> None:
    results = judge(record(times="whole")).results
    assert isinstance(results["ttft_vllm"]["concurrency=2"], Estimate)
    assert absence(results["ttft_guidellm"]["concurrency=2"]).reason == "not_applicable"


def test_totals_alone_give_no_metric_at_all() -> None:
    results = judge(record(requests=False)).results
    assert {type(value) for values in results.values() for value in values.values()} == {Absent}


def test_our_own_records_lack_nothing() -> None:
    measured = record()
    ours = replace(measured, manifest={key: value for key, value in measured.manifest.items() if key != "foreign"})
    assert all(unmet(metric, ours) is None for metric in (*LATENCIES, *THROUGHPUTS))
    assert ours.foreign is None
    assert not ours.timeless
