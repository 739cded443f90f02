"""Is a file what a tool prints or exports for people, and which of its files should be given instead?

Console output has rounded numbers and no requests, so it is refused by the tool's name. Cannot tell: output from which the titles were cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fireassay import catalog
from fireassay.importers import nccl_tests, osu
from fireassay.importers.support.documents import head
from fireassay.printable import shell_word

Refusal = tuple[str, str, str]  # what was found, what is allowed, what to do
LONGEST: Final = 1 << 20  # characters that are searched: logs may come first
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_GUIDELLM: Final = (
    "what guidellm prints",
    "benchmarks.json",
    "Run it again with --outputs benchmarks.json (older versions: --output-path).",
)
_GENAI_BENCH: Final = (
    "what genai-bench shows",
    "the folder of the experiment, or a run's JSON in it",
    "Import the folder that it names at its end.",
)
_AIPERF: Final = (
    "what AIPerf prints",
    "profile_export.jsonl of its artifact folder, or profile_export_aiperf.json",
    "Import the file from --artifact-dir.",
)
# All of these in the text -> what it is, and how that tool saves a file.
PRINTED: Final[Mapping[tuple[str, ...], Refusal]] = {
    ("Serving Benchmark Result =", "Mean E2E Latency (ms):"): (
        "what sglang.bench_serving prints",
        "the file that it saves",
        "Run it again with --output-file FILE.jsonl --output-details, and import that.",
    ),
    ("Serving Benchmark Result =",): (
        "what vllm bench serve (or sglang.bench_serving) prints",
        "the file that it saves",
        "Run it again with --save-result --save-detailed, and import the JSON; sglang.bench_serving: --output-file FILE --output-details.",
    ),
    ("NVIDIA GenAI-Perf", "LLM Metrics"): (
        "what GenAI-Perf prints",
        "profile_export.json of its artifact folder, or profile_export_genai_perf.json",
        "Import the file that --profile-export-file names, from --artifact-dir.",
    ),
    ("Inferences/Second vs. Client",): (
        "what perf_analyzer prints",
        "the file that it saves",
        "Run it again with --profile-export-file FILE.json (the requests) or -f FILE.csv (totals), and import that.",
    ),
    ("Results for token benchmark for", "Completed Requests Per Minute:"): (
        "what llmperf prints",
        "the files that it saves",
        "Run it again with --results-dir FOLDER, and import *_individual_responses.json from it.",
    ),
    ("AIPerf", "LLM Metrics"): _AIPERF,
    ("Metric,avg,min,max,p99", "Request Latency (ms)"): _AIPERF,
    ("Metric,avg,min,max,p99", "Time to First Token (ms)"): _AIPERF,
    ("Benchmarks Stats:",): _GUIDELLM,
    ("Benchmarks Info:", "Requests Made"): _GUIDELLM,
    ("Run Summary Info", "Benchmark"): _GUIDELLM,
    ("Request Latency Statistics (Completed Requests)",): _GUIDELLM,
    ("Server Throughput Statistics (",): _GUIDELLM,
    ("Input Latency vs Input Throughput of Server",): _GENAI_BENCH,
    ("Output Latency vs Output Throughput of Server",): _GENAI_BENCH,
    ("Time (mean ± σ):", "Range (min … max):"): (
        "what hyperfine prints",
        "the file of its executions",
        "Run it again with --export-json FILE.json, and import that. Or measure with: assay time -- COMMAND.",
    ),
    ("command,mean,stddev,median,user,system,min,max",): (
        "what hyperfine saves as CSV",
        "a table whose column of times is named",
        "Say which it is: assay audit FILE --use seconds=mean, with the number of workers in each command (--workers 2).",
    ),
    ("|Tasks|Version|", "|n-shot|"): (
        "what lm-evaluation-harness prints",
        "the folder that it writes",
        "Run it again with --output_path FOLDER --log_samples, and import the folder.",
    ),
}


def printed(path: Path) -> Refusal | None:
    """(found, allowed, fix) of a tool's printed results, which are no file that it saves for programs."""
    text = "" if path.is_dir() else _COLOUR.sub("", head(path, LONGEST))
    return next((refusal for marks, refusal in PRINTED.items() if all(mark in text for mark in marks)), None)


def of_a_tool(path: Path) -> Refusal | None:
    """The same for a file given where a table is wanted; also of one that can be imported."""
    if (refusal := printed(path)) is not None or not path.is_file():
        return refusal
    beginning = head(path)
    titles = [reader.title for reader in catalog.load_all("importers").values() if reader.recognises(path.name, beginning)]
    titles += [timer.title for timer in catalog.load_all("importers.timings").values() if timer.recognises(beginning)]
    titles += [harness.title for harness in catalog.load_all("importers.harnesses").values() if harness.recognises(path)]
    titles += [suite.TITLE for suite in (nccl_tests, osu) if suite.recognises(path.name, beginning)]
    return (
        (f"results of {titles[0]}", "a table of timings", f"Import them, then audit the record: assay import {shell_word(path)}")
        if titles
        else None
    )
