"""What did inference-perf measure?  From its reports: a stage's or the summary's totals, or its list of requests.

`stage_N_lifecycle_metrics.json` and `summary_lifecycle_metrics.json` hold statistics of latencies, in seconds; `per_request_lifecycle_metrics.json`
holds every request with monotonic times, but not its stage.  Of a folder the stages are read: each is a load, and so a configuration.
(inference_perf/reportgen/base.py and apis/base.py of kubernetes-sigs/inference-perf at commit 7de5ef2, and its reports of 2025.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support import base
from fireassay.importers.support.documents import Place, Spool, Words, documents
from fireassay.units import NS_PER_S

STAGE: Final = re.compile(r"stage_\d+_lifecycle_metrics\.json(?:\.gz)?")
REQUESTS: Final = "per_request_lifecycle_metrics"
LATEST_S: Final = 1e11
LATE: Final = (0.01, 1e-3)  # of the median latency, and s: a client that is later is no measure of the server
LATENCIES: Final = {
    "request_latency": ("end to end", "e2e"),
    "time_to_first_token": ("TTFT", "ttft"),
    "time_per_output_token": ("TPOT", "tpot"),
    "inter_token_latency": ("ITL", "itl"),
    "normalized_time_per_output_token": ("end to end per output token", ""),
}
STATISTICS: Final = (("mean", ""), ("median", "p50"), ("p90", ""), ("p95", "p95"), ("p99", "p99"))
RATES: Final = {
    "requests_per_sec": ("answered requests per second, ramp and end included", "request_throughput"),
    "output_tokens_per_sec": ("output tokens per second, ramp and end included", "output_throughput"),
    "input_tokens_per_sec": ("input tokens per second", ""),
}


def recognises(_: str, beginning: str) -> bool:
    """True if it begins with a report of requests, not of the server's Prometheus metrics, or with its first request."""
    totals = all(f'"{key}"' in beginning for key in ("load_summary", "schedule_delay", "successes"))
    one = beginning.lstrip().startswith("[") and re.match(r'\[\s*\{\s*"start_time":[^"]*"end_time":[^"]*"request":', beginning.lstrip())
    return totals or bool(one)


def chosen(paths: Sequence[Path]) -> Sequence[Path]:
    """The stages, else the requests, else the summary; reports by adapter repeat them."""
    stages = [path for path in paths if STAGE.fullmatch(path.name)]
    return sorted(stages, key=lambda path: (len(path.name), path.name)) or [path for path in paths if REQUESTS in path.name] or paths


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The stage, the summary or the requests in a file."""
    return [
        _requests(path.name, document, place) if isinstance(document, Spool) else _totals(path.name, base.mapping(document, place), place)
        for place, document in documents(path, [()], stack)
    ]


# ---- totals ----------------------------------------------------------------------------------------------------------


def _totals(file: str, report: Mapping[str, Any], place: Place) -> base.Load:
    load, good = base.inner(report, "load_summary"), base.inner(report, "successes")
    if not good:
        raise place.at("successes").wrong(report.get("successes"), "the statistics of answered requests")
    kind, level, arrivals, stated = _arrivals(load, place.at("load_summary"), file)
    return base.Load(
        file=file,
        kind=kind,
        load=level,
        serving={"arrivals": arrivals},
        stated=frozenset(stated),
        duration_s=base.number(report, "benchmark_time_seconds", place),
        reported=tuple(_reported(report)),
        missing=(
            "the requests: it holds totals only, as told by the tool; report.request_lifecycle.per_request saves them",
            *(() if kind else ("the requested load, so it counts as a trace",)),
        ),
        doubts=tuple(_late(load, good)),
    )


def _arrivals(load: Mapping[str, Any], at: Place, file: str) -> tuple[Any, float | None, dict[str, Any], set[str]]:
    """(kind, load, keys of [serving.arrivals], known conditions): of a rate, whether it was constant or Poisson is not said."""
    if concurrency := base.whole(load, "concurrency", at):
        return "concurrency", float(concurrency), {"process": "closed"}, {"serving.load", "serving.arrivals.process", "serving.arrivals.cv"}
    if rate := base.number(load, "requested_rate", at, most=1e7):
        return "rate", rate, {"process": "constant"}, {"serving.load"}
    return "", None, {"process": "trace", "trace": file}, set()


def _reported(report: Mapping[str, Any]) -> Iterator[base.Reported]:
    load, good = base.inner(report, "load_summary"), base.inner(report, "successes")
    yield from base.reported(good, "count", "answered requests", "count")
    yield from base.reported(base.inner(report, "failures"), "count", "failed requests", "count")
    for key, (title, ours) in RATES.items():
        yield from base.reported(base.inner(good, "throughput"), key, title, "1/s", ours)
    yield from base.reported(load, "achieved_rate", "requests sent per second", "1/s")
    for key, (title, ours) in LATENCIES.items():
        for statistic, quantile in STATISTICS:
            near = f"{ours}_{quantile}" if ours and quantile else ""
            yield from base.reported(base.inner(good, "latency", key), statistic, f"{statistic} {title}", "s", near)
    yield from base.reported(base.inner(load, "schedule_delay"), "p99", "p99 sent after due", "s")
    goodput = base.inner(good, "goodput_metrics")
    yield from base.reported(goodput, "request_goodput", "goodput", "1/s", "goodput")


def _late(load: Mapping[str, Any], good: Mapping[str, Any]) -> Iterator[str]:
    """Latencies begin when a request is sent: the wait of one that was due earlier is in none of them."""
    delay, latency = base.inner(load, "schedule_delay").get("p99"), base.inner(good, "latency", "request_latency").get("median")
    if base.is_number(delay) and base.is_number(latency) and delay > max(LATE[0] * latency, LATE[1]):
        yield f"its client sent late: 1 % of the requests more than {1e3 * delay:.3g} ms after they were due, which is in no latency"


# ---- the requests ----------------------------------------------------------------------------------------------------


def _requests(file: str, requests: Spool, place: Place) -> base.Load:
    if not len(requests):
        raise place.wrong(Words("no request"), "at least one")
    return base.Load(
        file=file,
        kind="",
        serving={"arrivals": {"process": "trace", "trace": file}},
        rows=partial(_rows, file, requests),
        times="whole",
        missing=("the requested load and the stage of each request, so it counts as a trace",),
    )


def _rows(file: str, requests: Spool) -> Iterator[base.RequestRow]:
    for index, (line, request) in enumerate(requests):
        place = Place(file, line, f"[{index}]")
        yield _row(base.mapping(request, place), place)


def _row(request: Mapping[str, Any], place: Place) -> base.RequestRow:
    start, end = (base.number(request, key, place, most=LATEST_S) for key in ("start_time", "end_time"))
    if start is None or end is None or end < start:
        raise place.at("end_time").wrong(request.get("end_time"), f"seconds, at least start_time ({request.get('start_time')})")
    info = base.inner(request, "info")
    answer = base.inner(info, "response_metrics") or info  # of 2025: in `info` itself
    at = place.at("info")
    common: dict[str, Any] = {
        "sent_ns": round(start * NS_PER_S),
        "done_ns": round((end - start) * NS_PER_S),
        "tokens_in": base.whole(base.inner(answer, "server_usage"), "prompt_tokens", at),
        "counted_in": base.whole(info, "input_tokens", at),
    }
    if request.get("error") is not None:
        error = base.mapping(request["error"], place.at("error"))
        code = re.fullmatch(r"HTTP Error (\d{3})", str(error.get("error_type")))
        words = ": ".join(filter(None, (base.text(error, key, place.at("error")) for key in ("error_type", "error_msg")))) or None
        return base.RequestRow(**common, status=base.failure(words, int(code[1]) if code else None), error=words)
    tokens_ns = _since(answer, start, at.at("output_token_times"))
    chunks_ns = tuple(dict.fromkeys(tokens_ns))  # tokens of one chunk share its time
    return base.RequestRow(
        **common,
        first_ns=chunks_ns[0] if chunks_ns else None,
        last_ns=chunks_ns[-1] if chunks_ns else None,
        chunks_ns=chunks_ns,
        tokens_out=base.whole(base.inner(answer, "server_usage"), "completion_tokens", at),
        counted_out=base.whole(answer, "output_tokens", at),
    )


def _since(answer: Mapping[str, Any], start: float, at: Place) -> list[int]:
    """The times of tokens in nanoseconds since the request was sent, in order."""
    since = [base.number({"time": time}, "time", at, least=start, most=LATEST_S) for time in base.listed(answer, "output_token_times", at)]
    times = [round((time - start) * NS_PER_S) for time in since if time is not None]
    if times != sorted(times):
        raise at.wrong(Words("times that run backwards"), "times of tokens in their order")
    return times


FOREIGN = base.Foreign(
    name="inference_perf",
    title="inference-perf",
    files="stage_N_lifecycle_metrics.json, summary_lifecycle_metrics.json or per_request_lifecycle_metrics.json",
    clock="sent",
    meanings={
        "first_token": "the first chunk with text that its tokenizer counts",
        "end": "the last chunk with text, of the end-to-end time the end of the answer",
        "tokens": "its own tokenizer; the server's usage where the file has it",
        "connection": "kept alive or not is not said",
        "stamps": "monotonic, after the event loop has handed the chunk on",
        "left_out": "failed requests, of the totals of latencies",
    },
    missing=(
        "the environment: machine, accelerator, driver, and version and flags of the engine",
        "the model, the data set and the sampling parameters, which are in its config.yaml",
        "when each request was due",
        "its own version",
    ),
    recognises=recognises,
    read=read,
    chosen=chosen,
)
