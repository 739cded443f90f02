"""inference-perf: stages as loads, totals as told, and requests with their times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.clock import FakeClock
from fireassay.importers.support.importing import import_results
from tests.importers.reading import foreign, measured, one, refusal, reported, requests
from tests.importers.samples import LOADS, posted

STAGE, REQUESTS = "stage_0_lifecycle_metrics.json", "per_request_lifecycle_metrics.json"
TTFT_S = (0.100, 0.117, 0.134, 0.111, 0.128, 0.105, 0.122)


def test_a_stages_numbers_are_as_told(tmp_path: Path) -> None:
    told = reported(one(tmp_path, STAGE, posted(STAGE)))
    assert told["median TTFT"] == pytest.approx(0.117)
    assert told["p99 end to end"] == pytest.approx(0.218 + 0.94 * 0.006)  # numpy's linear rule between 218 and 224 ms
    assert (told["answered requests"], told["failed requests"]) == (7, 1)
    assert told["p99 sent after due"] == pytest.approx(0.0005)


def test_a_folder_is_its_stages_by_rate_and_by_concurrency(tmp_path: Path) -> None:
    made = import_results(LOADS, tmp_path / "records", clock=FakeClock(), tool="inference_perf")
    assert [record.configurations for record in made] == [("rate=4",), ("concurrency=8",)]
    assert all(not record.has_requests for record in made)
    assert "serving.arrivals.process" in foreign(measured(made[0]))["unsaid"]  # constant or Poisson is not said


def test_requests_have_their_times_and_tokens_by_both_counts(tmp_path: Path) -> None:
    record = one(tmp_path, REQUESTS, posted(REQUESTS))
    rows = requests(record)
    good = rows.head(7)
    assert ((good["first_token_ns"] - good["sent_ns"]) / 1e9).round(6).to_list() == list(TTFT_S)
    assert ((good["done_ns"] - good["sent_ns"]) / 1e9).round(6).to_list() == [round(ttft + 0.09, 6) for ttft in TTFT_S]
    assert (good["tokens_out"].to_list(), good["tokens_in"].to_list()) == ([10] * 7, [50] * 7)
    assert rows["status"].to_list() == ["ok"] * 7 + ["5xx"]
    assert "HTTP Error 504" in rows["error"][7]
    assert "sk-verysecret" not in rows["error"][7]
    assert foreign(record)["times"] == "whole"


def test_a_client_that_sent_late_is_doubted(tmp_path: Path) -> None:
    report = json.loads(posted(STAGE))
    report["load_summary"]["schedule_delay"]["p99"] = 0.25
    assert any("more than 250 ms after they were due" in doubt for doubt in foreign(one(tmp_path, STAGE, report))["doubts"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"start_time": 1e300}, "start_time"),
        ({"end_time": 1.0}, "at least start_time"),
        ({"start_time": float("nan")}, "start_time"),
        ({"info": {"output_tokens": 3, "output_token_times": [1000.2, 1000.1]}}, "run backwards"),
        ({"info": {"output_token_times": "late"}}, "a list"),
    ],
)
def test_a_wrong_request_is_named(tmp_path: Path, change: dict[str, object], said: str) -> None:
    request = json.loads(posted(REQUESTS))[0]
    message = refusal(tmp_path, REQUESTS, [request, {**request, **change}])
    assert said in message
    assert "[1]" in message


def test_a_report_of_2025_has_its_tokens_in_info(tmp_path: Path) -> None:
    info = {"input_tokens": 50, "output_tokens": 2, "output_token_times": [1000.1, 1000.2]}
    old = [{"start_time": 1000.0, "end_time": 1000.25, "request": "{}", "response": "", "info": info, "error": None}]
    rows = requests(one(tmp_path, REQUESTS, old))
    assert ((rows["first_token_ns"] - rows["sent_ns"]).item(), (rows["done_ns"] - rows["sent_ns"]).item()) == (100_000_000, 250_000_000)
