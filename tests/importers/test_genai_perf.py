"""GenAI-Perf: its totals from JSON and from CSV are the same numbers, in milliseconds; its settings are in the JSON alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.importers.reading import foreign, one, refusal, reported, serving_of
from tests.importers.samples import posted

JSON, CSV = "profile_export_genai_perf.json", "profile_export_genai_perf.csv"


def test_the_json_has_numbers_and_settings(tmp_path: Path) -> None:
    record = one(tmp_path, JSON, posted(JSON))
    told = reported(record)
    # latencies of 190.5, 209.5, 228.5 and 1500 ms: numpy's linear rule
    assert (told["p50 end to end"], told["p99 end to end"]) == (219.0, pytest.approx(228.5 + 0.97 * (1500 - 228.5)))
    assert (told["p50 TTFT"], told["output tokens per second"], told["answered requests"]) == (129.0, 1040.25, 4.0)
    assert (serving_of(record).concurrency, serving_of(record).model, serving_of(record).task) == ((8,), "tiny", "chat")
    assert {value["unit"] for value in foreign(record)["reported"]} == {"ms", "1/s", "count"}


def test_the_csv_has_the_same_numbers_to_two_decimals_and_says_what_it_lacks(tmp_path: Path) -> None:
    full, table = (reported(one(tmp_path, name, posted(name))) for name in (JSON, CSV))
    assert {name: round(value, 2) for name, value in full.items()} == pytest.approx(table, abs=0.006)
    assert any("the requested load" in sentence for sentence in foreign(one(tmp_path, CSV, posted(CSV), name="again"))["missing"])


def test_the_flat_settings_of_old_versions_are_read(tmp_path: Path) -> None:
    old = json.loads(posted(JSON))
    flat = {"model": ["tiny"], "formatted_model_name": "tiny", "request_rate": 2.5, "endpoint_type": "chat", "streaming": True}
    record = one(tmp_path, JSON, {**old, "input_config": flat})
    assert (serving_of(record).rate, serving_of(record).model) == ((2.5,), "tiny")


def test_totals_without_a_latency_are_refused(tmp_path: Path) -> None:
    assert "request_latency" in refusal(tmp_path, JSON, {**json.loads(posted(JSON)), "request_latency": None})
