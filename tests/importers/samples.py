"""Result files of other load generators, written by hand in the shapes that their sources publish; every number is known.

Forty requests each.  Request i of a run: the first token after 100 + (17 i mod 40) ms, so each of 100 to 139 ms once, then 9 gaps of
10 ms: 10 tokens, and 90 ms more in all; the prompt has 50 tokens.  Those in `failed` have no answer.  By hand: the median of the first
tokens of 40 is 119.5 ms, its mean too; the time per token is 10 ms for all.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

REQUESTS = 40
TOKENS = 10
GAP_S = 0.010
START_S = 1_767_225_600.0  # 2026-01-01T00:00:00Z
EVERY_S = 0.25  # between two requests


def ttft_s(request: int) -> float:
    return 0.100 + 0.001 * (17 * request % 40)  # in an order without a trend


def latency_s(request: int) -> float:
    return ttft_s(request) + (TOKENS - 1) * GAP_S


# ---- vLLM ------------------------------------------------------------------------------------------------------------


def vllm(
    *, failed: Collection[int] = (), detailed: bool = True, starts: bool = False, requests: int = REQUESTS, **more: Any
) -> dict[str, Any]:
    """What --save-result writes; `detailed`: --save-detailed; `starts`: a version that saves start_times."""
    good = [i for i in range(requests) if i not in failed]
    answered = [ttft_s(i) for i in good]
    run: dict[str, Any] = {
        "date": "20260101-000000",
        "endpoint_type": "openai-chat",
        "backend": "openai-chat",
        "label": None,
        "model_id": "tiny/model",
        "tokenizer_id": "tiny/model",
        "num_prompts": requests,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": 8,
        "duration": 10.0,
        "completed": len(good),
        "failed": len(failed),
        "total_input_tokens": 50 * len(good),
        "total_output_tokens": TOKENS * len(good),
        "request_throughput": len(good) / 10.0,
        "request_goodput": None,
        "output_throughput": TOKENS * len(good) / 10.0,
        "total_token_throughput": (50 + TOKENS) * len(good) / 10.0,
    }
    if detailed:
        run |= {
            "input_lens": [50] * requests,
            "output_lens": [TOKENS if i in good else 0 for i in range(requests)],
            "ttfts": [ttft_s(i) if i in good else 0.0 for i in range(requests)],
            "itls": [[GAP_S] * (TOKENS - 1) if i in good else [] for i in range(requests)],
            "generated_texts": [f"answer {i}" if i in good else "" for i in range(requests)],
            "errors": ["" if i in good else "Internal Server Error" for i in range(requests)],
        }
        if starts:
            run["start_times"] = [1000.0 + EVERY_S * i for i in range(requests)]
    run |= {
        "max_output_tokens_per_s": 80.0,
        "max_concurrent_requests": 8,
        "mean_ttft_ms": 1000 * sum(answered) / max(1, len(answered)),
        "median_ttft_ms": 119.5,
        "std_ttft_ms": 11.5,
        "p99_ttft_ms": 138.61,
        "mean_tpot_ms": 10.0,
        "median_tpot_ms": 10.0,
        "std_tpot_ms": 0.0,
        "p99_tpot_ms": 10.0,
        "mean_itl_ms": 10.0,
        "median_itl_ms": 10.0,
        "std_itl_ms": 0.0,
        "p99_itl_ms": 10.0,
    }
    return {**run, **more}


# ---- sglang ----------------------------------------------------------------------------------------------------------


def sglang(*, detailed: bool = True, streamed: bool = True) -> dict[str, Any]:
    """A line of --output-file; `detailed`: --output-details; not `streamed`: --disable-stream."""
    columns = ("input_lens", "output_lens", "ttfts", "itls", "generated_texts", "errors")
    run = vllm()
    ttfts = {key: value if streamed else 0.0 for key, value in run.items() if key.endswith("_ttft_ms")}
    return {
        "tag": None,
        "backend": "sglang-oai-chat",
        "dataset_name": "random",
        "request_rate": float("inf"),
        "max_concurrency": 8,
        "random_range_ratio": 1.0,
        "duration": 10.0,
        "completed": REQUESTS,
        "total_output_tokens_retokenized": 0,
        "request_throughput": REQUESTS / 10.0,
        "output_throughput": TOKENS * REQUESTS / 10.0,
        "mean_e2e_latency_ms": 209.5,
        "p99_e2e_latency_ms": 228.61,
        **ttfts,
        **({key: run[key] for key in columns} if detailed else {}),
    }


# ---- genai-bench -----------------------------------------------------------------------------------------------------


def genai_bench(*, failed: Collection[int] = (), unit: str = "s", requests: int = REQUESTS, **totals: Any) -> dict[str, Any]:
    """A run's JSON."""
    scale = {"s": 1.0, "ms": 1000.0}[unit]

    def one(i: int) -> dict[str, Any]:
        empty = dict.fromkeys(
            (
                "ttft",
                "tpot",
                "e2e_latency",
                "output_latency",
                "output_inference_speed",
                "num_input_tokens",
                "num_output_tokens",
                "total_tokens",
                "input_throughput",
                "output_throughput",
            )
        )
        if i in failed:
            return {**empty, "error_code": 503, "error_message": "no healthy upstream"}
        return {
            "ttft": ttft_s(i) * scale,
            "tpot": GAP_S * scale,
            "e2e_latency": latency_s(i) * scale,
            "output_latency": (latency_s(i) - ttft_s(i)) * scale,
            "output_inference_speed": 100.0,
            "num_input_tokens": 50,
            "num_output_tokens": TOKENS,
            "total_tokens": 60,
            "input_throughput": 50 / ttft_s(i),
            "output_throughput": 100.0,
            "error_code": None,
            "error_message": None,
        }

    good = requests - len(failed)
    return {
        "aggregated_metrics": {
            "scenario": "D(50,10)",
            "num_concurrency": 8,
            "batch_size": 1,
            "iteration_type": "num_concurrency",
            "run_duration": 10.0,
            "mean_output_throughput_tokens_per_s": TOKENS * good / 10.0,
            "requests_per_second": good / 10.0,
            "error_codes_frequency": {"503": len(failed)} if failed else {},
            "error_rate": 0.0,
            "num_error_requests": len(failed),
            "num_completed_requests": good,
            "num_requests": requests,
            "stats": {
                "ttft": {"min": 0.1 * scale, "max": 0.139 * scale, "mean": 0.1195 * scale, "p50": 0.1195 * scale, "p99": 0.13861 * scale}
            },
            **totals,
        },
        "individual_request_metrics": [one(i) for i in range(requests)],
        "_time_unit": unit,
    }


def genai_metadata(**more: Any) -> dict[str, Any]:
    """experiment_metadata.json of the folder; with keys where genai-bench writes them."""
    return {
        "cmd": "genai-bench benchmark --api-key sk-verysecretkey1234567890ABCD --api-base http://localhost:8000",
        "benchmark_version": "0.0.5",
        "api_backend": "vllm",
        "auth_config": {"api_key": "sk-verysecretkey1234567890ABCD"},
        "api_model_name": "tiny/model",
        "server_model_tokenizer": "/models/tiny",
        "model": "tiny",
        "task": "text-to-text",
        "num_concurrency": [1, 8],
        "traffic_scenario": ["D(50,10)"],
        "additional_request_params": {"temperature": 0.5},
        "server_engine": "vLLM",
        "server_version": "v0.11",
        "server_gpu_type": "H100",
        "server_gpu_count": "4",
        "max_time_per_run_s": 15,
        "max_requests_per_run": 300,
        "experiment_folder_name": "mine",
        **more,
    }


# ---- AIPerf ----------------------------------------------------------------------------------------------------------


def aiperf_line(i: int, *, failed: Collection[int] = (), usage: bool = False) -> dict[str, Any]:
    """A line of profile_export.jsonl."""
    start = round((START_S + EVERY_S * i) * 1e9)

    def metric(value: object, unit: str) -> dict[str, Any]:
        return {"value": value, "unit": unit}

    metadata = {
        "session_num": i,
        "x_request_id": f"request-{i}",
        "x_correlation_id": f"session-{i}",
        "conversation_id": f"conversation-{i}",
        "turn_index": 0,
        "request_start_ns": start,
        "request_ack_ns": start + 1_000_000,
        "request_end_ns": start + round(latency_s(i) * 1e9) + 500_000,
        "worker_id": "worker_1",
        "record_processor_id": "record_processor_1",
        "benchmark_phase": "profiling",
        "was_cancelled": False,
        "cancellation_time_ns": None,
    }
    if i in failed:
        error = {"code": 500, "type": "InternalServerError", "message": "out of memory"}
        return {"metadata": metadata, "metrics": {"error_isl": metric(50, "tokens")}, "error": error}
    metrics = {
        "input_sequence_length": metric(50, "tokens"),
        "time_to_first_token": metric(ttft_s(i) * 1e3, "ms"),
        "request_latency": metric(latency_s(i) * 1e3, "ms"),
        "output_token_count": metric(TOKENS, "tokens"),
        "inter_chunk_latency": metric([GAP_S * 1e3] * (TOKENS - 1), "ms"),
        "output_sequence_length": metric(TOKENS, "tokens"),
        "inter_token_latency": metric(GAP_S * 1e3, "ms"),
        "output_token_throughput_per_user": metric(100.0, "tokens/sec/user"),
    }
    if usage:
        metrics |= {"usage_prompt_tokens": metric(53, "tokens"), "usage_completion_tokens": metric(TOKENS + 1, "tokens")}
    return {"metadata": metadata, "metrics": metrics, "error": None}


def aiperf_lines(*, requests: int = REQUESTS, **how: Any) -> str:
    return "".join(json.dumps(aiperf_line(i, **how)) + "\n" for i in range(requests))


def aiperf_totals(**more: Any) -> dict[str, Any]:
    """profile_export_aiperf.json."""
    return {
        "schema_version": "1.0",
        "aiperf_version": "0.13.0",
        "benchmark_id": "b",
        "request_throughput": {"unit": "requests/sec", "avg": 4.0},
        "request_latency": {"unit": "ms", "avg": 209.5, "p50": 209.5, "p99": 228.61, "min": 190.0, "max": 229.0, "std": 11.5},
        "request_count": {"unit": "requests", "avg": 40.0},
        "time_to_first_token": {"unit": "ms", "avg": 119.5, "p50": 119.5, "p99": 138.61, "min": 100.0, "max": 139.0, "std": 11.5},
        "inter_token_latency": {"unit": "ms", "avg": 10.0, "p50": 10.0, "p99": 10.0, "min": 10.0, "max": 10.0, "std": 0.0},
        "output_token_throughput": {"unit": "tokens/sec", "avg": 40.0},
        "benchmark_duration": {"unit": "sec", "avg": 10.0},
        "input_config": {
            "endpoint": {
                "model_names": ["tiny/model"],
                "type": "chat",
                "streaming": True,
                "urls": ["http://user:secretpassword1@localhost:8000/v1"],
                "api_key": "sk-verysecretkey1234567890ABCD",
            },
            "input": {"prompt": {"input_tokens": {"mean": 50, "stddev": 0}, "output_tokens": {"mean": 10, "stddev": 0}}},
            "loadgen": {"concurrency": 8, "request_rate": None},
            "cli_command": "aiperf profile --api-key sk-verysecretkey1234567890ABCD",
        },
        "was_cancelled": False,
        "error_summary": [],
        "start_time": "2026-01-01T00:00:00+00:00",
        "end_time": "2026-01-01T00:00:10+00:00",
        **more,
    }


# ---- guidellm --------------------------------------------------------------------------------------------------------


def guidellm_request(i: int, *, begin_s: float = START_S, lag_s: float = 0.0, fate: str = "successful") -> dict[str, Any]:
    """A request of a benchmark, in the shape of 0.4 and later. `lag_s`: how long after it was due it was sent."""
    due = begin_s + EVERY_S * i
    sent = due + lag_s
    timings: dict[str, Any] = {
        "targeted_start": due,
        "queued": due - 0.01,
        "dequeued": due,
        "scheduled_at": due,
        "resolve_start": sent,
        "request_start": sent,
        "first_token_iteration": sent + ttft_s(i),
        "first_output_token_iteration": sent + ttft_s(i),
        "last_token_iteration": sent + latency_s(i),
        "request_iterations": 12,
        "token_iterations": TOKENS,
        "request_end": sent + latency_s(i) + 0.001,
        "resolve_end": sent + latency_s(i) + 0.002,
    }
    error = None
    if fate != "successful":
        error = "Connection reset by peer" if fate == "errored" else None
        timings |= {"first_token_iteration": None, "first_output_token_iteration": None, "last_token_iteration": None}
    return {
        "type_": "generative_request_stats",
        "request_id": f"request-{i}",
        "output": f"answer {i}",
        "info": {"request_id": f"request-{i}", "turn_index": 0, "status": "completed", "timings": timings, "error": error},
        "input_metrics": {"text_tokens": 50},
        "output_metrics": {"text_tokens": TOKENS},
        "prompt_tokens": 50,
        "output_tokens": TOKENS,
        "request_start_time": sent,
        "time_to_first_token_ms": 1000 * ttft_s(i),
        "request_latency": latency_s(i) + 0.001,
    }


def guidellm_benchmark(
    strategy: Mapping[str, Any],
    *,
    requests: int = REQUESTS,
    failed: int = 0,
    cut: int = 0,
    made: int | None = None,
    begin_s: float = START_S,
    lag_s: float = 0.0,
) -> dict[str, Any]:
    """One benchmark; the last requests failed or were cut off."""
    good = requests - failed - cut
    fates = ["successful"] * good + ["errored"] * failed + ["incomplete"] * cut
    rows = [guidellm_request(i, begin_s=begin_s, lag_s=lag_s, fate=fate) for i, fate in enumerate(fates)]
    listed = {fate: [row for row, own in zip(rows, fates, strict=True) if own == fate] for fate in ("successful", "errored", "incomplete")}
    return {
        "type_": "generative_benchmark",
        "config": {
            "id_": "c",
            "run_id": "r",
            "run_index": 0,
            "strategy": dict(strategy),
            "constraints": {"max_requests": {"max_num": requests}},
            "profile": {},
            "requests": {"data": "prompt_tokens=50,output_tokens=10"},
            "backend": {"target": "http://localhost:8000", "model": "tiny/model"},
            "environment": {},
        },
        "scheduler_metrics": {"requests_made": {"successful": made or good, "errored": failed, "incomplete": cut}},
        "metrics": {
            "request_totals": {"successful": made or good, "errored": failed, "incomplete": cut, "total": (made or good) + failed + cut},
            "requests_per_second": {"successful": {"mean": 4.0, "median": 4.0}},
            "time_to_first_token_ms": {"successful": {"mean": 119.5, "median": 119.5, "percentiles": {"p95": 137.05, "p99": 138.61}}},
            "time_per_output_token_ms": {"successful": {"mean": 20.95, "median": 20.95}},
            "inter_token_latency_ms": {"successful": {"mean": 10.0, "median": 10.0}},
            "request_latency": {"successful": {"mean": 0.2105, "median": 0.2105}},
        },
        "requests": {**listed, "total": None},
        "start_time": begin_s,
        "end_time": begin_s + 10.0,
        "duration": 10.0,
    }


def guidellm(*benchmarks: Mapping[str, Any]) -> dict[str, Any]:
    """benchmarks.json."""
    return {
        "type_": "benchmarks_report",
        "metadata": {"version": 2, "guidellm_version": "0.7.3", "python_version": "3.11"},
        "args": {
            "target": "http://localhost:8000",
            "data": ["prompt_tokens=50,output_tokens=10"],
            "processor": "tiny/model",
            "backend_kwargs": {"api_key": "sk-verysecretkey1234567890ABCD"},
        },
        "benchmarks": [dict(one) for one in benchmarks],
    }


# ---- MLPerf LoadGen --------------------------------------------------------------------------------------------------


def loadgen_detail(scenario: str = "Server", *, valid: bool = True, **more: Any) -> str:
    """mlperf_log_detail.txt."""
    facts: dict[str, Any] = {
        "loadgen_version": "5.0.25 @ 1bc3e998cb",
        "test_datetime": "2026-01-01T00:00:00Z",
        "sut_name": "PySUT",
        "qsl_name": "QSL",
        "requested_scenario": scenario,
        "requested_test_mode": "PerformanceOnly",
        "effective_scenario": scenario,
        "effective_test_mode": "PerformanceOnly",
        "effective_samples_per_query": 24576 if scenario == "Offline" else 8 if scenario == "MultiStream" else 1,
        "effective_target_qps": 12.5,
        "effective_min_duration_ms": 600000,
        "result_validity": "VALID" if valid else "INVALID",
        **({} if valid else {"result_invalid_reason": "Reduce target QPS to improve latency."}),
        "result_query_count": 1 if scenario == "Offline" else 7500,
        "result_overlatency_query_count": 3,
        "result_scheduled_samples_per_sec": 12.48,
        "result_completed_samples_per_sec": 12.45,
        "result_min_latency_ns": 190000000,
        "result_max_latency_ns": 900000000,
        "result_mean_latency_ns": 210000000,
        "result_50.00_percentile_latency_ns": 209500000,
        "result_99.00_percentile_latency_ns": 228610000,
        "result_first_token_mean_latency_ns": 119500000,
        "result_first_token_99.00_percentile_latency_ns": 138610000,
        "result_time_per_output_token_99.00_percentile_ns": 10000000,
        **more,
    }
    metadata = {"is_error": False, "is_warning": False, "file": "results.cc", "line_no": 559, "pid": 1, "tid": 1}
    return "".join(
        ":::MLLOG "
        + json.dumps(
            {
                "key": key,
                "value": value,
                "time_ms": 1.5,
                "namespace": "mlperf::logging",
                "event_type": "POINT_IN_TIME",
                "metadata": metadata,
            }
        )
        + "\n"
        for key, value in facts.items()
    )


SUMMARY = """\
================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 12.45
Result is : VALID
  Performance constraints satisfied : Yes
  Min duration satisfied : Yes
  Min queries satisfied : Yes
  Early stopping satisfied: Yes
TTFT Early Stopping Result:
 * Run successful.

================================================
Additional Stats
================================================
Scheduled samples per second : 12.48

Min latency (ns)                : 190000000
Max latency (ns)                : 900000000
Mean latency (ns)               : 210000000
50.00 percentile latency (ns)   : 209500000
99.00 percentile latency (ns)   : 228610000

Completed tokens per second                 : 124.5
Min First Token latency (ns)                : 100000000
99.00 percentile first token latency (ns)   : 138610000
99.00 percentile time to output token (ns)   : 10000000

================================================
Test Parameters Used
================================================
samples_per_query : 1
target_qps : 12.5
target_latency (ns): 0
min_duration (ms): 600000

No warnings encountered during test.

No errors encountered during test.
"""


# ---- perf_analyzer ---------------------------------------------------------------------------------------------------


def perf_analyzer() -> dict[str, Any]:
    """An export of a chat endpoint, as GenAI-Perf's own tests have it (test_llm_profile_data_parser.py), in milliseconds from a time of day."""

    def event(delta: dict[str, Any]) -> dict[str, str]:
        return {"response": f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': None}]})}\n\n"}

    def request(sent: int, times: Sequence[int], words: Sequence[str]) -> dict[str, Any]:
        told = [event({"role": "assistant"}), *(event({"content": word}) for word in words), event({}), {"response": "data: [DONE]\n\n"}]
        begin = round(START_S * 1e9)
        return {
            "timestamp": begin + sent * 1_000_000,
            "request_inputs": {"payload": "{}"},
            "response_timestamps": [begin + time * 1_000_000 for time in times],
            "response_outputs": told,
        }

    requests = [request(1, (3, 5, 8, 12, 13, 14), ("I", " like", " dogs")), request(2, (4, 7, 11, 15, 18, 19), ("I", "don't", "cook food"))]
    experiment = {"experiment": {"mode": "concurrency", "value": 10}, "requests": requests, "window_boundaries": [1, 5000000000]}
    return {"experiments": [experiment], "version": "2.59.0", "service_kind": "openai", "endpoint": "v1/chat/completions"}


# perf_analyzer's documentation (docs/measurements_metrics.md)
PERF_CSV = """Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,\
Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency
1,69.2,225,2148,64,206,11781,19,0,13891,18795,19753,21018
3,84.2,237,1768,21673,209,11742,17,0,35398,43984,47085,51701
4,84.2,279,1604,33669,233,11731,18,1,47045,56545,59225,64886
2,87.2,235,1973,9151,190,11346,17,0,21874,28557,29768,34766
"""
LOADS = Path(__file__).parent / "loads"  # written by the tools' own code: loads/README.md


def posted(name: str) -> str:
    """A file of `loads/`."""
    return (LOADS / name).read_text(encoding="utf-8")


def write(path: Path, content: object) -> Path:
    """A file of a sample: text as it is, anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path
