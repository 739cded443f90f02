"""What did AIPerf measure?  From profile_export.jsonl, one request per line, or profile_export_aiperf.json, totals only.

A line holds `metadata` (wall-clock times in nanoseconds), `metrics` ({"value", "unit"} by name) and `error`.  The settings are in the
totals' `input_config`, which is searched next to the lines; without it the load counts as a trace.  Lengths are counted by AIPerf's
tokenizer unless the server's usage is present.  (ai-dynamo/aiperf: docs/tutorials/working-with-profile-exports.md at commit 13992db,
common/models/export_models.py at 26240f9; wheel 0.13.0.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support import base
from fireassay.importers.support.documents import NOTHING, Place, Words, documents, lines, loads
from fireassay.units import NS_PER_S

LINES, TOTALS = "profile_export.jsonl", "profile_export_aiperf.json"
UNITS: Final = {  # name of a time unit -> seconds
    "ns": 1e-9,
    "nanoseconds": 1e-9,
    "us": 1e-6,
    "microseconds": 1e-6,
    "ms": 1e-3,
    "milliseconds": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
}
LATEST_NS: Final = 2**62  # in the year 2116
PHASES: Final = {"profiling": "main", "warmup": "warm_up"}
TASKS: Final = {"chat": "chat", "completions": "completions", "embeddings": "embeddings", "responses": "responses"}
MODES: Final = {"constant": "constant", "poisson": "poisson", "gamma": "gamma"}
STATISTICS: Final = (("avg", ""), ("p50", "p50"), ("p95", "p95"), ("p99", "p99"))
LATENCIES: Final = (
    ("time_to_first_token", "TTFT", "ttft"),
    ("inter_token_latency", "ITL (a mean for each request)", "tpot"),
    ("request_latency", "end to end", "e2e"),
)
OF_GENAI_PERF: Final = ('"perf_analyzer"', '"formatted_model_name"')  # its predecessor's settings, new and old
RATES: Final = (
    ("request_throughput", "requests per second", "request_throughput"),
    ("output_token_throughput", "output tokens per second", "output_throughput"),
    ("goodput", "goodput", "goodput"),
)


def recognises(name: str, beginning: str) -> bool:
    """True if it begins with a request's metadata, or holds totals with units."""
    if '"request_start_ns"' in beginning and '"metadata"' in beginning:
        return '"responses"' not in beginning.partition("\n")[0]  # the raw export, which has no metrics
    return (
        '"unit"' in beginning
        and not any(key in beginning for key in OF_GENAI_PERF)
        and any(f'"{key}"' in beginning for key in ("aiperf_version", "input_config"))
        and ('"request_latency"' in beginning or '"request_throughput"' in beginning)
    )


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The run in a file."""
    is_lines = '"request_start_ns"' in _first_line(path)
    totals_file = path.with_name(TOTALS) if is_lines else path
    totals = _totals(totals_file, stack)
    requested = _Settings(base.inner(totals, "input_config"))
    first_ns = seen = duration = None
    if is_lines:
        first_ns, duration, seen = _span(path)
    else:
        duration = _duration(totals)
    rows = partial(_rows, path) if is_lines else None
    return [_load(path.name, rows, first_ns, duration, totals, requested, beside=is_lines and bool(totals), seen=seen)]


def beside(path: Path) -> tuple[Path, ...]:
    """The file of totals next to the lines."""
    return (path.with_name(TOTALS),) if path.name != TOTALS else ()


def chosen(paths: Sequence[Path]) -> Sequence[Path]:
    """The lines, where both lines and totals are present."""
    details = [path for path in paths if path.suffix == ".jsonl"]
    return details or paths


def _first_line(path: Path) -> str:
    return next((line for _, line in lines(path)), "") if path.suffix != ".json" else ""


def _totals(path: Path, stack: ExitStack) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    return next((base.mapping(document, place) for place, document in documents(path, (), stack)), {})


def _load(
    file: str,
    rows: Any,
    first_ns: int | None,
    duration_s: float | None,
    totals: Mapping[str, Any],
    requested: _Settings,
    *,
    beside: bool,
    seen: int | None,
) -> base.Load:
    missing = [] if rows is not None else [f"the requests: it holds totals only; import {LINES}, which AIPerf writes next to it"]
    if rows is not None and not beside:
        missing.append(f"the settings: there is no {TOTALS} next to it, so the load counts as a trace")
    elif not requested.process:
        missing.append("the requested load (input_config), so it counts as a trace")
    begin = totals.get("start_time") if first_ns is None else base.time_of_day(first_ns / NS_PER_S)
    return base.Load(
        file=file,
        kind=requested.kind,
        load=requested.load,
        scenario=requested.scenario,
        serving=requested.serving(file),
        backend="openai",
        url=requested.url,
        stated=frozenset(requested.stated),
        rows=rows,
        times="none" if rows is None else "whole",
        begin_utc=begin if isinstance(begin, str) else "",
        duration_s=duration_s,
        reported=tuple(_reported(totals)),
        missing=tuple(missing),
        doubts=_doubts(totals, seen),
        version=base.text(totals, "aiperf_version", Place(TOTALS), 40) or "",
    )


# ---- settings --------------------------------------------------------------------------------------------------------


class _Settings:
    """The settings in `input_config`, in the formats of several versions; missing ones stay unknown."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.stated: set[str] = set()
        self.kind: Any = ""
        self.load: float | None = None
        self.process = ""
        self.arrivals: dict[str, Any] = {}
        self.more: dict[str, Any] = {}
        self.scenario = "dataset"
        endpoint = base.inner(config, "endpoint")
        urls = endpoint.get("urls")
        self.url = base.address(urls[0] if isinstance(urls, list) and urls else endpoint.get("url"))
        self._model(config, endpoint)
        self._endpoint(endpoint)
        self._arrivals(base.inner(config, "loadgen") or _profiling(config))
        self._lengths(config)

    def serving(self, file: str) -> dict[str, Any]:
        return {**self.more, "arrivals": self.arrivals or {"process": "trace", "trace": file}}

    def _model(self, config: Mapping[str, Any], endpoint: Mapping[str, Any]) -> None:
        names = endpoint.get("model_names")
        items = base.inner(config, "models").get("items")
        name = names[0] if isinstance(names, list) and names else None
        if name is None and isinstance(items, list) and items:
            name = base.inner(items[0]).get("name")
        if isinstance(name, str) and name:
            self.more["model"] = name[:200]
            self.stated |= {"serving.model", "engine.model"}

    def _endpoint(self, endpoint: Mapping[str, Any]) -> None:
        if (task := TASKS.get(str(endpoint.get("type", "")))) is not None:
            self.more["task"] = task
            self.stated |= {"serving.task"}
        if isinstance(endpoint.get("streaming"), bool):
            self.more["stream"] = endpoint["streaming"]
            self.stated |= {"serving.stream"}

    def _arrivals(self, spec: Mapping[str, Any]) -> None:
        rate, concurrency = _plain(spec.get("request_rate", spec.get("rate"))), _plain(spec.get("concurrency"))
        mode = str(spec.get("arrival_pattern") or spec.get("request_rate_mode") or spec.get("type") or "poisson")
        if rate is not None and 0 < rate <= 1e7 and mode in MODES:
            self.kind, self.load, self.process = "rate", rate, MODES[mode]
            self.arrivals = {"process": self.process}
            smoothness = _plain(spec.get("arrival_smoothness"))
            if self.process == "gamma" and smoothness and smoothness >= 1e-4:
                self.arrivals["cv"] = round(smoothness**-0.5, 9)  # smoothness is the shape of the gamma distribution
            if concurrency and concurrency == int(concurrency) and 1 <= concurrency <= 1_000_000:
                self.more["client"] = {"connections": int(concurrency)}
        elif rate is None and concurrency is not None and concurrency == int(concurrency) and 1 <= concurrency <= 1_000_000:
            self.kind, self.load, self.process = "concurrency", concurrency, "closed"
            self.arrivals = {"process": "closed"}
        if self.process:
            self.stated |= {"serving.load", "serving.arrivals.process", "serving.arrivals.cv"}

    def _lengths(self, config: Mapping[str, Any]) -> None:
        """Tokens in and out, if both are given as a mean and a deviation."""
        prompt = base.inner(config, "input", "prompt")
        pairs = [_length(base.inner(prompt, name)) for name in ("input_tokens", "output_tokens")]
        if not all(pairs):
            return
        (mean_in, wide_in), (mean_out, wide_out) = ((round(mean), round(wide)) for mean, wide in filter(None, pairs))
        if max(mean_in, wide_in, mean_out, wide_out) > 10_000_000:
            return
        fixed = wide_in == wide_out == 0
        self.scenario = f"D({mean_in},{mean_out})" if fixed else f"N({mean_in},{wide_in})/({mean_out},{wide_out})"
        self.stated |= {"serving.scenarios"}


def _profiling(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The measured phase, in the newer configuration format."""
    phases = config.get("phases")
    entries = (
        phases
        if isinstance(phases, list)
        else [{"name": name, **base.inner(phase)} for name, phase in base.inner(config, "phases").items()]
    )
    return next(
        (base.inner(phase) for phase in entries if "profiling" in (base.inner(phase).get("name"), base.inner(phase).get("phase"))), {}
    )


def _length(distribution: Mapping[str, Any]) -> tuple[float, float] | None:
    mean, wide = _plain(distribution.get("mean")), _plain(distribution.get("stddev")) or 0.0
    return None if mean is None else (mean, wide)


def _plain(value: object) -> float | None:
    """A finite number >= 0; None for any other value."""
    return float(value) if base.is_number(value) and value >= 0 else None


# ---- the requests ----------------------------------------------------------------------------------------------------


def _span(path: Path) -> tuple[int, float, int]:
    """(first send time, seconds until the last response, number of requests), from a first pass over the lines."""
    first = last = count = 0
    for place, line in lines(path):
        metadata, at = _of(place, line)[0], place.at("metadata")
        begin, end = _stamp(metadata, "request_start_ns", at), _stamp(metadata, "request_end_ns", at, needed=False)
        first = min(first, begin or 0) if count else begin or 0
        last = max(last, end or 0)
        count += 1
    if not count:
        raise Place(path.name).wrong(Words("no line"), "one line per request")
    return first, max(0, last - first) / NS_PER_S, count


def _rows(path: Path) -> Iterator[base.RequestRow]:
    for place, line in lines(path):
        yield _row(*_of(place, line), place)


def _of(place: Place, line: str) -> tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any] | None]:
    """(metadata, metrics, error) of a line."""
    record = base.mapping(loads(line, place), place)
    metadata = base.mapping(record.get("metadata"), place.at("metadata"))
    error = record.get("error")
    metrics = record.get("metrics") or {}
    return metadata, base.mapping(metrics, place.at("metrics")), None if error is None else base.mapping(error, place.at("error"))


def _row(metadata: Mapping[str, Any], metrics: Mapping[str, Any], error: Mapping[str, Any] | None, place: Place) -> base.RequestRow:
    at = place.at("metadata")
    sent_ns = _stamp(metadata, "request_start_ns", at)
    end_ns = _stamp(metadata, "request_end_ns", at, needed=False)
    assert sent_ns is not None
    phase = metadata.get("benchmark_phase", "profiling")
    if phase not in PHASES:
        raise at.at("benchmark_phase").wrong(phase, " or ".join(PHASES))
    if end_ns is not None and end_ns < sent_ns:
        raise at.at("request_end_ns").wrong(end_ns, f"at least request_start_ns, {sent_ns}")
    common: dict[str, Any] = {
        "sent_ns": sent_ns,
        "phase": PHASES[phase],
        "done_ns": None if end_ns is None else end_ns - sent_ns,
        "session": base.whole(metadata, "session_num", at),
        "turn": base.whole(metadata, "turn_index", at),
        "counted_in": _count(metrics, ("input_sequence_length", "error_isl"), place),
    }
    if error is not None or metadata.get("was_cancelled") is True:
        return _failed(error or {}, place.at("error"), metadata.get("was_cancelled") is True, common)
    first = _duration_ns(metrics, "time_to_first_token", place)
    gaps = _gaps(metrics, place)
    last = _duration_ns(metrics, "request_latency", place)
    return base.RequestRow(
        **common,
        first_ns=first,
        visible_ns=_duration_ns(metrics, "time_to_first_output_token", place),
        last_ns=last,
        chunks_ns=tuple(accumulate((first, *gaps))) if first is not None and gaps else (),
        tokens_in=_count(metrics, ("usage_prompt_tokens",), place),
        tokens_out=_count(metrics, ("usage_completion_tokens",), place),
        counted_out=_count(metrics, ("output_sequence_length", "output_token_count"), place),
        tokens_reasoning=_count(metrics, ("usage_reasoning_tokens",), place),
        tokens_cached=_count(metrics, ("usage_prompt_cache_read_tokens",), place),
    )


def _failed(error: Mapping[str, Any], at: Place, cancelled: bool, common: Mapping[str, Any]) -> base.RequestRow:
    code = error.get("code")
    code = code if isinstance(code, int) and not isinstance(code, bool) else None
    words = ": ".join(filter(None, (base.text(error, "type", at, 80), base.text(error, "message", at)))) or None
    status = "cancelled" if cancelled else base.failure(words, code)
    return base.RequestRow(**common, status=status, http_status=code if code and 100 <= code <= 599 else None, error=words)


def _stamp(metadata: Mapping[str, Any], key: str, at: Place, *, needed: bool = True) -> int | None:
    value = metadata.get(key)
    if value is None and not needed:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < LATEST_NS:
        raise at.at(key).wrong(value if value is not None else NOTHING, "a time of day in nanoseconds")
    return value


def _metric(metrics: Mapping[str, Any], name: str, place: Place) -> tuple[Any, str, Place] | None:
    value = metrics.get(name)
    if value is None:
        return None
    at = place.at("metrics").at(name)
    metric = base.mapping(value, at)
    return metric.get("value"), str(metric.get("unit", "")), at.at("value")


def _duration_ns(metrics: Mapping[str, Any], name: str, place: Place) -> int | None:
    metric = _metric(metrics, name, place)
    return None if metric is None else _in_ns(*metric)


def _in_ns(value: object, unit: str, at: Place) -> int:
    scale = UNITS.get(unit.lower())
    if scale is None:
        raise at.wrong(Words(f"a time in {unit!r}"), f"one in {', '.join(UNITS)}")
    known = _plain(value)
    if known is None or known * scale > base.MAX_S:
        raise at.wrong(value, "a number of at least 0")
    return round(known * scale * NS_PER_S)


def _gaps(metrics: Mapping[str, Any], place: Place) -> list[int]:
    metric = _metric(metrics, "inter_chunk_latency", place)
    if metric is None:
        return []
    values, unit, at = metric
    if not isinstance(values, list):
        raise at.wrong(values, "a list")
    return [_in_ns(value, unit, at.at(index)) for index, value in enumerate(values)]


def _count(metrics: Mapping[str, Any], names: Sequence[str], place: Place) -> int | None:
    metric = next((candidate for name in names if (candidate := _metric(metrics, name, place)) is not None), None)
    if metric is None:
        return None
    value, _, at = metric
    return base.whole({"value": value}, "value", Place(at.file, at.line, at.path.removesuffix(".value")))


# ---- reported and missing values -------------------------------------------------------------------------------------


def _duration(totals: Mapping[str, Any]) -> float | None:
    value, unit = (
        _plain(base.inner(totals, "benchmark_duration").get("avg")),
        str(base.inner(totals, "benchmark_duration").get("unit", "sec")),
    )
    return None if value is None else value * UNITS.get(unit.lower(), 1.0)


def _reported(totals: Mapping[str, Any]) -> Iterator[base.Reported]:
    for key, title in (("request_count", "answered requests"), ("error_request_count", "failed requests")):
        yield from base.reported(base.inner(totals, key), "avg", title, "count")
    for key, title, ours in RATES:
        yield from base.reported(base.inner(totals, key), "avg", title, "1/s", ours)
    for key, title, ours in LATENCIES:
        metric = base.inner(totals, key)
        for statistic, quantile in STATISTICS:
            near = f"{ours}_{quantile}" if quantile else ("itl_aiperf" if ours == "tpot" else "")
            yield from base.reported(metric, statistic, f"{statistic} {title}", _unit(metric), near)


def _unit(metric: Mapping[str, Any]) -> str:
    return str(metric.get("unit", ""))[:20]


def _doubts(totals: Mapping[str, Any], seen: int | None) -> tuple[str, ...]:
    doubts = []
    counts = [_plain(base.inner(totals, key).get("avg")) or 0.0 for key in ("request_count", "error_request_count")]
    if seen is not None and totals and sum(counts) and sum(counts) > seen:
        doubts.append(f"its totals report {sum(counts):,.0f} requests, but it lists {seen:,}")
    if totals.get("was_cancelled") is True:
        doubts.append("the run was cancelled before its end (was_cancelled)")
    return tuple(doubts)


FOREIGN = base.Foreign(
    name="aiperf",
    title="AIPerf",
    files=f"{LINES}, with {TOTALS} next to it if present, or that alone",
    clock="sent",
    meanings={
        "first_token": "the first response with content or reasoning",
        "end": "the last response with content",
        "tokens": "AIPerf's own tokenizer; the server's usage where the file has it",
        "connection": "kept alive, unless asked otherwise; a new one is set up inside of the latency",
        "stamps": "monotonic, at the socket read, before parsing; written as times of day",
        "left_out": "nothing: failed and cancelled requests are listed",
    },
    missing=(
        "when each request was due: an arrival without a free slot was skipped, and counts in no number",
        "the environment: machine, accelerator, driver, and version and flags of the engine",
        "the answers' texts",
    ),
    recognises=recognises,
    read=read,
    beside=beside,
    chosen=chosen,
)
