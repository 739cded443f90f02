"""vLLM's lists side by side become rows: exact times, failed requests by their error, nothing made up; totals alone stay totals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fireassay.estimates.estimate import Estimate
from tests.importers.reading import foreign, imported, judged, measured, one, refusal, reported, requests, serving_of, value_of
from tests.importers.samples import latency_s, ttft_s, vllm

pytestmark = pytest.mark.slow


def test_every_number_of_the_detailed_file_is_carried_over(tmp_path: Path) -> None:
    record = one(tmp_path, "run.json", vllm(failed={3}))
    rows = requests(record)
    assert rows.height == 40
    row = rows.row(5, named=True)
    assert row["first_token_ns"] - row["sent_ns"] == round(ttft_s(5) * 1e9)
    assert row["last_token_ns"] - row["sent_ns"] == round(latency_s(5) * 1e9)
    assert (row["tokens_in"], row["tokens_out"], row["text"], row["status"]) == (50, 10, "answer 5", "ok")
    assert row["chunk_ns"][:2] == [round(ttft_s(5) * 1e9), round(ttft_s(5) * 1e9) + 10_000_000]
    assert len(row["chunk_ns"]) == 10
    assert (row["http_status"], row["bytes_in"], row["bytes_out"], row["connect_ns"], row["finish_reason"]) == (None,) * 5


def test_a_failed_request_has_no_times_and_its_error(tmp_path: Path) -> None:
    row = requests(one(tmp_path, "run.json", vllm(failed={3}))).row(3, named=True)
    assert (row["status"], row["error"], row["first_token_ns"], row["tokens_out"], row["done_ns"]) == (
        "error",
        "Internal Server Error",
        None,
        None,
        None,
    )


def test_a_request_without_error_token_and_output_failed_too(tmp_path: Path) -> None:
    run = vllm(failed={3})
    run["errors"] = [""] * 40  # aiohttp's timeouts have an empty message
    assert requests(one(tmp_path, "run.json", run))["status"].to_list().count("error") == 1


def test_vllms_means_follow_from_the_rows_by_vllms_definitions(tmp_path: Path) -> None:
    results = judged(one(tmp_path, "run.json", vllm(failed={3, 17}))).results
    mean = sum(ttft_s(i) for i in range(40) if i not in (3, 17)) / 38
    for metric, wanted in (("ttft_vllm", mean), ("tpot_vllm", 0.010), ("itl_vllm", 0.010)):
        value = results[metric]["concurrency=8"]
        assert isinstance(value, Estimate)
        assert value.value == pytest.approx(wanted, abs=1e-9)


def test_without_start_times_there_are_percentiles_and_no_rates(tmp_path: Path) -> None:
    record = one(tmp_path, "run.json", vllm())
    assert foreign(record)["times"] == "none"
    results = judged(record).results
    median = results["ttft_p50"]["concurrency=8"]
    assert isinstance(median, Estimate)
    assert median.value == pytest.approx(0.1195, abs=1e-3)
    assert not isinstance(results["output_throughput"]["concurrency=8"], Estimate)


def test_start_times_of_a_newer_version_give_rates(tmp_path: Path) -> None:
    record = one(tmp_path, "run.json", vllm(starts=True, request_rate=4.0, max_concurrency=None))
    assert foreign(record)["times"] == "whole"
    assert requests(record)["sent_ns"][1] == 1_000_250_000_000
    assert value_of(record, "request_throughput", "rate=4") == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("asked", "configuration", "process"),
    [
        ({"max_concurrency": 8, "request_rate": "inf"}, "concurrency=8", "closed"),
        ({"max_concurrency": None, "request_rate": "inf"}, "offline", "offline"),
        ({"max_concurrency": None, "request_rate": float("inf")}, "offline", "offline"),
        ({"max_concurrency": None, "request_rate": 2.5}, "rate=2.5", "poisson"),
        ({"max_concurrency": 16, "request_rate": 2.5, "burstiness": 0.25}, "rate=2.5", "gamma"),
        ({"max_concurrency": None, "ramp_up_strategy": "linear", "ramp_up_start_rps": 1, "ramp_up_end_rps": 9}, "stages", "stages"),
    ],
)
def test_the_load_is_rebuilt_as_the_file_says_it(tmp_path: Path, asked: dict[str, Any], configuration: str, process: str) -> None:
    record = one(tmp_path, "run.json", vllm(**asked))
    serving = serving_of(record)
    assert record.configurations == (configuration,)
    assert serving.arrivals.process == process
    if process == "gamma":
        assert serving.arrivals.cv == 2.0  # burstiness is the shape k of a gamma distribution, whose cv is k ** -0.5
        assert serving.client.connections == 16
    if process == "stages":
        assert (serving.arrivals.stages[0].rate, serving.arrivals.stages[0].rate_to) == (1.0, 9.0)


def test_model_task_and_tokenizer_are_told_and_the_rest_is_called_unsaid(tmp_path: Path) -> None:
    record = one(tmp_path, "run.json", vllm())
    serving = serving_of(record)
    assert (serving.model, serving.tokenizer, serving.task, serving.arrivals.requests) == ("tiny/model", "tiny/model", "chat", 40)
    unsaid = foreign(record)["unsaid"]
    assert {"serving.temperature", "serving.prompts", "serving.ignore_eos", "engine.command", "serving.scenarios"} <= set(unsaid)
    assert not {"serving.model", "serving.load", "serving.task"} & set(unsaid)
    assert foreign(record)["clock"] == "sent"


def test_totals_alone_are_kept_as_reported_and_no_row_is_invented(tmp_path: Path) -> None:
    (made,) = imported(tmp_path, "run.json", vllm(detailed=False))
    record = measured(made)
    assert (made.requests, made.has_requests, requests(record).height) == (0, False, 0)
    assert reported(record)["p99 TTFT"] == 138.61
    assert reported(record)["requests per second, ramp and end included"] == 4.0
    assert any("--save-detailed" in words for words in made.missing)
    assert not any(isinstance(v, Estimate) for values in judged(record).results.values() for v in values.values())


def test_appended_runs_of_one_setting_become_launches_and_others_records(tmp_path: Path) -> None:
    text = "\n".join(json.dumps(run) for run in (vllm(), vllm(failed={1}), vllm(max_concurrency=16), vllm(model_id="other")))
    first, second = imported(tmp_path, "runs.json", text)
    assert (first.launches, first.configurations, first.failed) == (3, ("concurrency=8", "concurrency=16"), 1)
    launches = measured(first).table("launches")
    assert launches["configuration"].to_list() == ["concurrency=8", "concurrency=8", "concurrency=16"]
    assert launches["block"].to_list() == [0, 1, 0]
    assert second.configurations == ("concurrency=8",)
    assert first.path.name.startswith("vllm-runs-1-")


def test_embeddings_have_neither_first_tokens_nor_output(tmp_path: Path) -> None:
    run = vllm(detailed=False, backend="openai-embeddings", endpoint_type="openai-embeddings")
    run |= {"input_lens": [50, 60], "errors": ["", "boom"], "num_prompts": 2}
    rows = requests(one(tmp_path, "run.json", run))
    assert rows["status"].to_list() == ["ok", "error"]
    assert rows["tokens_in"].to_list() == [50, 60]
    assert rows.select(pl.col("first_token_ns", "last_token_ns", "tokens_out").is_null().all()).row(0) == (True,) * 3


def test_totals_that_contradict_the_lists_are_doubted(tmp_path: Path) -> None:
    record = one(tmp_path, "run.json", {**vllm(), "completed": 39, "failed": 3})
    assert foreign(record)["doubts"] == ["it reports 39 answered and 3 failed requests, but lists 40"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"ttfts": [-0.1, *[0.1] * 39]}, "ttfts[0]"),
        ({"ttfts": [float("nan"), *[0.1] * 39]}, "ttfts[0]"),
        ({"ttfts": ["0.1", *[0.1] * 39]}, "ttfts[0]"),
        ({"ttfts": [0.1] * 39}, "ttfts 39"),
        ({"itls": [[0.01, None], *[[0.01]] * 39]}, "itls[0][1]"),
        ({"itls": [0.01] * 40}, "itls[0]"),
        ({"output_lens": [1.5, *[10] * 39]}, "output_lens[0]"),
        ({"output_lens": [-1, *[10] * 39]}, "output_lens[0]"),
        ({"errors": [7, *[""] * 39]}, "errors[0]"),
        ({"max_concurrency": 0}, "max_concurrency"),
        ({"request_rate": -1.0}, "request_rate"),
        ({"request_rate": "fast"}, "request_rate"),
        ({"request_rate": 2.0, "burstiness": -3}, "burstiness"),
        ({"ramp_up_strategy": "exponential"}, "ramp_up_strategy"),
        ({"num_prompts": "many"}, "num_prompts"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name_and_leaves_no_record(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    message = refusal(tmp_path, "run.json", {**vllm(), **change})
    assert told in message
    assert "run.json" in message
