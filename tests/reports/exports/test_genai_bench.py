"""Does genai-bench's folder hold our numbers, in its form, and does it come back through our importer?"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.frames.record_data import RecordData, from_record
from fireassay.importers.support.importing import import_results
from fireassay.metrics.results import LazyResults
from fireassay.record.reader import open_record
from fireassay.reports.exports.genai_bench import EXPORT
from tests.exporting import unjudged
from tests.serving_made import ServingMade, simulated

# The names that its loader reads; it skips others without a word (analysis/experiment_loader.py at 7fd04d8).
LOADED = re.compile(r"^.+_.+_(?:concurrency|batch_size)_\d+_time_\d+s\.json$")
SERVER = {"server_engine": "vLLM", "server_version": "v0.9.2", "server_gpu_type": "H100", "server_gpu_count": "4"}


def exported(measured: RecordData) -> dict[str, Any]:
    files = EXPORT.files(unjudged(measured)).files
    return {name: json.loads(content) for name, content in files.items()}


def by_hand(**options: Any) -> ServingMade:
    """Two answers and a failure in a window of 4 s, from the first end after t0 on."""
    made = ServingMade(concurrency=(2,), blocks=1, conditions=SERVER, **options)
    launch = made.launch("concurrency=2")
    for stream in (0, 1):  # the ramp, which is not counted
        made.request(launch, 0.0, ttft_s=0.1, gap_s=0.3, tokens_out=4, stream=stream)
    made.request(launch, 2.0, ttft_s=0.2, gap_s=0.1, tokens_out=5, tokens_in=20, stream=0)
    made.request(launch, 3.0, ttft_s=0.4, gap_s=0.2, tokens_out=3, tokens_in=40, stream=1)
    made.request(launch, 4.0, status="timeout", done_s=0.5, error="no answer", stream=0)
    made.request(launch, 5.0, status="5xx", done_s=0.1, error="busy", stream=1)
    return made


def test_the_numbers_of_a_request_and_their_statistics_are_those_worked_out_by_hand() -> None:
    files = exported(by_hand().measured())
    (name,) = set(files) - {"experiment_metadata.json"}
    assert LOADED.fullmatch(name)
    run = files[name]
    first, second, late, busy = run["individual_request_metrics"]
    # 5 tokens: the first after 0.2 s, the last 0.4 s later; 4 gaps of 0.1 s; 20 tokens in 0.2 s
    assert {key: first[key] for key in ("ttft", "e2e_latency", "output_latency", "tpot")} == pytest.approx(
        {"ttft": 0.2, "e2e_latency": 0.6, "output_latency": 0.4, "tpot": 0.1}
    )
    assert (first["output_inference_speed"], first["output_throughput"], first["input_throughput"]) == pytest.approx((10.0, 10.0, 100.0))
    assert (first["num_input_tokens"], first["num_output_tokens"], first["total_tokens"]) == (20, 5, 25)
    assert (first["num_reasoning_tokens"], first["error_code"]) == (None, None)
    assert (second["ttft"], second["e2e_latency"]) == pytest.approx((0.4, 0.8))
    assert (late["error_code"], late["error_message"], late["ttft"]) == (408, "no answer", None)
    assert (busy["error_code"], busy["error_message"]) == (500, "busy")
    totals = run["aggregated_metrics"]
    # numpy's linear interpolation between 0.2 and 0.4: p25 = 0.25, p90 = 0.38
    statistics = totals["stats"]["ttft"]
    assert (statistics["min"], statistics["p25"], statistics["mean"], statistics["p90"]) == pytest.approx((0.2, 0.25, 0.3, 0.38))
    assert (statistics["stddev"], statistics["sum"]) == pytest.approx((0.1, 0.6))
    assert (totals["num_requests"], totals["num_completed_requests"], totals["num_error_requests"], totals["error_rate"]) == (4, 2, 2, 0.5)
    assert totals["error_codes_frequency"] == {"408": 1, "500": 1}
    assert totals["stats"]["num_reasoning_tokens"]["mean"] is None  # nobody counted them


def test_speech_has_its_first_audio_and_no_tokens() -> None:
    made = ServingMade(concurrency=(1,), blocks=1, task="text-to-speech", scenarios=("A(50)",))
    launch = made.launch("concurrency=1")
    for second in range(3):  # 5 chunks, which are 200 bytes; the window begins after the first
        made.request(launch, second * 1.0, ttft_s=0.2, gap_s=0.1, chunks=5, tokens_out=None, tokens_in=None, stream=0)
    files = exported(made.measured())
    (run,) = (document for name, document in files.items() if "text-to-speech" in name)
    row = run["individual_request_metrics"][0]
    assert (row["ttft"], row["e2e_latency"], row["audio_throughput"]) == pytest.approx((0.2, 0.6, 500.0))
    assert (row["tpot"], row["num_output_tokens"], row["num_input_tokens"]) == (0, 0, None)


def test_the_metadata_name_the_server_the_model_and_no_secret() -> None:
    metadata = exported(by_hand().measured())["experiment_metadata.json"]
    assert {key: metadata[key] for key in SERVER} == SERVER
    assert (metadata["model"], metadata["task"], metadata["api_backend"]) == ("tiny", "text-to-text", "openai")
    assert (metadata["num_concurrency"], metadata["traffic_scenario"], metadata["auth_config"]) == ([2], ["D(100,100)"], {})


def test_the_rates_are_those_of_the_report_and_one_that_was_not_measured_is_left_out() -> None:
    made = simulated(concurrency=(1, 4), blocks=3, seconds=8.0, seed=1).measured()
    files = exported(made)
    for load in (1, 4):
        (run,) = (document for name, document in files.items() if f"_concurrency_{load}_" in name)
        ours = LazyResults(made)["output_throughput"][f"concurrency={load}"]
        assert run["aggregated_metrics"]["mean_output_throughput_tokens_per_s"] == ours.value  # type: ignore[union-attr]
    nobody_counted = by_hand()
    rows = [(*row[:22], None, None, *row[24:]) for row in nobody_counted.rows["requests"]]
    nobody_counted.rows["requests"] = rows
    (run,) = (document for name, document in exported(nobody_counted.measured()).items() if name != "experiment_metadata.json")
    assert "mean_output_throughput_tokens_per_s" not in run["aggregated_metrics"]
    assert run["individual_request_metrics"][0]["num_output_tokens"] is None


def test_several_engines_have_a_folder_each() -> None:
    made = simulated(concurrency=(1, 2), engines=("a", "b"), blocks=2, seconds=4.0, seed=2).measured()
    names = exported(made)
    assert {name.split("/")[0] for name in names} == {"a", "b"}
    assert len(names) == 6
    assert [names[f"{engine}/experiment_metadata.json"]["server_engine"] for engine in "ab"] == ["a", "b"]  # what its plots group by


def test_a_condition_of_several_engines_is_divided_among_them() -> None:
    conditions = {"server_engine": "a=vLLM,b=SGLang", "server_gpu_type": "H100"}
    made = ServingMade(concurrency=(1,), engines=("a", "b"), blocks=1, conditions=conditions)
    for name in made.names:
        launch = made.launch(name)
        for second in range(3):
            made.request(launch, float(second), stream=0)
    files = exported(made.measured())
    found = [files[f"{engine}/experiment_metadata.json"] for engine in "ab"]
    assert [(one["server_engine"], one["server_gpu_type"]) for one in found] == [("vLLM", "H100"), ("SGLang", "H100")]


def test_it_comes_back_through_the_importer_with_the_same_latencies(tmp_path: Path) -> None:
    made = simulated(concurrency=(1, 4), scenarios=("D(10,10)", "N(20,5)/(9,3)"), blocks=3, seconds=20.0, seed=3).measured()
    for name, content in EXPORT.files(unjudged(made)).files.items():
        (tmp_path / name).write_bytes(content)
    (record,) = import_results(tmp_path, tmp_path / "records", clock=FakeClock())
    again = from_record(open_record(record.path))
    assert again.configurations == made.configurations
    for number in ("ttft_s", "e2e_s", "tpot_s", "tokens_in", "tokens"):
        for configuration in made.configurations:
            one, other = (
                sorted(record.counted_requests.filter(pl.col("configuration") == configuration)[number]) for record in (made, again)
            )
            assert other == pytest.approx(one, rel=1e-6), (number, configuration)
    value = LazyResults(again)["ttft_p50"]["scenario=D(10,10) concurrency=4"].value  # type: ignore[union-attr]
    assert value == LazyResults(made)["ttft_p50"]["scenario=D(10,10) concurrency=4"].value  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: simulated(rate=(5.0,), blocks=1, seconds=4.0, seed=1).measured(), "genai-bench's files have no rate"),
        (lambda: ServingMade(concurrency=(1,), blocks=1).measured(), "no answered request"),
    ],
)
def test_a_record_that_its_form_cannot_hold_is_refused(made: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        exported(made())


@settings(max_examples=25, deadline=None)
@given(answers=st.lists(st.tuples(st.floats(0.001, 5.0), st.floats(0.0, 0.2), st.integers(0, 9), st.booleans()), min_size=1, max_size=12))
def test_whatever_was_answered_the_files_are_json_without_nan(answers: list[tuple[float, float, int, bool]]) -> None:
    made = ServingMade(concurrency=(1,), blocks=1)
    launch = made.launch("concurrency=1")
    due = 0.0
    for ttft, gap, tokens, good in answers:
        made.request(launch, due, ttft_s=ttft, gap_s=gap, tokens_out=tokens, status="ok" if good else "reset", stream=0)
        due += 10.0
    measured = made.measured()
    try:
        files = EXPORT.files(unjudged(measured)).files
    except SpecError:
        assert not measured.counted_requests.filter("ok").height
        return
    for content in files.values():
        json.loads(content, parse_constant=pytest.fail)
