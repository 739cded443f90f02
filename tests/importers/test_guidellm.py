"""guidellm's benchmarks become records by their kind of strategy; what was due begins there, and a sample of requests has no rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from tests.importers.reading import foreign, imported, judged, measured, one, refusal, reported, requests, serving_of, value_of
from tests.importers.samples import START_S, guidellm, guidellm_benchmark, latency_s, ttft_s

pytestmark = pytest.mark.slow


CONCURRENT = {"type_": "concurrent", "streams": 8}
POISSON = {"type_": "poisson", "rate": 4.0}


def test_every_time_of_a_request_is_carried_over(tmp_path: Path) -> None:
    record = one(tmp_path, "benchmarks.json", guidellm(guidellm_benchmark(CONCURRENT)))
    row = requests(record).row(5, named=True)
    assert row["sent_ns"] == round((START_S + 1.25) * 1e9)
    assert row["first_token_ns"] - row["sent_ns"] == pytest.approx(ttft_s(5) * 1e9, abs=500)  # floats of seconds since 1970
    assert row["last_token_ns"] - row["sent_ns"] == pytest.approx(latency_s(5) * 1e9, abs=500)
    assert row["first_visible_ns"] == row["first_token_ns"]
    assert (row["tokens_in"], row["tokens_out"], row["text"], row["chunk_ns"]) == (50, 10, "answer 5", [])


def test_our_time_per_token_leaves_the_first_token_out_and_guidellms_does_not(tmp_path: Path) -> None:
    record = one(tmp_path, "benchmarks.json", guidellm(guidellm_benchmark(CONCURRENT)))
    assert value_of(record, "tpot_p50", "concurrency=8") == pytest.approx(0.010, abs=1e-6)
    assert reported(record)["mean TPOT, first token included"] == 20.95


def test_fates_become_classes_of_failure(tmp_path: Path) -> None:
    record = one(tmp_path, "benchmarks.json", guidellm(guidellm_benchmark(CONCURRENT, failed=2, cut=1)))
    rows = requests(record)
    assert rows["status"].to_list() == ["ok"] * 37 + ["reset"] * 2 + ["cancelled"]
    assert rows["error"][37] == "Connection reset by peer"
    assert rows["tokens_out"].null_count() == 3


def test_latencies_begin_when_a_planned_request_was_due(tmp_path: Path) -> None:
    record = one(tmp_path, "benchmarks.json", guidellm(guidellm_benchmark(POISSON, lag_s=0.02)))
    row = requests(record).row(5, named=True)
    assert row["sent_ns"] - row["scheduled_ns"] == pytest.approx(20_000_000, abs=500)
    assert foreign(record)["clock"] == "scheduled"
    assert value_of(record, "ttft_p50", "rate=4") == pytest.approx(0.1395, abs=1e-3)


def test_a_client_that_sent_late_is_found_out(tmp_path: Path) -> None:
    verdict = judged(one(tmp_path, "benchmarks.json", guidellm(guidellm_benchmark(POISSON, lag_s=0.02)))).verdict
    assert verdict.status == "INVALID"
    assert "client_bound" in [finding.rule for finding in verdict.findings]


@pytest.mark.parametrize("strategy", [CONCURRENT, {"type_": "synchronous"}, {"type_": "throughput"}])
def test_in_a_closed_loop_what_waited_in_guidellms_own_queue_is_no_lag(tmp_path: Path, strategy: dict[str, Any]) -> None:
    """Each request lay 3 s between guidellm's planned start and its sending: that is nobody's latency, and no lag of the client."""
    record = one(tmp_path, "benchmarks.json", guidellm(guidellm_benchmark(strategy, lag_s=3.0)))
    rows = requests(record)
    assert (rows["sent_ns"] == rows["scheduled_ns"]).all()
    assert foreign(record)["clock"] == "sent"
    served = record.served.requests
    assert served["lag_s"].max() == 0.0
    assert served["ttft_s"].max() < 1.0


def test_a_sweep_becomes_one_record_for_each_kind_of_strategy(tmp_path: Path) -> None:
    sweep = guidellm(
        guidellm_benchmark({"type_": "synchronous"}),
        guidellm_benchmark({"type_": "throughput"}),
        guidellm_benchmark({"type_": "constant", "rate": 2.0}),
        guidellm_benchmark({"type_": "constant", "rate": 4.0}),
    )
    made = imported(tmp_path, "benchmarks.json", sweep)
    assert [one.configurations for one in made] == [("concurrency=1",), ("offline",), ("rate=2", "rate=4")]
    assert [one.path.name.split("-20")[0] for one in made] == [f"guidellm-benchmarks-{n}" for n in (1, 2, 3)]


def test_a_sample_of_the_requests_has_percentiles_and_no_rates(tmp_path: Path) -> None:
    record = one(tmp_path, "benchmarks.json", guidellm(guidellm_benchmark(CONCURRENT, made=4000)))
    assert foreign(record)["times"] == "sampled"
    results = judged(record).results
    assert isinstance(results["ttft_p50"]["concurrency=8"], Estimate)
    absent = results["request_throughput"]["concurrency=8"]
    assert isinstance(absent, Absent)
    assert "sample" in absent.detail


def test_model_address_lengths_and_version_are_told(tmp_path: Path) -> None:
    record = one(tmp_path, "benchmarks.json", guidellm(guidellm_benchmark(CONCURRENT)))
    serving = serving_of(record)
    assert (serving.model, serving.tokenizer, serving.scenarios) == ("tiny/model", "tiny/model", ("D(50,10)",))
    assert serving.targets[0].urls == ("http://localhost:8000",)
    assert foreign(record)["version"] == "0.7.3"


@pytest.mark.parametrize(
    ("data", "scenario"),
    [
        ("prompt_tokens=256,output_tokens=128", "D(256,128)"),
        ('{"prompt_tokens": 256, "output_tokens": 128, "prompt_tokens_stdev": 16, "output_tokens_stdev": 8}', "N(256,16)/(128,8)"),
        ({"prompt_tokens": 256, "output_tokens": 128, "prompt_tokens_min": 1}, "dataset"),
        ("prompts.jsonl", "dataset"),
        (None, "dataset"),
    ],
)
def test_lengths_become_a_scenario_only_where_it_says_all_of_them(tmp_path: Path, data: object, scenario: str) -> None:
    report = guidellm(guidellm_benchmark(CONCURRENT))
    report["args"]["data"] = [data]
    report["benchmarks"][0]["config"]["requests"] = {}
    serving = serving_of(one(tmp_path, "benchmarks.json", report))
    assert serving.scenarios == (scenario,)


def test_the_flat_shape_of_version_0_3_is_read(tmp_path: Path) -> None:
    row = {
        "type_": "generative_text_response",
        "start_time": START_S,
        "first_token_time": START_S + 0.25,
        "last_token_time": START_S + 0.5,
        "end_time": START_S + 0.5,
        "prompt_tokens": 5,
        "output_tokens": 11,
        "output": "text",
    }
    report = {
        "benchmarks": [
            {
                "type_": "generative_benchmark",
                "args": {"strategy": {"type_": "concurrent", "streams": 2}},
                "run_stats": {},
                "requests": {"successful": [row] * 3, "errored": [], "incomplete": []},
            }
        ]
    }
    record = one(tmp_path, "benchmarks.json", report)
    found = requests(record).row(0, named=True)
    assert found["first_token_ns"] - found["sent_ns"] == 250_000_000
    assert (found["tokens_out"], record.configurations) == (11, ("concurrency=2",))


def test_totals_alone_stay_totals(tmp_path: Path) -> None:
    benchmark = guidellm_benchmark(CONCURRENT)
    del benchmark["requests"]
    (made,) = imported(tmp_path, "benchmarks.json", guidellm(benchmark))
    assert (made.requests, made.has_requests) == (0, False)
    assert reported(measured(made))["median TTFT"] == 119.5


def broken(**timings: Any) -> dict[str, Any]:
    benchmark = guidellm_benchmark(CONCURRENT)
    benchmark["requests"]["successful"][1]["info"]["timings"] |= timings
    return guidellm(benchmark)


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (broken(request_start=None, resolve_start=None), "benchmarks[0].requests.successful[1].info.timings.request_start"),
        (broken(first_token_iteration=START_S - 5), "The wall clock was set back"),
        (broken(first_token_iteration="soon"), "first_token_iteration"),
        (guidellm(guidellm_benchmark({"type_": "concurrent"})), "benchmarks[0].config.strategy.streams"),
        (guidellm(guidellm_benchmark({"type_": "poisson", "rate": 0})), "benchmarks[0].config.strategy.rate"),
        (guidellm(guidellm_benchmark({"type_": "chaotic"})), "benchmarks[0].config.strategy.type_"),
        ({**guidellm(), "benchmarks": {"strategy": 1}}, "benchmarks"),
        (guidellm(), "no results"),
    ],
)
def test_a_wrong_report_is_refused_by_field(tmp_path: Path, report: dict[str, Any], told: str) -> None:
    assert told in refusal(tmp_path, "benchmarks.json", report, tool="guidellm")
