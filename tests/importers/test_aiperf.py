"""AIPerf's lines become rows with their times of day; its totals say what was asked, and alone they stay totals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.importers.support.importing import import_results
from tests.importers.reading import foreign, imported, measured, one, refusal, reported, requests, serving_of, value_of
from tests.importers.samples import START_S, aiperf_line, aiperf_lines, aiperf_totals, latency_s, ttft_s, write

pytestmark = pytest.mark.slow


LINES, TOTALS = "profile_export.jsonl", "profile_export_aiperf.json"


def test_every_number_of_a_line_is_carried_over(tmp_path: Path) -> None:
    record = one(tmp_path, LINES, aiperf_lines())
    row = requests(record).row(5, named=True)
    assert row["sent_ns"] == round((START_S + 1.25) * 1e9)
    assert row["scheduled_ns"] == row["sent_ns"]
    assert row["first_token_ns"] - row["sent_ns"] == round(ttft_s(5) * 1e9)
    assert row["last_token_ns"] - row["sent_ns"] == round(latency_s(5) * 1e9)
    assert row["done_ns"] - row["sent_ns"] == round(latency_s(5) * 1e9) + 500_000
    assert row["chunk_ns"] == [round(ttft_s(5) * 1e9) + 10_000_000 * place for place in range(10)]
    assert (row["session"], row["turn"], row["phase"], row["tokens_out"], row["text"]) == (5, 0, "main", None, None)
    counted = record.table("token_counts").row(5, named=True)
    assert (counted["tokens_in"], counted["tokens_out"]) == (50, 10)  # by AIPerf's tokenizer
    assert record.table("launches")["begin_utc"][0] == "2026-01-01T00:00:00.000+00:00"


def test_the_servers_usage_is_kept_apart_from_the_tokenizers_count(tmp_path: Path) -> None:
    record = one(tmp_path, LINES, aiperf_lines(usage=True))
    row = requests(record).row(0, named=True)
    assert (row["tokens_in"], row["tokens_out"]) == (53, 11)
    assert record.table("token_counts")["tokens_out"][0] == 10


def test_rates_are_made_of_the_times_of_day(tmp_path: Path) -> None:
    assert value_of(one(tmp_path, LINES, aiperf_lines()), "request_throughput", "trace") == pytest.approx(4.0, rel=0.02)


def test_failed_and_cancelled_requests_have_their_class(tmp_path: Path) -> None:
    cancelled = aiperf_line(1, failed={1})
    cancelled["metadata"]["was_cancelled"] = True
    cancelled["error"] = {"code": 499, "type": "RequestCancellationError", "message": "Request was cancelled after 0.000 seconds"}
    refused = aiperf_line(2, failed={2})
    refused["error"] = {"code": None, "type": "ClientConnectorError", "message": "Cannot connect to host localhost:8000"}
    text = "".join(json.dumps(line) + "\n" for line in (aiperf_line(0, failed={0}), cancelled, refused, aiperf_line(3)))
    rows = requests(one(tmp_path, LINES, text))
    assert rows["status"].to_list() == ["5xx", "cancelled", "refused", "ok"]
    assert rows["http_status"].to_list() == [500, 499, None, None]
    assert rows["error"][0] == "InternalServerError: out of memory"
    assert rows["first_token_ns"].null_count() == 3


def test_warm_up_requests_are_kept_and_not_counted(tmp_path: Path) -> None:
    warm = [aiperf_line(i) for i in range(50)]
    for line in warm[:10]:
        line["metadata"]["benchmark_phase"] = "warmup"
    record = one(tmp_path, LINES, "".join(json.dumps(line) + "\n" for line in warm))
    assert requests(record)["phase"].to_list().count("warm_up") == 10
    assert record.served.requests["counted"].sum() == 40


def test_the_totals_beside_the_lines_say_what_was_asked_and_what_was_reported(tmp_path: Path) -> None:
    write(tmp_path / TOTALS, aiperf_totals())
    record = one(tmp_path, LINES, aiperf_lines())
    serving = serving_of(record)
    assert record.configurations == ("concurrency=8",)
    assert (serving.model, serving.task, serving.stream, serving.scenarios) == ("tiny/model", "chat", True, ("D(50,10)",))
    assert serving.targets[0].urls == ("http://localhost:8000",)  # neither who may use it nor what stands behind it
    assert foreign(record)["version"] == "0.13.0"
    assert reported(record)["p99 TTFT"] == 138.61
    assert reported(record)["output tokens per second"] == 40.0


@pytest.mark.parametrize(
    ("loadgen", "configuration", "process"),
    [
        ({"concurrency": 4}, "concurrency=4", "closed"),
        ({"request_rate": 4.0, "request_rate_mode": "constant"}, "rate=4", "constant"),
        ({"request_rate": 4.0, "concurrency": 16}, "rate=4", "poisson"),
        ({"request_rate": 4.0, "arrival_pattern": "gamma", "arrival_smoothness": 4.0}, "rate=4", "gamma"),
        ({"request_rate": 4.0, "request_rate_mode": "something_new"}, "trace", "trace"),
        ({}, "trace", "trace"),
    ],
)
def test_the_load_is_rebuilt_as_the_configuration_says_it(
    tmp_path: Path, loadgen: dict[str, Any], configuration: str, process: str
) -> None:
    write(tmp_path / TOTALS, aiperf_totals(input_config={"loadgen": loadgen}))
    record = one(tmp_path, LINES, aiperf_lines())
    assert record.configurations == (configuration,)
    serving = serving_of(record)
    assert serving.arrivals.process == process
    assert ("serving.load" in foreign(record)["unsaid"]) == (process == "trace")


def test_the_newer_shape_of_the_configuration_is_read_too(tmp_path: Path) -> None:
    config = {
        "models": {"items": [{"name": "tiny/model"}]},
        "endpoint": {"urls": ["http://router:8000/v1"], "type": "chat"},
        "phases": [{"name": "warmup", "concurrency": 1}, {"name": "profiling", "type": "concurrency", "concurrency": 4}],
    }
    write(tmp_path / TOTALS, aiperf_totals(input_config=config))
    record = one(tmp_path, LINES, aiperf_lines())
    assert record.configurations == ("concurrency=4",)
    serving = serving_of(record)
    assert (serving.model, serving.targets[0].urls) == ("tiny/model", ("http://router:8000",))


def test_totals_alone_stay_totals_and_name_the_file_with_the_requests(tmp_path: Path) -> None:
    (made,) = imported(tmp_path, TOTALS, aiperf_totals())
    assert (made.requests, made.has_requests) == (0, False)
    assert any(LINES in words for words in made.missing)
    assert reported(measured(made))["avg TTFT"] == 119.5


def test_of_a_folder_the_lines_are_read(tmp_path: Path) -> None:
    write(tmp_path / "artifacts" / LINES, aiperf_lines())
    write(tmp_path / "artifacts" / TOTALS, aiperf_totals())
    (made,) = import_results(tmp_path / "artifacts", tmp_path / "records", clock=FakeClock())
    assert (made.requests, made.launches) == (40, 1)


def test_no_key_of_the_configuration_reaches_the_record(tmp_path: Path) -> None:
    write(tmp_path / TOTALS, aiperf_totals())
    (made,) = imported(tmp_path, LINES, aiperf_lines())
    everything = b"".join(file.read_bytes() for file in made.path.rglob("*") if file.is_file())
    assert b"sk-verysecret" not in everything
    assert b"secretpassword1" not in everything


def test_fewer_lines_than_the_totals_tell_are_doubted(tmp_path: Path) -> None:
    write(tmp_path / TOTALS, aiperf_totals())
    record = one(tmp_path, LINES, aiperf_lines(requests=30))
    assert foreign(record)["doubts"] == ["its totals report 40 requests, but it lists 30"]


def changed(**change: Any) -> str:
    """Three lines, the second with keys of its parts changed: metadata__key or metrics__key."""
    lines = [aiperf_line(i) for i in range(3)]
    for name, value in change.items():
        part, _, key = name.partition("__")
        lines[1][part][key] = value
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"metadata__request_start_ns": None}, "metadata.request_start_ns"),
        ({"metadata__request_start_ns": 1.5e18}, "metadata.request_start_ns"),
        ({"metadata__request_start_ns": 2**63}, "metadata.request_start_ns"),
        ({"metadata__request_end_ns": 5}, "metadata.request_end_ns"),
        ({"metadata__benchmark_phase": "cooldown"}, "metadata.benchmark_phase"),
        ({"metrics__time_to_first_token": {"value": -1, "unit": "ms"}}, "metrics.time_to_first_token.value"),
        ({"metrics__time_to_first_token": {"value": 1, "unit": "weeks"}}, "weeks"),
        ({"metrics__time_to_first_token": 5}, "metrics.time_to_first_token"),
        ({"metrics__inter_chunk_latency": {"value": [1, "x"], "unit": "ms"}}, "metrics.inter_chunk_latency.value[1]"),
        ({"metrics__output_sequence_length": {"value": 1.5, "unit": "tokens"}}, "metrics.output_sequence_length.value"),
    ],
)
def test_a_wrong_line_is_refused_by_field_and_line(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    message = refusal(tmp_path, LINES, changed(**change))
    assert told in message
    assert "line 2" in message


def test_a_line_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="line 40"):
        imported(tmp_path, LINES, aiperf_lines()[:-50])
