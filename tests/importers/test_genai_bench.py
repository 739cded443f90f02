"""genai-bench's runs become rows without times of day; its folder becomes one record, and its keys stay where they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.estimates.estimate import Estimate
from fireassay.importers.support.importing import import_results
from tests.importers.reading import foreign, imported, judged, measured, one, refusal, reported, requests, serving_of
from tests.importers.samples import genai_bench, genai_metadata, latency_s, ttft_s, write

pytestmark = pytest.mark.slow


SECRET = "sk-verysecretkey1234567890ABCD"


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_every_number_is_carried_over_in_either_unit(tmp_path: Path, unit: str) -> None:
    rows = requests(one(tmp_path, "run.json", genai_bench(unit=unit)))
    row = rows.row(5, named=True)
    assert row["first_token_ns"] - row["sent_ns"] == pytest.approx(ttft_s(5) * 1e9, abs=1)
    assert row["last_token_ns"] - row["sent_ns"] == pytest.approx(latency_s(5) * 1e9, abs=1)
    assert (row["tokens_in"], row["tokens_out"], row["status"], row["text"]) == (50, 10, "ok", None)
    assert row["chunk_ns"] == []
    assert rows["scheduled_ns"].to_list() == list(range(40))  # places, for there are no times of day


def test_a_failed_request_is_one_by_its_code(tmp_path: Path) -> None:
    row = requests(one(tmp_path, "run.json", genai_bench(failed={2}))).row(2, named=True)
    assert (row["status"], row["http_status"], row["error"], row["first_token_ns"], row["tokens_in"]) == (
        "5xx",
        503,
        "no healthy upstream",
        None,
        None,
    )


def test_percentiles_and_the_share_of_failures_are_ours_and_rates_are_not_made(tmp_path: Path) -> None:
    record = one(tmp_path, "run.json", genai_bench(failed={2, 3}))
    results = judged(record).results
    failed, median = results["error_rate"]["concurrency=8"], results["ttft_p50"]["concurrency=8"]
    assert isinstance(failed, Estimate)
    assert failed.value == 0.05
    assert isinstance(median, Estimate)
    assert 0.119 <= median.value <= 0.121
    assert not isinstance(results["request_throughput"]["concurrency=8"], Estimate)
    assert reported(record)["failed requests, as a share"] == 0.0


def test_the_metadata_beside_it_say_model_backend_task_and_engine_and_no_key(tmp_path: Path) -> None:
    write(tmp_path / "experiment_metadata.json", genai_metadata())
    (made,) = imported(tmp_path, "run.json", genai_bench())
    record = measured(made)
    serving = serving_of(record)
    assert (serving.model, serving.tokenizer, serving.task, serving.temperature) == ("tiny/model", "/models/tiny", "chat", 0.5)
    assert serving.targets[0].backend == "vllm"
    assert serving.scenarios == ("D(50,10)",)
    assert record.experiment.conditions == {
        "server_engine": "vLLM",
        "server_version": "v0.11",
        "server_gpu_type": "H100",
        "server_gpu_count": "4",
    }
    assert foreign(record)["version"] == "0.0.5"
    assert set(foreign(record)["files"]) == {"run.json", "experiment_metadata.json"}
    everything = b"".join(file.read_bytes() for file in made.path.rglob("*") if file.is_file())
    assert SECRET.encode() not in everything


def test_a_folder_is_one_record_with_every_scenario_and_concurrency(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    for scenario, concurrency in (("D(50,10)", 1), ("D(50,10)", 8), ("D(100,10)", 1), ("D(100,10)", 8)):
        write(folder / f"{scenario}_{concurrency}.json", genai_bench(scenario=scenario, num_concurrency=concurrency))
    write(folder / "experiment_metadata.json", genai_metadata())
    write(folder / "genai_bench.log", "not a result")
    (made,) = import_results(folder, tmp_path / "records", clock=FakeClock())
    assert made.launches == 4
    assert measured(made).configurations == (
        "scenario=D(100,10) concurrency=1",
        "scenario=D(100,10) concurrency=8",
        "scenario=D(50,10) concurrency=1",
        "scenario=D(50,10) concurrency=8",
    )
    assert made.path.name.startswith("genai_bench-mine-")


def test_runs_that_were_made_again_are_launches_of_one_configuration(tmp_path: Path) -> None:
    for time in (10, 20, 30):
        write(tmp_path / "mine" / f"run_{time}.json", genai_bench())
    (made,) = import_results(tmp_path / "mine", tmp_path / "records", clock=FakeClock())
    record = measured(made)
    assert record.timed["block"].to_list() == [0, 1, 2]
    median = judged(record).results["e2e_p50"]["concurrency=8"]
    assert isinstance(median, Estimate)
    assert median.n_launches == 3


def test_speech_as_genai_bench_itself_wrote_it(tmp_path: Path, repository: Path) -> None:
    folder = repository / "tests" / "golden" / "genai_bench_speech"
    (made,) = import_results(folder, tmp_path / "records", clock=FakeClock())
    record = measured(made)
    rows = record.table("requests")
    (run,) = (json.loads(file.read_text()) for file in folder.glob("A100*.json"))
    theirs = run["individual_request_metrics"]
    assert (serving_of(record).task, serving_of(record).scenarios, rows.height) == ("text_to_speech", ("A(100)",), len(theirs))
    first_s = [(first - sent) / 1e9 for sent, first in rows.select("sent_ns", "first_token_ns").iter_rows()]
    assert first_s == pytest.approx([row["ttft"] for row in theirs], abs=1e-8)
    assert set(rows["tokens_in"]) == set(rows["tokens_out"]) == {None}  # genai-bench writes 0: nobody counted any
    assert min(first_s) >= 0.02  # the reference server's own time; no clock makes it shorter


def test_embeddings_have_no_tokens_although_genai_bench_writes_zeros(tmp_path: Path) -> None:
    run = genai_bench(scenario="E(1024)", batch_size=4, iteration_type="batch_size")
    for row in run["individual_request_metrics"]:
        row |= {"ttft": row["e2e_latency"], "tpot": 0, "num_output_tokens": 0, "output_latency": 0, "output_throughput": 0}
    record = one(tmp_path, "run.json", run)
    row = requests(record).row(0, named=True)
    assert (row["tokens_out"], row["first_token_ns"], row["last_token_ns"]) == (None, None, None)
    assert row["done_ns"] - row["sent_ns"] == round(latency_s(0) * 1e9)
    serving = serving_of(record)
    assert (serving.task, serving.prompts.documents) == ("embeddings", 4)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"ttft": -1.0}, "individual_request_metrics[0].ttft"),
        ({"ttft": float("inf")}, "individual_request_metrics[0].ttft"),
        ({"ttft": 9.0}, "at most e2e_latency"),
        ({"num_output_tokens": 1e30}, "individual_request_metrics[0].num_output_tokens"),
        ({"error_code": "500"}, "individual_request_metrics[0].error_code"),
    ],
)
def test_a_wrong_request_is_refused_by_field_and_line(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    run = genai_bench()
    run["individual_request_metrics"][0] |= change
    message = refusal(tmp_path, "run.json", run)
    assert told in message
    assert "run.json, line 1" in message


@pytest.mark.parametrize(
    ("totals", "told"),
    [
        ({"scenario": "D(50)"}, "aggregated_metrics.scenario"),
        ({"scenario": None}, "aggregated_metrics.scenario"),
        ({"num_concurrency": 0}, "aggregated_metrics.num_concurrency"),
        ({"iteration_type": "request_rate"}, "aggregated_metrics.iteration_type"),
        ({"run_duration": "long"}, "aggregated_metrics.run_duration"),
    ],
)
def test_wrong_totals_are_refused_by_field(tmp_path: Path, totals: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        imported(tmp_path, "run.json", genai_bench(**totals))


def test_an_unknown_unit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="_time_unit"):
        imported(tmp_path, "run.json", {**genai_bench(), "_time_unit": "min"})
