"""llmperf: responses with their times, the summary next to them, and the name of a latency that it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.importers.reading import foreign, one, refusal, reported, requests, serving_of
from tests.importers.samples import posted, write

STEM = "tiny-model_50_10"
RESPONSES, SUMMARY = f"{STEM}_individual_responses.json", f"{STEM}_summary.json"


def test_responses_take_their_settings_from_the_summary(tmp_path: Path) -> None:
    write(tmp_path / SUMMARY, posted(SUMMARY))
    record = one(tmp_path, RESPONSES, posted(RESPONSES))
    rows = requests(record)
    firsts = ((rows["first_token_ns"] - rows["sent_ns"]) / 1e9).round(6).to_list()
    assert firsts == [0.100, 0.117, 0.134, 0.111, 0.128, 0.105, 0.122, None]
    assert rows["status"].to_list() == ["ok"] * 7 + ["5xx"]
    assert (serving_of(record).concurrency, serving_of(record).model, serving_of(record).scenarios) == (
        (8,),
        "tiny/model",
        ("N(50,5)/(10,0)",),
    )
    assert reported(record)["p50 TTFT"] == pytest.approx(0.117)
    assert set(foreign(record)["files"]) == {RESPONSES, SUMMARY}


def test_what_it_calls_inter_token_latency_is_told_as_what_it_is(tmp_path: Path) -> None:
    told = reported(one(tmp_path, SUMMARY, posted(SUMMARY)))
    assert told["p50 end to end per chunk (called inter-token latency)"] == pytest.approx(0.207 / 10)
    assert not any(name.endswith("ITL") for name in told)


def test_responses_alone_count_as_a_trace_and_say_why(tmp_path: Path) -> None:
    record = one(tmp_path, RESPONSES, posted(RESPONSES))
    assert serving_of(record).arrivals.process == "trace"
    assert any("no summary.json next to it" in sentence for sentence in foreign(record)["missing"])


def test_a_summary_of_other_responses_is_doubted(tmp_path: Path) -> None:
    write(tmp_path / SUMMARY, posted(SUMMARY))
    assert foreign(one(tmp_path, RESPONSES, json.loads(posted(RESPONSES))[:5]))["doubts"] == [
        "its summary counts 8 requests, but it lists 5"
    ]


@pytest.mark.parametrize(
    ("key", "value"), [("ttft_s", -1), ("ttft_s", float("inf")), ("end_to_end_latency_s", 0.01), ("number_output_tokens", 1.5)]
)
def test_a_wrong_response_is_named(tmp_path: Path, key: str, value: object) -> None:
    responses = json.loads(posted(RESPONSES))
    responses[3][key] = value
    assert f"[3].{key}" in refusal(tmp_path, RESPONSES, responses)
