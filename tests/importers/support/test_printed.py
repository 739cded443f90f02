"""Is what a tool prints on a console refused by the tool's name, with the file to give instead, whatever verb it is given to?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases.asked import asked

VLLM = """INFO 11-29 10:02:16 starting
============ Serving Benchmark Result ============
Successful requests:                     1000
Mean TTFT (ms):                          123.45
==================================================
"""
# posted in sglang's documentation, tritonserver 2264 and printed by token_benchmark_ray.py
SGLANG = """============ Serving Benchmark Result ============
Backend:                                 sglang
Mean E2E Latency (ms):                   2098.07
"""
PERF_ANALYZER = """Request concurrency: 1
  Client:
    Request count: 526
    p99 latency: 10571 usec
Inferences/Second vs. Client Average Batch Latency
Concurrency: 1, throughput: 105.2 infer/sec, latency 9506 usec
"""
LLMPERF = """Results for token benchmark for meta-llama/Llama-2-7b-chat-hf queried with the openai api.
ttft_s
    p50 = 0.5
Completed Requests Per Minute: 10.9
"""
RICH = """                    NVIDIA {title} | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
┃                   Metric ┃    avg ┃    p99 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━┩
│ Time to First Token (ms) │  18.26 │  68.82 │
└──────────────────────────┴────────┴────────┘
"""
GUIDELLM_OLD = """Benchmarks Info:
=====================================================
Metadata                     |||| Requests Made  |||
  Benchmark| Start Time| Duration (s)|  Comp|  Inc|
-----------|-----------|-------------|------|-----|
synchronous|   14:09:03|         30.0|    25|    1|
"""
GUIDELLM = """\u2139 Run Summary Info
|===========|==========|======|
| Benchmark | Timings        ||
| Strategy  | Start    | Dur  |
|-----------|----------|------|
| constant  | 10:04:22 | 60.0 |
|===========|==========|======|
"""
GENAI_BENCH = "╭─ Input Latency vs Input Throughput of Server ─╮\n│ 12.5            │\n╰─────────────────╯\n"
HYPERFINE = """Benchmark 1: python train.py --workers 1
  Time (mean \u00b1 \u03c3):     10.123 s \u00b1  0.045 s    [User: 9.9 s, System: 0.1 s]
  Range (min \u2026 max):    10.01 s \u2026 10.21 s    10 runs
"""
NCCL = """# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1    80.55   13.02   22.78      0    79.91   13.12   22.96      0
"""
LM_EVAL = """|Tasks|Version|     Filter     |n-shot|  Metric   |   |Value |   |Stderr|
|-----|------:|----------------|-----:|-----------|---|-----:|---|-----:|
|gsm8k|      3|flexible-extract|     5|exact_match|\u2191  |0.8423|\u00b1  |0.0100|
"""
AIPERF_CSV = (
    "Metric,avg,min,max,p99,p95,p90,p75,p50,p25,std\nTime to First Token (ms),18.26,11.22,106.32,68.82,40,27.76,20,16.62,14,12.07\n"
)
HYPERFINE_JSON = json.dumps({"results": [{"command": "a", "mean": 1.0, "stddev": 0.1, "user": 0.9, "times": [1.0], "exit_codes": [0]}]})
PRINTED = {
    "vllm.txt": (VLLM, "vllm bench serve", "--save-result --save-detailed"),
    "coloured.txt": (
        VLLM.replace("===\n", "===\x1b[0m\n").replace("Serving Benchmark", "Serving \x1b[1mBenchmark"),
        "vllm bench serve",
        "--save-result",
    ),
    "late.txt": ("INFO loading\n" * 20_000 + VLLM, "vllm bench serve", "--save-result"),
    "aiperf.md": (RICH.format(title="AIPerf"), "AIPerf", "profile_export.jsonl"),
    "aiperf.csv": (AIPERF_CSV, "AIPerf", "profile_export.jsonl"),
    "sglang.txt": (SGLANG, "sglang.bench_serving prints", "--output-file FILE.jsonl --output-details"),
    "perf_analyzer.txt": (PERF_ANALYZER, "perf_analyzer", "-f FILE.csv"),
    "llmperf.txt": (LLMPERF, "llmperf", "--results-dir FOLDER"),
    "genai_perf.txt": (RICH.format(title="GenAI-Perf"), "GenAI-Perf", "--profile-export-file"),
    "guidellm.txt": (GUIDELLM, "guidellm", "benchmarks.json"),
    "guidellm_old.txt": (GUIDELLM_OLD, "guidellm", "benchmarks.json"),
    "genai_bench.txt": (GENAI_BENCH, "genai-bench", "folder of the experiment"),
    "hyperfine.txt": (HYPERFINE, "hyperfine", "--export-json FILE.json"),
    "lm_eval.md": (LM_EVAL, "lm-evaluation-harness", "--log_samples"),
}


@pytest.mark.parametrize("verb", ["import", "audit", "rubric"])
@pytest.mark.parametrize("name", PRINTED)
def test_the_tool_is_named_and_the_file_to_give_instead(name: str, verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, tool, instead = PRINTED[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    code, told = asked(capsys, verb, tmp_path / name, *(("--root", tmp_path / "records") if verb == "import" else ()))
    assert (code, "a known load generator" in told, "which both say" in told) == (2, False, False)
    assert tool in told
    assert instead in told


@pytest.mark.parametrize("verb", ["audit", "rubric"])
def test_a_file_that_can_be_imported_is_no_table_and_that_is_said(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text, tool in (
        ("all_reduce_perf.txt", NCCL, "nccl-tests"),
        ("hyperfine.json", HYPERFINE_JSON, "hyperfine"),
        ("result.json", '{"model_id": "m", "num_prompts": 3, "request_rate": "inf", "tokenizer_id": "t"}', "vLLM bench serve"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        code, told = asked(capsys, verb, tmp_path / name)
        assert code == 2
        assert f"results of {tool}" in told
        assert "assay import " in told


def test_a_table_that_only_mentions_a_tool_is_judged_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("# hyperfine, Benchmarks Stats of guidellm and LLM Metrics\nworkers,seconds\n1,10\n2,6\n", encoding="utf-8")
    assert asked(capsys, "audit", table)[0] == 0


def test_a_table_of_hyperfine_is_read_once_its_column_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "h.csv"
    table.write_text(
        "command,mean,stddev,median,user,system,min,max\nt --workers 1,10,0,10,9,0,9,11\nt --workers 2,6,0,6,5,0,5,7\n", encoding="utf-8"
    )
    code, told = asked(capsys, "audit", table)
    assert (code, "hyperfine" in told, "--use seconds=mean" in told) == (2, True, True)
    code, told = asked(capsys, "audit", table, "--use", "seconds=mean")
    assert (code, "1.67 times as fast" in told) == (0, True)
