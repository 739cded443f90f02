"""Whose file it is, what its record is called, what it holds of secrets, and that a wrong one leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.clock import FakeClock
from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.importers.support import importing
from fireassay.importers.support.base import RequestRow, address, failure
from fireassay.importers.support.importing import import_results
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.declared import REQUESTS
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.verdict.conditions.catalogue import CONDITIONS
from fireassay.verdict.conditions.facts import OURS
from fireassay.verdict.headline import headline
from tests.importers.reading import foreign, imported, judged, measured, one, requests
from tests.importers.samples import (
    PERF_CSV,
    SUMMARY,
    aiperf_lines,
    aiperf_totals,
    genai_bench,
    guidellm,
    guidellm_benchmark,
    loadgen_detail,
    perf_analyzer,
    posted,
    sglang,
    vllm,
    write,
)

pytestmark = pytest.mark.slow


SAMPLES = {
    "vllm": vllm(),
    "genai_bench": genai_bench(),
    "aiperf": aiperf_lines(),
    "guidellm": guidellm(guidellm_benchmark({"type_": "synchronous"})),
    "loadgen": loadgen_detail(),
    "sglang": sglang(),
    "inferencex": posted("agg_one.json"),
    "inference_perf": posted("stage_0_lifecycle_metrics.json"),
    "llmperf": posted("tiny-model_50_10_summary.json"),
    "perf_analyzer": perf_analyzer(),
    "genai_perf": posted("profile_export_genai_perf.json"),
}
MORE = {
    "vllm": [vllm(detailed=False)],
    "sglang": [sglang(detailed=False)],
    "aiperf": [aiperf_totals()],
    "loadgen": [SUMMARY],
    "inferencex": [f"[{posted('agg_one.json')}]"],
    "inference_perf": [posted("summary_lifecycle_metrics.json"), posted("per_request_lifecycle_metrics.json")],
    "llmperf": [posted("tiny-model_50_10_individual_responses.json")],
    "perf_analyzer": [PERF_CSV],
    "genai_perf": [posted("profile_export_genai_perf.csv")],
}


@pytest.mark.parametrize("tool", SAMPLES)
def test_each_tools_file_is_recognised_by_its_reader_alone(tmp_path: Path, tool: str) -> None:
    (made,) = imported(tmp_path, "result.json", SAMPLES[tool])
    assert made.tool == tool
    for place, sample in enumerate(MORE.get(tool, [])):
        assert imported(tmp_path, f"more-{place}.json", sample)[0].tool == tool


def test_every_tool_has_a_sample() -> None:
    assert set(SAMPLES) == set(catalog.names("importers"))


@pytest.mark.parametrize("tool", SAMPLES)
def test_every_tool_says_what_its_numbers_mean_in_the_words_of_the_conditions(tool: str) -> None:
    reader = catalog.load("importers", tool)
    assert {"tool", "clock", "environment", *reader.meanings} == set(OURS)
    assert reader.missing
    assert any(words.startswith("the environment") for words in reader.missing)


@pytest.mark.parametrize("tool", SAMPLES)
def test_the_record_is_sealed_intact_and_says_where_it_comes_from(tmp_path: Path, tool: str) -> None:
    (made,) = imported(tmp_path, "result.json", SAMPLES[tool])
    record = open_record(made.path)
    assert record.sealed
    assert verify(made.path) == ()
    told = record.manifest["foreign"]
    assert (told["tool"], told["file"]) == (tool, "result.json")
    assert len(told["sha256"]) == 64
    assert told["files"]["result.json"] == told["sha256"]


def test_a_list_shows_a_time_where_no_rate_is_known(tmp_path: Path) -> None:
    record = measured(imported(tmp_path, "result.json", SAMPLES["genai_bench"])[0])
    assert headline(record, judged(record)).startswith("Time per output token, p50: 10.0 ms")


def test_what_nobody_wrote_is_refused_with_what_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        imported(tmp_path, "benchmarks-1.json", {"hello": "world"})
    assert "no results of a known load generator" in str(caught.value)
    assert "guidellm (benchmarks.json)" in str(caught.value)
    assert "--from" in str(caught.value)
    assert len(str(caught.value)) < 700  # not a screen of all tools


def test_a_tool_that_is_named_reads_the_file_and_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="aggregated_metrics"):
        imported(tmp_path, "other.json", {"hello": "world"}, tool="genai_bench")


def test_an_unknown_tool_is_refused_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="guidellm"):
        imported(tmp_path, "run.json", vllm(), tool="wrk")


def test_a_folder_of_two_tools_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "mixed" / "a.json", vllm())
    write(tmp_path / "mixed" / "b.json", genai_bench())
    with pytest.raises(SpecError, match="results of genai-bench and of vLLM bench serve"):
        import_results(tmp_path / "mixed", tmp_path / "records", clock=FakeClock())
    (made,) = import_results(tmp_path / "mixed", tmp_path / "records", clock=FakeClock(), tool="vllm")
    assert made.tool == "vllm"


@pytest.mark.parametrize(
    ("given", "file", "name"),
    [
        ("", "run.json", "vllm-run"),
        ("mine", "run.json", "mine"),
        ("", "a b/../ü.json", "vllm"),
        ("", "x" * 120 + ".json", ("vllm-" + "x" * 120)[:80]),
    ],
)
def test_a_record_is_called_by_its_tool_and_file(tmp_path: Path, given: str, file: str, name: str) -> None:
    (tmp_path / "a b").mkdir()
    record = one(tmp_path, file, vllm(), name=given)
    assert record.experiment.name == name


def test_a_file_that_turns_out_wrong_in_its_second_record_leaves_none(tmp_path: Path) -> None:
    wrong = vllm(max_concurrency=None, request_rate=4.0)
    wrong["ttfts"][39] = "late"
    with pytest.raises(SpecError, match=r"ttfts\[39\]"):
        imported(tmp_path, "runs.json", "\n".join(json.dumps(run) for run in (vllm(), wrong)))
    assert list((tmp_path / "records").glob("*")) == []


def test_secrets_in_a_servers_words_are_redacted_and_long_words_cut(tmp_path: Path) -> None:
    run = vllm(failed={0, 1})
    run["errors"][0] = "401: invalid api key sk-verysecretkey1234567890ABCD for user"
    run["errors"][1] = "x" * 5000 + "\0" + "\ud800"
    (made,) = imported(tmp_path, "run.json", run)
    rows = requests(measured(made))
    assert rows["error"][0] == "401: invalid api key [redacted] for user"
    assert len(rows["error"][1]) == 500
    assert b"sk-verysecret" not in b"".join(file.read_bytes() for file in made.path.rglob("*") if file.is_file())


def test_a_model_with_a_secrets_shape_is_redacted_everywhere(tmp_path: Path) -> None:
    (made,) = imported(tmp_path, "run.json", vllm(model_id="sk-verysecretkey1234567890ABCD"))
    assert b"sk-verysecret" not in b"".join(file.read_bytes() for file in made.path.rglob("*") if file.is_file())


def test_rows_stand_in_the_order_of_the_tables_columns() -> None:
    row = importing._request(3, 7, RequestRow(sent_ns=100, first_ns=1, visible_ns=2, last_ns=3, done_ns=4, chunks_ns=(1, 3)), 90, 100)
    named = dict(zip(REQUESTS.column_names, row, strict=True))
    assert (named["launch"], named["request"], named["transport"]) == (3, 7, "foreign")
    assert (named["scheduled_ns"], named["sent_ns"], named["first_token_ns"], named["done_ns"]) == (90, 100, 101, 104)
    assert (named["chunk_ns"], named["chunk_kind"], named["chunk_chars"], named["logprobs"]) == ([1, 3], [1, 1], [], [])
    assert {named[name] for name in ("connect_ns", "first_byte_ns", "bytes_in", "bytes_out", "replica", "stream")} == {None}
    assert len(row) == len(arrow_schema("requests"))


def test_what_may_be_left_open_are_conditions_or_beginnings_of_them() -> None:
    names = {condition.name for condition in CONDITIONS}
    families = tuple(name.removesuffix("*") for name in names if name.endswith(".*"))
    for field in importing.OPEN:
        assert field in names or field.startswith(families) or any(name.startswith(f"{field}.") for name in names), field


def test_a_thousand_rows_a_batch_lose_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "ROWS_PER_BATCH", 7)
    rows = requests(one(tmp_path, "run.json", vllm(requests=1000)))
    assert rows["request"].to_list() == list(range(1000))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("http://user:password@host:8000/v1?key=1", "http://host:8000"),
        ("localhost:8000", "http://localhost:8000"),
        ("https://api.example.com/v1/chat", "https://api.example.com"),
        ("javascript:alert(1)", ""),
        ("http://[::1", ""),
        ("http://<script>", ""),
        ("ftp://host", ""),
        (7, ""),
        ("", ""),
    ],
)
def test_of_an_address_only_host_and_port_are_kept(given: object, wanted: str) -> None:
    assert address(given) == wanted


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        ("boom", 429, "4xx"),
        ("boom", 503, "5xx"),
        ("Request timed out", None, "timeout"),
        ("TimeoutError", None, "timeout"),
        ("Connection refused", None, "refused"),
        ("Server disconnected", None, "reset"),
        ("", None, "error"),
        (None, 200, "error"),
        ("Task was cancelled", None, "cancelled"),
        ("JSONDecodeError: line 1", None, "malformed"),
    ],
)
def test_a_failure_has_its_class(error: str | None, code: int | None, status: str) -> None:
    assert failure(error, code) == status


def test_the_times_of_day_of_a_record_are_the_tools_own(tmp_path: Path) -> None:
    record = one(tmp_path, "profile_export.jsonl", aiperf_lines())
    events = record.table("events")
    assert events["kind"].to_list() == ["load_begin", "load_end"]
    assert events["ns"][0] == requests(record)["scheduled_ns"].min()
    assert foreign(record)["times"] == "whole"
