"""A line of sglang.bench_serving: its requests as vLLM's, its totals, and what it did not measure."""

from __future__ import annotations

from pathlib import Path

from tests.importers.reading import foreign, imported, measured, one, requests, serving_of
from tests.importers.samples import REQUESTS, TOKENS, posted, sglang, ttft_s


def test_requests_have_their_times_and_tokens(tmp_path: Path) -> None:
    record = one(tmp_path, "out.jsonl", sglang())
    rows = requests(record)
    assert len(rows) == REQUESTS
    assert rows["tokens_out"].to_list() == [TOKENS] * REQUESTS
    assert ((rows["first_token_ns"] - rows["sent_ns"]) / 1e9).round(6).to_list() == [round(ttft_s(i), 6) for i in range(REQUESTS)]
    assert foreign(record)["doubts"] == []


def test_totals_alone_name_the_flag_that_saves_the_requests(tmp_path: Path) -> None:
    told = foreign(one(tmp_path, "out.jsonl", sglang(detailed=False)))
    assert any("--output-details" in sentence for sentence in told["missing"])
    assert {"p99 end to end", "p99 TTFT"} <= {value["name"] for value in told["reported"]}


def test_a_latency_of_zero_is_none(tmp_path: Path) -> None:
    told = foreign(one(tmp_path, "out.jsonl", sglang(detailed=False, streamed=False)))
    assert not any("TTFT" in value["name"] for value in told["reported"])
    assert "a TTFT of 0, which is none" in told["doubts"][0]


def test_lines_of_all_versions_are_read_and_the_servers_secrets_are_not(tmp_path: Path) -> None:
    made = imported(tmp_path, "out.jsonl", posted("sglang_versions.jsonl"))  # 0.2.15 to 0.5.23, whose keys differ
    assert [record.launches for record in made] == [2, 1, 2]  # without a cap, with one, and with the server's names
    for record in map(measured, made):
        told = {(value["name"], value["value"]) for value in foreign(record)["reported"]}
        assert {("median TTFT", 117.0), ("median end to end", 207.0), ("answered requests", 8.0)} <= told
    assert serving_of(measured(made[2])).model == "tiny/model"
    assert b"sk-verysecret" not in b"".join(file.read_bytes() for record in made for file in record.path.rglob("*") if file.is_file())


def test_a_replayed_trace_is_a_trace(tmp_path: Path) -> None:
    record = one(tmp_path, "out.jsonl", {**sglang(), "request_rate": "trace"})
    assert serving_of(record).arrivals.process == "trace"
