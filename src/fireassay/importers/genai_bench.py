"""What did genai-bench measure?  From one run's JSON in its experiment folder, or the whole folder.

One file holds one scenario at one concurrency: `aggregated_metrics` and, per request, `individual_request_metrics` with ttft,
e2e_latency and token counts, in seconds or `_time_unit`.  Model, backend and version are in experiment_metadata.json next to it.
Requests have no wall-clock time and no identity; requests in flight at the end are missing.
(genai_bench/metrics and protocol.py of sgl-project/genai-bench at commits 00e863a and 7fd04d8.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support import base
from fireassay.importers.support.documents import Place, Spool, documents
from fireassay.spec.sections import genai_bench, scenario

REQUESTS: Final = "individual_request_metrics"
METADATA: Final = "experiment_metadata.json"
UNITS: Final = {"s": 1.0, "ms": 1e-3}
WITHOUT_TOKENS: Final = ("E", "R", "A")  # scenarios without output tokens; genai-bench writes 0
OF_TEXT: Final = ("chat", "completions", "image_chat")  # tasks with output tokens
UNCOUNTED: Final = ("text_to_image", "text_to_speech")  # tasks whose prompts nobody counts; genai-bench writes 0
SAME_NAMES: Final = ("openai", "vllm", "sglang", "together", "baseten", "cohere")
BACKENDS: Final = {**genai_bench.BACKENDS, **{name: name for name in SAME_NAMES}}
SERVER: Final = ("server_engine", "server_version", "server_gpu_type", "server_gpu_count")
STATISTICS: Final = (("mean", ""), ("p50", "p50"), ("p90", ""), ("p95", "p95"), ("p99", "p99"))
LATENCIES: Final = (("ttft", "TTFT", "ttft"), ("tpot", "TPOT", "tpot"), ("e2e_latency", "end to end", "e2e"))


def recognises(_: str, beginning: str) -> bool:
    """True if it begins with genai-bench's totals."""
    return '"aggregated_metrics"' in beginning and ('"num_concurrency"' in beginning or f'"{REQUESTS}"' in beginning)


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The run in a file."""
    metadata = _metadata(path, stack)
    return [_load(path.name, base.mapping(run, place), place, metadata) for place, run in documents(path, [(REQUESTS,)], stack)]


def beside(path: Path) -> tuple[Path, ...]:
    """The experiment's metadata file."""
    return (path.with_name(METADATA),)


def _metadata(path: Path, stack: ExitStack) -> Mapping[str, Any]:
    """The folder's metadata; empty without the file. Its command line and API keys are not imported."""
    file = path.with_name(METADATA)
    if not file.is_file():
        return {}
    return next((base.mapping(document, place) for place, document in documents(file, (), stack)), {})


def _load(file: str, run: Mapping[str, Any], place: Place, metadata: Mapping[str, Any]) -> base.Load:
    totals = base.mapping(run.get("aggregated_metrics"), place.at("aggregated_metrics"))
    at = place.at("aggregated_metrics")
    scenario_text = _scenario(totals, at)
    requests = run.get(REQUESTS)
    stated, serving = {"serving.scenarios", "serving.load", "serving.arrivals.process"}, _serving(totals, at, metadata)
    if metadata:
        stated |= {"serving.model", "engine.model", "engine.backend", "serving.task"}
    stated |= {f"serving.{name}" for name in ("tokenizer", "temperature") if name in serving and serving[name] != ""}
    unit = UNITS.get(str(run.get("_time_unit", "s")))
    if unit is None:
        raise place.at("_time_unit").wrong(run.get("_time_unit"), " or ".join(UNITS))
    task = str(serving.get("task", "chat"))
    silent = scenario_text[:1] in WITHOUT_TOKENS and task in OF_TEXT
    return base.Load(
        file=file,
        kind="concurrency",
        load=_concurrency(totals, at),
        scenario=scenario_text,
        serving=serving,
        stated=frozenset(stated),
        backend=BACKENDS.get(str(metadata.get("api_backend", "")).lower(), "openai"),
        conditions={key: value for key in SERVER if (value := base.text(metadata, key, Place(METADATA), 80))},
        rows=partial(_rows, requests, place, unit, "embeddings" if silent else task) if isinstance(requests, Spool) else None,
        times="none",
        duration_s=base.number(totals, "run_duration", at),
        reported=tuple(_reported(totals, unit)),
        missing=_missing(metadata, requests),
        doubts=_doubts(totals, at, requests),
        version=base.text(metadata, "benchmark_version", Place(METADATA), 40) or "",
    )


# ---- settings --------------------------------------------------------------------------------------------------------


def _scenario(totals: Mapping[str, Any], at: Place) -> str:
    value = base.text(totals, "scenario", at)
    if value is None or scenario.problem(value) is not None:
        raise at.at("scenario").wrong(value, scenario.ALLOWED)
    return value


def _concurrency(totals: Mapping[str, Any], at: Place) -> float:
    kind = totals.get("iteration_type", "num_concurrency")
    if kind not in ("num_concurrency", "batch_size"):
        raise at.at("iteration_type").wrong(kind, '"num_concurrency" or "batch_size"')
    concurrency = base.whole(totals, "num_concurrency", at)
    if not concurrency or concurrency > 1_000_000:
        raise at.at("num_concurrency").wrong(totals.get("num_concurrency"), "a whole number of at least 1")
    return float(concurrency)


def _serving(totals: Mapping[str, Any], at: Place, metadata: Mapping[str, Any]) -> dict[str, Any]:
    place = Place(METADATA)
    serving: dict[str, Any] = {"arrivals": {"process": "closed"}}
    if metadata:
        serving["model"] = base.text(metadata, "api_model_name", place) or base.text(metadata, "model", place) or ""
        serving["tokenizer"] = base.text(metadata, "server_model_tokenizer", place) or ""
        serving["task"] = genai_bench.TASKS.get(str(metadata.get("task", "")), "chat")
    temperature = base.inner(metadata, "additional_request_params").get("temperature")
    if isinstance(temperature, int | float) and 0 <= temperature <= 10:
        serving["temperature"] = float(temperature)
    batch = base.whole(totals, "batch_size", at)
    if "task" not in serving and _scenario(totals, at)[:1] in WITHOUT_TOKENS:
        serving["task"] = {"E": "embeddings", "R": "rerank", "A": "text_to_speech"}[_scenario(totals, at)[:1]]
    if batch and batch > 1:
        serving["prompts"] = {"documents": batch}
    return serving


# ---- the requests ----------------------------------------------------------------------------------------------------


def _rows(requests: Spool, place: Place, unit: float, task: str) -> Iterator[base.RequestRow]:
    for index, (line, row) in enumerate(requests):
        at = Place(place.file, line, f"{REQUESTS}[{index}]")
        yield _row(base.mapping(row, at), at, unit, task)


def _row(row: Mapping[str, Any], at: Place, unit: float, task: str) -> base.RequestRow:
    tokens = task in OF_TEXT
    timed = tokens or task == "text_to_speech"  # the first part of an answer has a time of its own
    code = row.get("error_code")
    if code is not None:
        if not isinstance(code, int) or isinstance(code, bool):
            raise at.at("error_code").wrong(code, "a whole number, or null")
        error = base.text(row, "error_message", at)
        return base.RequestRow(status=base.failure(error, code), http_status=code if 100 <= code <= 599 else None, error=error)
    ttft, latency = base.nanoseconds(row, "ttft", at, unit), base.nanoseconds(row, "e2e_latency", at, unit)
    if ttft is not None and latency is not None and ttft > latency:
        raise at.at("ttft").wrong(row["ttft"], f"at most e2e_latency, {row['e2e_latency']}")
    return base.RequestRow(
        first_ns=ttft if timed else None,
        last_ns=latency if timed else None,
        done_ns=latency,
        tokens_in=base.whole(row, "num_input_tokens", at) if task not in UNCOUNTED else None,
        tokens_out=base.whole(row, "num_output_tokens", at) if tokens else None,
        tokens_reasoning=base.whole(row, "num_reasoning_tokens", at),
    )


# ---- reported and missing values -------------------------------------------------------------------------------------


def _reported(totals: Mapping[str, Any], unit: float) -> Iterator[base.Reported]:
    yield from base.reported(totals, "num_completed_requests", "answered requests", "count")
    yield from base.reported(totals, "num_error_requests", "failed requests", "count")
    yield from base.reported(totals, "error_rate", "failed requests, as a share", "fraction", "error_rate")
    yield from base.reported(totals, "requests_per_second", "requests per second, ramp and end included", "1/s", "request_throughput")
    yield from base.reported(
        totals, "mean_output_throughput_tokens_per_s", "output tokens per second, ramp and end included", "1/s", "output_throughput"
    )
    for key, title, ours in LATENCIES:
        statistics = base.inner(totals, "stats", key)
        for statistic, quantile in STATISTICS:
            near = f"{ours}_{quantile}" if quantile else ""
            yield from base.reported(statistics, statistic, f"{statistic} {title}", "ms" if unit < 1.0 else "s", near)


def _missing(metadata: Mapping[str, Any], requests: object) -> tuple[str, ...]:
    missing = [] if metadata else [f"model, backend and task: there is no {METADATA} next to it"]
    if not isinstance(requests, Spool):
        missing.append("the requests: it holds totals only")
    return tuple(missing)


def _doubts(totals: Mapping[str, Any], at: Place, requests: object) -> tuple[str, ...]:
    total = base.whole(totals, "num_requests", at)
    if not isinstance(requests, Spool) or total is None or total == len(requests):
        return ()
    return (f"it reports {total:,} requests, but lists {len(requests):,}",)


FOREIGN = base.Foreign(
    name="genai_bench",
    title="genai-bench",
    files="a run's JSON in the experiment folder, or the folder",
    clock="sent",
    meanings={
        "first_token": "the first chunk with content or reasoning",
        "end": "the end of the stream, the usage chunk included",
        "tokens": "the server's usage, else the tokenizer; which of them is not said",
        "connection": "a new one for every request, set up inside of the latency",
        "stamps": "monotonic, after the line was read and parsed",
        "left_out": "requests that were under way at the end; of its own means and percentiles also answers of more than 1,000 tokens per second",
    },
    missing=(
        "when each request was sent, so that no rate over a measured window can be computed",
        "when each request was due",
        "the environment: machine, driver, and flags of the engine",
        "requests in flight when the run ended: they were cancelled and leave no row",
    ),
    recognises=recognises,
    read=read,
    beside=beside,
)
