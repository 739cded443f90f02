"""What did guidellm measure?  From its benchmarks JSON: one benchmark per strategy, with the requests it kept.

Requests are grouped by outcome (successful, errored, incomplete); their times are wall-clock times, in `info.timings` or, in older
versions, flat.  Strategies with planned times (constant, poisson, replay) define due times, from which latencies then count; guidellm's
own latencies, from sending, are kept in addition.  With sample_requests only some requests are kept; the totals reveal it.  A file with
several kinds of strategies becomes several records.  (vllm-project/guidellm: schemas/request_stats.py at commit 06cef29,
schemas/info.py at 04fcfd8, benchmark/schemas/generative at 0382083; flat format of version 0.3.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support import base
from fireassay.importers.support.documents import EVERY, NOTHING, Place, Spool, documents
from fireassay.units import NS_PER_S

FATES: Final = {"successful": "ok", "errored": "error", "incomplete": "cancelled"}
LATEST_S: Final = 1e11  # bound on wall-clock times, seconds
PLANNED: Final = ("constant", "poisson", "trace")  # arrival processes with due times
TASKS: Final = {
    "chat_completions": "chat",
    "/v1/chat/completions": "chat",
    "text_completions": "completions",
    "/v1/completions": "completions",
    "embeddings": "embeddings",
    "responses": "responses",
}
LATENCIES: Final = (  # key, name, unit, assay's metric
    ("time_to_first_token_ms", "TTFT", "ms", "ttft"),
    ("time_per_output_token_ms", "TPOT, first token included", "ms", ""),
    ("inter_token_latency_ms", "ITL (a mean for each request)", "ms", "tpot"),
    ("request_latency", "end to end", "s", "e2e"),
)
RATES: Final = (
    ("requests_per_second", "requests per second", "request_throughput"),
    ("output_tokens_per_second", "output tokens per second", "output_throughput"),
)


def recognises(_: str, beginning: str) -> bool:
    """True if it holds a list of benchmarks with guidellm's keys."""
    return '"benchmarks"' in beginning and any(
        word in beginning for word in ("guidellm", '"scheduler_metrics"', '"generative_benchmark', '"strategy"', '"run_stats"')
    )


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The benchmarks in a file."""
    spooled = [("benchmarks", EVERY, "requests", fate) for fate in FATES]
    loads = []
    for place, report in documents(path, spooled, stack):
        top = base.mapping(report, place)
        benchmarks = top.get("benchmarks")
        if not isinstance(benchmarks, list):
            raise place.at("benchmarks").wrong(benchmarks if benchmarks is not None else NOTHING, "a list of benchmarks")
        for index, benchmark in enumerate(benchmarks):
            at = place.at("benchmarks").at(index)
            loads.append(_load(path.name, base.mapping(benchmark, at), at, top))
    return loads


def _load(file: str, benchmark: Mapping[str, Any], at: Place, top: Mapping[str, Any]) -> base.Load:
    strategy, where = _strategy(benchmark, at)
    kind, load, arrivals = _arrivals(strategy, where, benchmark, file)
    settings = _Settings(benchmark, top)
    requests = {fate: spool for fate in FATES if isinstance(spool := base.inner(benchmark, "requests").get(fate), Spool)}
    listed = sum(len(spool) for spool in requests.values())
    issued = _issued(benchmark)
    sampled = bool(issued and issued > listed)
    planned = arrivals["process"] in PLANNED and _has_due_times(requests)
    stated = {"serving.load", "serving.arrivals.process", "serving.arrivals.cv"} | settings.stated
    begin, end = (base.number(benchmark, key, at, most=LATEST_S) for key in ("start_time", "end_time"))
    duration = base.number(benchmark, "duration", at)
    return base.Load(
        file=file,
        kind=kind,
        load=load,
        scenario=settings.scenario,
        serving={**settings.serving, "arrivals": arrivals},
        backend="openai",
        url=settings.url,
        stated=frozenset(stated),
        rows=partial(_rows, requests, at, planned) if listed else None,
        times="none" if not listed else "sampled" if sampled else "whole",
        begin_utc=base.time_of_day(begin) if begin else "",
        clock="scheduled" if planned else "sent",
        duration_s=duration or (end - begin if begin and end and end > begin else None),
        reported=tuple(_reported(benchmark)),
        missing=_missing(listed, issued, sampled),
        doubts=(),
        version=settings.version,
    )


# ---- settings --------------------------------------------------------------------------------------------------------


def _strategy(benchmark: Mapping[str, Any], at: Place) -> tuple[Mapping[str, Any], Place]:
    """The strategy's object and its place; older versions keep it below args."""
    for keys in (("config", "strategy"), ("args", "strategy"), ("scheduler", "strategy")):
        strategy = base.inner(benchmark, *keys)
        if strategy:
            return strategy, at.at(keys[0]).at(keys[1])
    raise at.at("config").at("strategy").wrong(NOTHING, "the strategy of the benchmark")


def _arrivals(strategy: Mapping[str, Any], at: Place, benchmark: Mapping[str, Any], file: str) -> tuple[Any, float | None, dict[str, Any]]:
    """(kind, load, keys of [serving.arrivals]) of a strategy."""
    kind = strategy.get("type_", strategy.get("kind"))
    if kind == "synchronous":
        return "concurrency", 1.0, {"process": "closed"}
    if kind == "concurrent":
        streams = base.whole(strategy, "streams", at)
        if not streams or streams > 1_000_000:
            raise at.at("streams").wrong(strategy.get("streams"), "a whole number of at least 1")
        return "concurrency", float(streams), {"process": "closed"}
    if kind in ("constant", "async", "poisson"):
        rate = base.number(strategy, "rate", at, most=1e7)
        if not rate:
            raise at.at("rate").wrong(strategy.get("rate"), "a rate above 0")
        process = "poisson" if kind == "poisson" or strategy.get("schedule_type") == "poisson" else "constant"
        return "rate", rate, {"process": process}
    if kind == "throughput":
        return "", None, {"process": "offline", "requests": _issued(benchmark) or 1}
    if kind in ("trace", "replay"):
        return "", None, {"process": "trace", "trace": file}
    raise at.at("type_").wrong(kind if kind is not None else NOTHING, "synchronous, concurrent, throughput, constant, poisson or trace")


class _Settings:
    """Model, address, task and lengths, in the formats of several versions; missing ones stay unknown."""

    def __init__(self, benchmark: Mapping[str, Any], top: Mapping[str, Any]) -> None:
        self.stated: set[str] = set()
        self.serving: dict[str, Any] = {}
        args, spec, config = base.inner(top, "args"), base.inner(top, "config", "spec"), base.inner(benchmark, "config")
        backends = (
            base.inner(spec, "backend"),
            base.inner(config, "backend"),
            base.inner(benchmark, "worker"),
            base.inner(args, "backend_kwargs"),
            args,
        )
        model = base.first(str(source.get(key) or "") for source in backends for key in ("model", "backend_model"))
        if model:
            self.serving["model"] = model[:200]
            self.stated |= {"serving.model", "engine.model"}
        self.url = base.first(base.address(source.get(key)) for source in backends for key in ("target", "backend_target"))
        task = next(
            (TASKS[str(kind)] for source in (*backends, config) if (kind := source.get("request_type")) and str(kind) in TASKS), None
        )
        if task:
            self.serving["task"] = task
            self.stated.add("serving.task")
        processor = args.get("processor")
        if isinstance(processor, str) and processor:
            self.serving["tokenizer"] = processor[:200]
            self.stated.add("serving.tokenizer")
        self.version = str(base.inner(top, "metadata").get("guidellm_version") or "")[:40]
        self.scenario = _scenario(args.get("data"), base.inner(config, "requests").get("data"), base.inner(spec, "data"))
        if self.scenario != "dataset":
            self.stated.add("serving.scenarios")


def _scenario(*sources: object) -> str:
    """The lengths of synthetic texts in assay's scenario syntax, if given by mean and deviation alone."""
    for source in sources:
        lengths = _lengths(source[0] if isinstance(source, list) and len(source) == 1 else source)
        mean_in, mean_out = lengths.pop("prompt_tokens", None), lengths.pop("output_tokens", None)
        wide_in, wide_out = (lengths.pop(f"{side}_tokens_stdev", 0) or 0 for side in ("prompt", "output"))
        whole_numbers = [value for value in (mean_in, mean_out, wide_in, wide_out) if isinstance(value, int) and 0 <= value <= 10_000_000]
        limits = [key for key in lengths if key.endswith(("_min", "_max")) and lengths[key] is not None]
        if len(whole_numbers) == 4 and not limits:
            return f"N({mean_in},{wide_in})/({mean_out},{wide_out})" if wide_in or wide_out else f"D({mean_in},{mean_out})"
    return "dataset"


def _lengths(source: object) -> dict[str, Any]:
    """ "prompt_tokens=256,output_tokens=128", its JSON, or the object itself."""
    if isinstance(source, Mapping):
        return {str(key): value for key, value in source.items()}
    if not isinstance(source, str) or len(source) > 10_000:
        return {}
    try:
        lengths = json.loads(source)
    except ValueError:
        return {key: int(value) for key, value in re.findall(r"(\w+)=(\d{1,9})(?:,|\s|$)", source)}
    return dict(lengths) if isinstance(lengths, dict) else {}


# ---- the requests ----------------------------------------------------------------------------------------------------


def _has_due_times(requests: Mapping[str, Spool]) -> bool:
    """True if the requests have due times, as in newer versions."""
    firsts = (row for spool in requests.values() for _, (_, row) in zip(range(1), spool, strict=False))
    return all(base.inner(row, "info", "timings").get("targeted_start") is not None for row in firsts)


def _rows(requests: Mapping[str, Spool], at: Place, planned: bool) -> Iterator[base.RequestRow]:
    for fate, spool in requests.items():
        for index, (line, row) in enumerate(spool):
            place = Place(at.file, line, f"{at.path}.requests.{fate}[{index}]")
            yield _row(base.mapping(row, place), place, fate, planned)


def _row(row: Mapping[str, Any], place: Place, fate: str, planned: bool) -> base.RequestRow:
    info, timings, at = base.inner(row, "info"), base.inner(row, "info", "timings"), place.at("info").at("timings")
    if timings:
        times = {name: base.number(timings, key, at, most=LATEST_S) for name, key in _TIMINGS.items()}
    else:  # up to version 0.3
        times, at = {name: base.number(row, key, place, most=LATEST_S) for name, key in _FLAT.items()}, place
    sent = times.get("sent") if times.get("sent") is not None else times.get("resolved")
    if sent is None:
        raise at.at("request_start" if timings else "start_time").wrong(NOTHING, "a time of day in seconds")
    due = times.get("due") if planned else None
    error = base.text(info, "error", place) or base.text(row, "error", place)
    ok = fate == "successful"
    return base.RequestRow(
        status="ok" if ok else "cancelled" if fate == "incomplete" else base.failure(error),
        error=None if ok else error,
        sent_ns=round(sent * NS_PER_S),
        due_before_ns=0 if due is None else max(0, round((sent - due) * NS_PER_S)),
        first_ns=_after(times, "first", sent, at) if ok else None,
        visible_ns=_after(times, "visible", sent, at) if ok else None,
        last_ns=_after(times, "last", sent, at) if ok else None,
        done_ns=_after(times, "done", sent, at),
        tokens_in=_tokens(row, place, "prompt_tokens", "input_metrics"),
        tokens_out=_tokens(row, place, "output_tokens", "output_metrics") if ok else None,
        turn=base.whole(info, "turn_index", place.at("info")),
        text=base.answer(row, "output", place) if ok else None,
        reasoning=base.answer(row, "reasoning_output", place) if ok else None,
    )


_TIMINGS: Final = {
    "due": "targeted_start",
    "sent": "request_start",
    "resolved": "resolve_start",
    "first": "first_token_iteration",
    "visible": "first_output_token_iteration",
    "last": "last_token_iteration",
    "done": "request_end",
}
_FLAT: Final = {"sent": "start_time", "first": "first_token_time", "last": "last_token_time", "done": "end_time"}


def _after(times: Mapping[str, float | None], name: str, sent: float, at: Place) -> int | None:
    """Nanoseconds after sending. A step of the wall clock may have made it negative, which cannot be corrected."""
    value = times.get(name)
    if not value:  # 0.0, midnight of 1970, is what it writes where there was no token
        return None
    if value < sent:
        raise at.at(name).wrong(value, f"a time after the request was sent, {sent!r}", "The wall clock was set back during this request.")
    return round((value - sent) * NS_PER_S)


def _tokens(row: Mapping[str, Any], place: Place, key: str, metrics: str) -> int | None:
    tokens = base.whole(row, key, place)
    return tokens if tokens is not None else base.whole(base.inner(row, metrics), "text_tokens", place.at(metrics))


# ---- reported and missing values -------------------------------------------------------------------------------------


def _issued(benchmark: Mapping[str, Any]) -> int | None:
    """The number of requests, including those not kept."""
    sources = (
        base.inner(benchmark, "metrics", "request_totals"),
        base.inner(benchmark, "scheduler_metrics", "requests_made"),
        base.inner(benchmark, "request_totals"),
    )
    for totals in sources:
        counts = [totals.get(fate) for fate in FATES]
        if any(isinstance(count, int) for count in counts):
            return sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool))
    return None


def _reported(benchmark: Mapping[str, Any]) -> Iterator[base.Reported]:
    totals = base.inner(benchmark, "metrics", "request_totals")
    yield from base.reported(totals, "successful", "answered requests", "count")
    yield from base.reported(totals, "errored", "failed requests", "count")
    yield from base.reported(totals, "incomplete", "cut off requests", "count")
    for key, title, ours in RATES:
        yield from base.reported(base.inner(benchmark, "metrics", key, "successful"), "mean", title, "1/s", ours)
    for key, title, unit, ours in LATENCIES:
        statistics = base.inner(benchmark, "metrics", key, "successful")
        for source, statistic, quantile in (
            (statistics, "mean", ""),
            (statistics, "median", "p50"),
            (base.inner(statistics, "percentiles"), "p95", "p95"),
            (base.inner(statistics, "percentiles"), "p99", "p99"),
        ):
            near = f"{ours}_{quantile}" if ours and quantile else ""
            yield from base.reported(source, statistic, f"{statistic} {title}", unit, near)


def _missing(listed: int, issued: int | None, sampled: bool) -> tuple[str, ...]:
    if not listed:
        return ("the requests: it holds totals only",)
    if sampled:
        return (f"most requests: it keeps a sample of {listed:,} of {issued:,}, so that no rate over a measured window can be computed",)
    return ()


FOREIGN = base.Foreign(
    name="guidellm",
    title="guidellm",
    files="benchmarks.json",
    clock="sent",
    meanings={
        "first_token": "the first line with content, reasoning or a tool call",
        "end": "the last line with text",
        "tokens": "the server's usage, else one for each line; which of them is not said",
        "connection": "kept alive; a new one is set up inside of the latency",
        "stamps": "the wall clock, after the line was split",
        "left_out": "what its warm-up and cool-down leave out",
    },
    missing=(
        "the environment: machine, accelerator, driver, and version and flags of the engine",
        "the gaps between the tokens of an answer: first and last only",
        "the sampling parameters",
    ),
    recognises=recognises,
    read=read,
)
