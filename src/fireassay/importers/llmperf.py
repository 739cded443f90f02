"""What did llmperf measure?  From *_individual_responses.json, with *_summary.json next to it if present, or that alone.

The responses are a list with ttft_s, end_to_end_latency_s and token counts; the summary is flat and has the settings. The tool's inter-token
latency divides the whole latency, the first token's included, by the number of chunks: it is no time between tokens.
(token_benchmark_ray.py and src/llmperf of ray-project/llmperf at commit f1d6bed.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support import base
from fireassay.importers.support.documents import Place, Spool, Words, documents

SUMMARY, RESPONSES = "_summary.json", "_individual_responses.json"
LENGTHS: Final = ("mean_input_tokens", "stddev_input_tokens", "mean_output_tokens", "stddev_output_tokens")
LATENCIES: Final = {
    "ttft_s": ("TTFT", "ttft"),
    "end_to_end_latency_s": ("end to end", "e2e"),
    "inter_token_latency_s": ("end to end per chunk (called inter-token latency)", ""),
}
STATISTICS: Final = (("mean", ""), ("quantiles_p50", "p50"), ("quantiles_p90", ""), ("quantiles_p95", "p95"), ("quantiles_p99", "p99"))


def recognises(_: str, beginning: str) -> bool:
    """True if it begins with a summary's keys or with a response's."""
    summary = '"results_ttft_s_' in beginning or ('"num_concurrent_requests"' in beginning and '"mean_input_tokens"' in beginning)
    return summary or all(f'"{key}"' in beginning for key in ("ttft_s", "end_to_end_latency_s", "number_output_tokens"))


def beside(path: Path) -> tuple[Path, ...]:
    """The summary next to the responses."""
    return (path.with_name(path.name.removesuffix(RESPONSES) + SUMMARY),) if path.name.endswith(RESPONSES) else ()


def chosen(paths: Sequence[Path]) -> Sequence[Path]:
    """The responses, and the summaries that have none."""
    told = {summary for path in paths for summary in beside(path)}
    return [path for path in paths if path not in told]


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The run in a file."""
    loads = []
    for place, document in documents(path, [()], stack):
        responses = document if isinstance(document, Spool) else None
        summary = _summary(path, stack) if responses is not None else base.mapping(document, place)
        if responses is not None and not len(responses):
            raise place.wrong(Words("no response"), "at least one")
        loads.append(_load(path.name, responses, summary, Place((beside(path) or (path,))[0].name)))
    return loads


def _summary(path: Path, stack: ExitStack) -> Mapping[str, Any]:
    files = [file for file in beside(path) if file.is_file()]
    return next((base.mapping(document, place) for file in files for place, document in documents(file, (), stack)), {})


def _load(file: str, responses: Spool | None, summary: Mapping[str, Any], at: Place) -> base.Load:
    concurrency, model = base.whole(summary, "num_concurrent_requests", at), base.text(summary, "model", at) or ""
    lengths = [base.whole(summary, key, at) for key in LENGTHS]
    mean_in, wide_in, mean_out, wide_out = lengths
    stated = {"serving.load", "serving.arrivals.process", "serving.arrivals.cv"} if concurrency else set()
    stated |= {"serving.model", "engine.model"} if model else set()
    stated |= {"serving.scenarios"} if None not in lengths else set()
    missing = [] if concurrency else [f"the settings: there is no {SUMMARY.removeprefix('_')} next to it, so the load counts as a trace"]
    if responses is None:
        missing.append(f"the requests: it holds totals only, as told by the tool; import *{RESPONSES}, which is written next to it")
    return base.Load(
        file=file,
        kind="concurrency" if concurrency else "",
        load=float(concurrency) if concurrency else None,
        scenario=f"N({mean_in},{wide_in})/({mean_out},{wide_out})" if None not in lengths else "dataset",
        serving={"model": model, "arrivals": {"process": "closed"} if concurrency else {"process": "trace", "trace": file}},
        stated=frozenset(stated),
        rows=partial(_rows, file, responses) if responses is not None else None,
        duration_s=_duration(summary),
        reported=tuple(_reported(summary)),
        missing=tuple(missing),
        doubts=tuple(_doubts(summary, responses)),
    )


def _duration(summary: Mapping[str, Any]) -> float | None:
    """The run's length, which its count and its rate per minute give."""
    done, rate = (summary.get(f"results_num_completed_requests{ending}") for ending in ("", "_per_min"))
    return 60.0 * done / rate if base.is_number(done) and base.is_number(rate) and done > 0 and rate > 0 else None


def _rows(file: str, responses: Spool) -> Iterator[base.RequestRow]:
    for index, (line, response) in enumerate(responses):
        place = Place(file, line, f"[{index}]")
        yield _row(base.mapping(response, place), place)


def _row(response: Mapping[str, Any], place: Place) -> base.RequestRow:
    tokens_in = base.whole(response, "number_input_tokens", place)
    error, code = base.text(response, "error_msg", place), response.get("error_code")
    if code is not None:
        known = code if isinstance(code, int) and not isinstance(code, bool) and 100 <= code <= 599 else None
        return base.RequestRow(status=base.failure(error, known), http_status=known, error=error, counted_in=tokens_in)
    first, last = base.nanoseconds(response, "ttft_s", place), base.nanoseconds(response, "end_to_end_latency_s", place)
    if first and last is not None and last < first:
        raise place.at("end_to_end_latency_s").wrong(response["end_to_end_latency_s"], "at least ttft_s")
    return base.RequestRow(
        first_ns=first or None,  # 0: no chunk had text
        last_ns=last if first else None,
        done_ns=last,
        counted_in=tokens_in,
        counted_out=base.whole(response, "number_output_tokens", place),
    )


def _reported(summary: Mapping[str, Any]) -> Iterator[base.Reported]:
    yield from base.reported(summary, "results_num_completed_requests", "answered requests", "count")
    yield from base.reported(summary, "results_number_errors", "failed requests", "count")
    yield from base.reported(
        summary, "results_mean_output_throughput_token_per_s", "output tokens per second, ramp and end included", "1/s", "output_throughput"
    )
    for key, (title, ours) in LATENCIES.items():
        for statistic, quantile in STATISTICS:
            near = f"{ours}_{quantile}" if ours and quantile else ""
            yield from base.reported(summary, f"results_{key}_{statistic}", f"{statistic.removeprefix('quantiles_')} {title}", "s", near)


def _doubts(summary: Mapping[str, Any], responses: Spool | None) -> Iterator[str]:
    started = summary.get("results_num_requests_started")
    if responses is not None and base.is_number(started) and started != len(responses):
        yield f"its summary counts {started:,.0f} requests, but it lists {len(responses):,}"


FOREIGN = base.Foreign(
    name="llmperf",
    title="llmperf",
    files=f"*{RESPONSES}, with *{SUMMARY} next to it if present, or that alone",
    clock="sent",
    meanings={
        "first_token": "the first chunk with content",
        "end": "the end of the response",
        "tokens": "its own tokenizer, that of Llama 2, whatever the model",
        "connection": "a new one for each request, set up inside of the latency",
        "stamps": "monotonic, after the line was read",
        "left_out": "requests under way at its time limit may be missing",
    },
    missing=(
        "when each request was sent, so that no rate over a measured window can be computed",
        "the times of single chunks",
        "the environment: machine, accelerator, driver, and version and flags of the engine",
        "when each request was due",
    ),
    recognises=recognises,
    read=read,
    chosen=chosen,
    beside=beside,
)
