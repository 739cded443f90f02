"""How does genai-bench read a load that was measured here, with its Excel report and its plots?

Its experiment folder: experiment_metadata.json and one file per scenario and concurrency, named as its loader requires; with several
engines one such folder for each.  It has one run per concurrency, so the launches of a configuration are pooled: the answered requests of
all measured windows, the sum of the windows as duration.  Times are ours: they end with the last token, not with the usage chunk, and
TPOT excludes the tokens of the first chunk.  Percentiles interpolate linearly over the requests, as numpy does there; rates are this
record's own.  A value that was not measured is null or left out; genai-bench itself shows a rate that is left out as 0.
Request errors without an HTTP status get the number that genai-bench gives them: 408 timed out, 503 no connection, 500 anything else.
(genai_bench/protocol.py, metrics/ and analysis/experiment_loader.py of sgl-project/genai-bench at commit 7fd04d8.)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from fireassay.errors import refuse
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.reports.exports.export import Export, Exported, Subject
from fireassay.spec.plan import Configuration, targets_of
from fireassay.spec.sections import genai_bench as names
from fireassay.spec.sections.serving import Serving, Target

FORM: Final = "0.0.5"  # the release whose form this is
TASKS: Final = {**{ours: theirs for theirs, ours in names.TASKS.items()}, "completions": "text-to-text", "responses": "text-to-text"}
BACKENDS: Final = {ours: theirs for theirs, ours in names.BACKENDS.items() if theirs != names.OF_COHERE}
OWN_NAMES: Final = ("openai", "vllm", "sglang", "together", "baseten", "cohere")  # others speak OpenAI's dialect
SPEECH: Final = "text-to-speech"
WITH_TOKENS: Final = ("text-to-text", "image-text-to-text")  # of all other tasks' output genai-bench writes 0
OUTPUT: Final = ("tpot", "output_latency", "output_inference_speed", "num_output_tokens", "output_throughput", "num_reasoning_tokens")
SERVER: Final = ("server_engine", "server_version", "server_gpu_type", "server_gpu_count")
CODES: Final = {"timeout": 408, "refused": 503, "reset": 503, "unsent": 503}
LEAST_S: Final = 1e-3  # an answer whose tokens arrive within less has no TPOT there
QUANTILES: Final = (25, 50, 75, 90, 95, 99)
RATES: Final = {  # its name -> ours
    "mean_output_throughput_tokens_per_s": "output_throughput",
    "mean_input_throughput_tokens_per_s": "input_throughput",
    "requests_per_second": "request_throughput",
}
CLOSED: Final = ("closed",)


def files(subject: Subject) -> Exported:
    """The folder. Raises SpecError: its form has no place for these loads, or nothing was answered."""
    measured, results = subject.measured, subject.results
    serving = measured.experiment.serving
    assert serving is not None
    _refuse(measured, serving)
    made: dict[str, bytes] = {}
    notes = []
    targets = targets_of(serving)
    for target in targets:
        folder = f"{target.name}/" if len(targets) > 1 else ""
        runs = []
        for configured in (one for one in measured.varied if one.target in ("", target.name)):
            run = _run(measured, results, serving, configured)
            if run is None:
                notes.append(f"left out: {configured.name}, for no request of its measured windows was answered.")
                continue
            runs.append(configured)
            made[folder + _file_name(run, _task(serving))] = _bytes(run)
        if runs:
            made[f"{folder}experiment_metadata.json"] = _bytes(_metadata(measured, serving, target, runs))
    if not made:
        raise refuse(
            "the record", "no answered request in a measured window", "a load with answers", "Measure it again.", source="the export"
        )
    return Exported(files=made, notes=tuple(notes))


def _refuse(measured: RecordData, serving: Serving) -> None:
    fix = "Measure it with --concurrency."
    if serving.arrivals.process not in CLOSED or not serving.concurrency:
        found = f"arrivals {serving.arrivals.process}"
        raise refuse("the record", found, "requests in flight (a closed loop): genai-bench's files have no rate", fix, source="the export")
    if serving.task not in TASKS:
        raise refuse("the record", f"task {serving.task}", f"one of {', '.join(TASKS)}", source="the export")
    if measured.foreign is not None:
        fix = "Give the program's own files to genai-bench, if it reads them."
        raise refuse("the record", f"an import from {measured.foreign.get('title')}", "a record measured here", fix, source="the export")


# ---- a run -----------------------------------------------------------------------------------------------------------


def _run(measured: RecordData, results: Results, serving: Serving, configured: Configuration) -> dict[str, Any] | None:
    """One file: a scenario at a concurrency; None without an answer."""
    requests = measured.counted_requests.filter(pl.col("configuration") == configured.name)
    windows = measured.served.windows.filter(
        (pl.col("configuration") == configured.name) & pl.col("launch").is_in(measured.timed["launch"].to_list())
    )
    seconds = windows["seconds"].sum()
    answered = requests.filter("ok")
    if not answered.height or not seconds:
        return None
    rows = [_row(row, _task(serving)) for row in requests.iter_rows(named=True)]
    codes = Counter(str(row["error_code"]) for row in rows if row["error_code"] is not None)
    rates = {theirs: value for theirs, ours in RATES.items() if (value := _rate(results, ours, configured.name)) is not None}
    tokens = [rates.get(name) for name in ("mean_output_throughput_tokens_per_s", "mean_input_throughput_tokens_per_s")]
    if _task(serving) not in WITH_TOKENS:
        tokens[0] = 0.0
    total = {} if None in tokens else {"mean_total_tokens_throughput_tokens_per_s": sum(value or 0.0 for value in tokens)}
    return {
        "aggregated_metrics": {
            "scenario": configured.scenario,
            "num_concurrency": int(configured.load or 1),
            "batch_size": serving.prompts.documents if serving.task in ("embeddings", "rerank") else 1,
            "iteration_type": "num_concurrency",
            "run_duration": seconds,
            **rates,
            **total,
            "error_codes_frequency": dict(codes),
            "error_rate": 1.0 - answered.height / requests.height,
            "num_error_requests": requests.height - answered.height,
            "num_completed_requests": answered.height,
            "num_requests": requests.height,
            "stats": {name: _statistics(rows, name) for name in _NUMBERS},
        },
        "individual_request_metrics": rows,
        "_time_unit": "s",
    }


def _rate(results: Results, metric: str, configuration: str) -> float | None:
    value = results[metric].get(configuration)
    return float(value.value) if isinstance(value, Estimate) else None


_NUMBERS: Final = (
    *("ttft", "tpot", "e2e_latency", "output_latency", "output_inference_speed", "num_input_tokens", "num_output_tokens"),
    *("num_reasoning_tokens", "total_tokens", "input_throughput", "output_throughput", "audio_throughput"),
)


def _row(request: Mapping[str, Any], task: str) -> dict[str, Any]:
    """A request's numbers; of a failed one only its error."""
    row: dict[str, Any] = dict.fromkeys((*_NUMBERS, "error_code", "error_message"))
    if not request["ok"]:
        status = request["status"]
        code = request["http_status"]
        failed = code if code is not None and code >= 400 else CODES.get(status, 500)
        return {**row, "error_code": failed, "error_message": request["error"] or status}
    silent = task not in WITH_TOKENS
    latency, tokens_in, tokens = request["e2e_s"], request["tokens_in"], request["tokens"]
    first = request["ttft_s"] if not silent or task == SPEECH else latency
    row |= {"ttft": first, "e2e_latency": latency, "num_input_tokens": tokens_in}
    row["input_throughput"] = _quotient(tokens_in, first)
    if silent:
        playing = latency - first if task == SPEECH and first is not None and latency is not None else None
        audio = _quotient(request["bytes_in"], playing)
        return {**row, **dict.fromkeys(OUTPUT, 0), "total_tokens": tokens_in, "audio_throughput": audio}
    after = None if first is None or latency is None else latency - first
    tpot = None if after is None or after < LEAST_S else request["tpot_s"]
    return {
        **row,
        "tpot": tpot,
        "output_latency": after,
        "output_inference_speed": _quotient(1.0, tpot),
        "num_output_tokens": None if tokens is None else int(tokens),
        "num_reasoning_tokens": request["tokens_reasoning"],
        "total_tokens": None if tokens is None or tokens_in is None else tokens_in + int(tokens),
        "output_throughput": _quotient(None if tokens is None or tokens < 2 else tokens - 1, after),
    }


def _quotient(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _statistics(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, float | None]:
    """genai-bench's statistics of a number; all null if no request has it."""
    values = [row[name] for row in rows if row[name] is not None]
    if not values:
        return dict.fromkeys(("min", "max", "mean", "stddev", "sum", *(f"p{q}" for q in QUANTILES)))
    numbers = np.asarray(values, dtype=np.float64)
    quantiles = np.percentile(numbers, QUANTILES)
    plain = {"min": numbers.min(), "max": numbers.max(), "mean": numbers.mean(), "stddev": numbers.std(), "sum": numbers.sum()}
    return {key: float(value) for key, value in (*plain.items(), *zip((f"p{q}" for q in QUANTILES), quantiles, strict=True))}


# ---- the folder ------------------------------------------------------------------------------------------------------


def _task(serving: Serving) -> str:
    return TASKS[serving.task]


def _file_name(run: Mapping[str, Any], task: str) -> str:
    """As genai-bench names it; its loader skips other names."""
    totals = run["aggregated_metrics"]
    scenario = totals["scenario"].translate(str.maketrans({"/": "_", ",": "_", "(": None, ")": None}))
    return f"{scenario}_{task}_num_concurrency_{totals['num_concurrency']}_time_{max(1, round(totals['run_duration']))}s.json"


def _metadata(measured: RecordData, serving: Serving, target: Target, runs: Sequence[Configuration]) -> dict[str, Any]:
    model, conditions, several = target.model or serving.model, measured.experiment.conditions, len(targets_of(serving)) > 1
    record = str(measured.manifest.get("id", ""))
    windows = measured.served.windows["seconds"].drop_nulls().sum()
    return {
        "cmd": f"assay export {record} --to genai-bench",
        "benchmark_version": FORM,
        "api_backend": BACKENDS.get(target.backend, target.backend if target.backend in OWN_NAMES else "openai"),
        "auth_config": {},
        "api_model_name": model,
        "server_model_tokenizer": serving.tokenizer or None,
        "model": model,
        "task": _task(serving),
        "num_concurrency": sorted({int(one.load or 1) for one in runs}),
        "batch_size": None,
        "iteration_type": "num_concurrency",
        "traffic_scenario": list(dict.fromkeys(one.scenario for one in runs)),
        "additional_request_params": {"temperature": serving.temperature, "ignore_eos": serving.ignore_eos},
        **{key: None if (value := conditions.get(key)) is None else _of_engine(str(value), target) for key in SERVER},
        **({"server_engine": target.name} if several and "server_engine" not in conditions else {}),
        "max_time_per_run_s": max(1, round(windows)),
        "max_requests_per_run": max(1, measured.counted_requests.height),
        "experiment_folder_name": measured.experiment.name,
        "metrics_time_unit": "s",
        "dataset_path": None if serving.prompts.source == "synthetic" else serving.prompts.source,
    }


def _of_engine(text: str, target: Target) -> str:
    """A condition of one engine: its part of "a=vLLM,b=SGLang", else the whole."""
    pairs = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    return pairs.get(target.name, text)


def _bytes(document: Mapping[str, Any]) -> bytes:
    return b"".join(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[bytes]:
    """JSON with one request per line, so that a diff and an error name it."""
    rows = document.get("individual_request_metrics")
    if rows is None:
        yield json.dumps(document, indent=2, allow_nan=False).encode() + b"\n"
        return
    yield b'{"aggregated_metrics": ' + json.dumps(document["aggregated_metrics"], allow_nan=False).encode()
    yield b',\n"individual_request_metrics": [\n'
    yield b",\n".join(json.dumps(row, allow_nan=False).encode() for row in rows)
    yield b'\n],\n"_time_unit": "s"}\n'


EXPORT = Export(
    name="genai_bench",
    title="genai-bench",
    summary="a folder for `genai-bench excel` and `genai-bench plot`",
    kinds=("serving",),
    marks=False,
    files=files,
)
