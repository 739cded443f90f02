"""Which wanted values does a page in Prometheus' text format hold?

Pure; robust against garbage. `KNOWN` lists the kept names per engine. Several series of one name (engines, ranks, models) are summed;
of shares, the largest is taken. Names with and without OpenMetrics' suffix `_total` are the same counter. Sources: the engines' own
metrics pages (vLLM "Production Metrics", SGLang "Production Metrics", TGI "Metrics") and DCGM's field identifiers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Together = Literal["sum", "max"]


@dataclass(frozen=True, slots=True)
class Series:
    """One line: a name, its labels and its value."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a name maps to our counter: its unit, the factor, and how several series are combined."""

    counter: str
    unit: str
    scale: float = 1.0
    together: Together = "sum"


def _histogram(name: str, counter: str, unit: str = "s") -> dict[str, Wanted]:
    return {f"{name}_sum": Wanted(f"{counter}_sum", unit), f"{name}_count": Wanted(f"{counter}_count", "count")}


_RUNNING, _WAITING = Wanted("requests_running", "count"), Wanted("requests_waiting", "count")
_CACHE = Wanted("kv_cache_used", "share", together="max")
_HITS, _QUERIES = Wanted("prefix_cache_hits", "tokens"), Wanted("prefix_cache_queries", "tokens")
_PREEMPTED = Wanted("preemptions", "count")
_GENERATED, _PROMPT = Wanted("tokens_generated", "tokens"), Wanted("tokens_prompt", "tokens")
_DONE = Wanted("requests_done", "count")
MEMORY: Final = "process_resident_memory_bytes"  # of every official Prometheus client

# Without the suffix _total, which a counter may also carry.
KNOWN: Final[dict[str, Wanted]] = {
    # vLLM; the names with gpu_ are from before 0.9
    "vllm:num_requests_running": _RUNNING,
    "vllm:num_requests_waiting": _WAITING,
    "vllm:kv_cache_usage_perc": _CACHE,
    "vllm:gpu_cache_usage_perc": _CACHE,
    "vllm:prefix_cache_hits": _HITS,
    "vllm:gpu_prefix_cache_hits": _HITS,
    "vllm:prefix_cache_queries": _QUERIES,
    "vllm:gpu_prefix_cache_queries": _QUERIES,
    "vllm:num_preemptions": _PREEMPTED,
    "vllm:generation_tokens": _GENERATED,
    "vllm:prompt_tokens": _PROMPT,
    "vllm:request_success": _DONE,
    **_histogram("vllm:time_to_first_token_seconds", "ttft"),
    **_histogram("vllm:inter_token_latency_seconds", "itl"),
    **_histogram("vllm:e2e_request_latency_seconds", "e2e"),
    **_histogram("vllm:request_queue_time_seconds", "queue_time"),
    # SGLang
    "sglang:num_running_reqs": _RUNNING,
    "sglang:num_queue_reqs": _WAITING,
    "sglang:token_usage": _CACHE,
    "sglang:cached_tokens": _HITS,
    "sglang:cache_hit_rate": Wanted("prefix_cache_hit_rate", "share", together="max"),
    "sglang:num_retracted_reqs": _PREEMPTED,
    "sglang:generation_tokens": _GENERATED,
    "sglang:prompt_tokens": _PROMPT,
    "sglang:num_requests": _DONE,
    "sglang:gen_throughput": Wanted("generation_rate", "tokens/s"),
    **_histogram("sglang:time_to_first_token_seconds", "ttft"),
    **_histogram("sglang:inter_token_latency_seconds", "itl"),
    **_histogram("sglang:e2e_request_latency_seconds", "e2e"),
    # TGI
    "tgi_batch_current_size": _RUNNING,
    "tgi_queue_size": _WAITING,
    "tgi_batch_current_max_tokens": Wanted("batch_tokens_most", "tokens"),
    "tgi_request_generated_tokens_sum": _GENERATED,
    "tgi_request_input_length_sum": _PROMPT,
    "tgi_request_success": _DONE,
    **_histogram("tgi_request_queue_duration", "queue_time"),
    **_histogram("tgi_request_duration", "e2e"),
    # llama.cpp
    "llamacpp:requests_processing": _RUNNING,
    "llamacpp:requests_deferred": _WAITING,
    "llamacpp:kv_cache_usage_ratio": _CACHE,
    "llamacpp:tokens_predicted": _GENERATED,
    "llamacpp:prompt_tokens": _PROMPT,
    MEMORY: Wanted("memory_reported", "B"),
}

# From the DCGM exporter, per GPU.
ENERGY: Final = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"  # millijoules since the driver was loaded
GPUS: Final[dict[str, Wanted]] = {
    ENERGY: Wanted("energy", "J", 1e-3, "max"),
    "DCGM_FI_DEV_POWER_USAGE": Wanted("power", "W", together="max"),
    "DCGM_FI_DEV_GPU_UTIL": Wanted("utilisation", "share", 1e-2, "max"),
    "DCGM_FI_DEV_FB_USED": Wanted("memory_used", "B", 2.0**20, "max"),
    "DCGM_FI_DEV_SM_CLOCK": Wanted("sm_clock", "Hz", 1e6, "max"),
    "DCGM_FI_DEV_GPU_TEMP": Wanted("temperature", "degC", together="max"),
}

_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL: Final = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|(?=\}))')
_VALUE: Final = re.compile(r"\s*([^\s#]+)")
_ESCAPED: Final = re.compile(r"\\(.)")
MAX_LINE_LENGTH: Final = 1 << 16


def parse(page: bytes, names: Iterable[str]) -> list[Series]:
    """The series of these names, in order. Skips malformed lines and non-finite values."""
    kept = frozenset(names)
    matches = []
    for raw in page.splitlines():
        if not raw or raw[0] == 35 or len(raw) > MAX_LINE_LENGTH:  # 35: a comment
            continue
        line = raw.decode("utf-8", "replace")
        name = _NAME.match(line)
        if name is not None and name[0] in kept and (series := _series(line, name.end())) is not None:
            matches.append(series)
    return matches


def _series(line: str, end: int) -> Series | None:
    labels: dict[str, str] = {}
    at = end
    if line.startswith("{", at):
        at += 1
        while (label := _LABEL.match(line, at)) is not None:
            labels[label[1]] = _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], label[2])
            at = label.end()
        rest = line[at:].lstrip()
        if not rest.startswith("}"):
            return None
        at = len(line) - len(rest) + 1
    value = _VALUE.match(line, at)
    try:
        number = float(value[1]) if value is not None else math.nan
    except ValueError:
        return None
    return Series(line[:end], labels, number) if math.isfinite(number) else None


def spellings(names: Iterable[str]) -> dict[str, str]:
    """Every spelling of a name on a page, with and without _total -> the name."""
    return {spelling: name for name in names for spelling in (name, f"{name}_total")}


def combine(values: Iterable[float], together: Together) -> float:
    """Combine several series."""
    return math.fsum(values) if together == "sum" else max(values)
