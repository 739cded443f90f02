"""perf_analyzer: an experiment or a line of its CSV is a load; GenAI-Perf's own expectations hold for the requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importers.reading import foreign, imported, measured, one, refusal, reported, requests, serving_of
from tests.importers.samples import PERF_CSV, perf_analyzer


def test_latencies_are_those_that_genai_perf_expects_of_the_same_export(tmp_path: Path) -> None:
    record = one(tmp_path, "profile_export.json", perf_analyzer())
    rows = requests(record)
    assert ((rows["first_token_ns"] - rows["sent_ns"]) / 1e6).to_list() == [4, 5]  # time_to_first_tokens
    assert ((rows["last_token_ns"] - rows["sent_ns"]) / 1e6).to_list() == [11, 13]  # request_latencies
    assert (serving_of(record).concurrency, serving_of(record).task) == ((10,), "chat")
    assert (foreign(record)["times"], foreign(record)["version"]) == ("whole", "2.59.0")


def test_tensors_count_from_their_first_response_and_usage_gives_tokens(tmp_path: Path) -> None:
    export = perf_analyzer()
    first, second = export["experiments"][0]["requests"]
    first["response_outputs"] = [{"output_ids": [1, 2]}] * 6
    second["response_outputs"][-2]["response"] = 'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}\n\n'
    rows = requests(one(tmp_path, "profile_export.json", export))
    assert (rows["first_token_ns"][0] - rows["sent_ns"][0], rows["last_token_ns"][0] - rows["sent_ns"][0]) == (2_000_000, 13_000_000)
    assert (rows["tokens_in"].to_list(), rows["tokens_out"].to_list()) == ([None, 9], [None, 4])


def test_no_response_and_an_error_event_are_failures(tmp_path: Path) -> None:
    export = perf_analyzer()
    first, second = export["experiments"][0]["requests"]
    first.update(response_timestamps=[], response_outputs=[])
    second["response_outputs"][2]["response"] = 'data: {"error": "rate limit of sk-verysecretkey1234567890ABCD"}'
    rows = requests(one(tmp_path, "profile_export.json", export))
    assert rows["status"].to_list() == ["error", "error"]
    assert rows["error"].to_list() == ["no response", "rate limit of [redacted]"]


def test_each_line_of_the_csv_is_a_load_in_microseconds(tmp_path: Path) -> None:
    (made,) = imported(tmp_path, "perf.csv", PERF_CSV)
    assert made.configurations == ("concurrency=1", "concurrency=3", "concurrency=4", "concurrency=2")
    told = [
        (value["configuration"], value["value"], value["unit"])
        for value in foreign(measured(made))["reported"]
        if value["name"] == "p99 end to end"
    ]
    assert told == [(f"concurrency={n}", p99, "us") for n, p99 in ((1, 21018), (3, 51701), (4, 64886), (2, 34766))]


def test_an_old_csv_by_rate_is_read_too(tmp_path: Path) -> None:
    old = "Request Rate,Inferences/Second,Client Send,Client Recv,p50 latency,p99 latency\n12.5,12.4,68,7,6212,7407\n"
    record = one(tmp_path, "perf.csv", old)
    assert (serving_of(record).rate, reported(record)["inferences per second"], reported(record)["p50 end to end"]) == ((12.5,), 12.4, 6212)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (PERF_CSV.replace("1,69.2", "0,69.2"), "at least 1"),
        (PERF_CSV.replace("1,69.2", "1,nan"), "Inferences/Second"),
        (PERF_CSV[:-30], "columns"),
        (PERF_CSV.replace("4,84.2", "1e999,84.2"), "Concurrency"),
        ({"experiments": [{"experiment": {"mode": "concurrency", "value": 1}, "requests": []}]}, "no requests"),
        ({"experiments": [{"experiment": {"mode": "sideways", "value": 1}, "requests": []}]}, "sideways"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, content: object, said: str) -> None:
    assert said in refusal(tmp_path, "perf", content)


def test_times_that_run_backwards_are_refused(tmp_path: Path) -> None:
    export = perf_analyzer()
    export["experiments"][0]["requests"][1]["response_timestamps"][2] = 0
    assert "run backwards" in refusal(tmp_path, "profile_export.json", export)
