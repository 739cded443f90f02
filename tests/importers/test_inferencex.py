"""InferenceX: each result a run at one concurrency; its numbers as told, and what identifies it as conditions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.importers.reading import foreign, imported, measured, one, refusal, reported
from tests.importers.samples import posted


def test_the_numbers_are_those_of_the_run_that_process_result_read(tmp_path: Path) -> None:
    record = one(tmp_path, "agg_run.json", posted("agg_one.json"))
    told = reported(record)
    assert told["tokens in and out per second and GPU"] == 13107.2 / 8  # total_token_throughput on 8 GPUs
    assert (told["median TTFT"], told["p99 end to end"], told["interactivity (1 / p99 TPOT)"]) == (0.14825, 46.2853, 1 / 0.045)
    assert {value["unit"] for value in foreign(record)["reported"]} == {"s", "1/s"}
    assert record.experiment.serving is not None
    assert (record.experiment.serving.concurrency, record.experiment.serving.model) == ((64,), "deepseek-ai/DeepSeek-R1-0528")
    conditions = record.experiment.conditions
    assert (conditions["hw"], conditions["precision"], conditions["tp"], conditions["isl"]) == ("mi300x", "fp8", 8, 1024)


def test_of_several_nodes_a_rate_says_of_which_gpus_it_is(tmp_path: Path) -> None:
    told = reported(one(tmp_path, "agg_run.json", posted("agg_multi.json")))
    assert told["output tokens per second and decoding GPU (any GPU if none only decodes)"] == 6553.6 / 8
    assert told["input tokens per second and prefilling GPU"] == pytest.approx((13107.2 - 6553.6) / 20)


def test_a_sweep_is_one_record_for_each_machine_and_a_launch_for_each_load(tmp_path: Path) -> None:
    run = json.loads(posted("agg_one.json"))
    made = imported(tmp_path, "agg_sweep.json", [run, {**run, "conc": 128}, {**run, "hw": "h200"}])
    assert [(record.launches, record.configurations) for record in made] == [
        (2, ("concurrency=64", "concurrency=128")),
        (1, ("concurrency=64",)),
    ]
    assert measured(made[1]).experiment.conditions["hw"] == "h200"


def test_energy_counts_only_where_the_tool_calls_it_valid(tmp_path: Path) -> None:
    run = {**json.loads(posted("agg_one.json")), "joules_per_output_token": 0.25}
    assert "joules per output token" not in reported(one(tmp_path, "a.json", run))
    assert reported(one(tmp_path, "b.json", {**run, "power_valid": 1}))["joules per output token"] == 0.25


@pytest.mark.parametrize("conc", [0, -1, 1e300, "64", None, float("nan")])
def test_a_load_that_is_none_is_refused(tmp_path: Path, conc: object) -> None:
    assert "conc" in refusal(tmp_path, "agg.json", {**json.loads(posted("agg_one.json")), "conc": conc})
