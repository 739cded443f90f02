"""What did GenAI-Perf report?  From profile_export_genai_perf.json or .csv: totals only, in milliseconds.

Its requests are in profile_export.json, which perf_analyzer wrote next to it (`importers/perf_analyzer.py`).  The CSV rounds to two decimals and
names no settings.  Its inter-token latency is a mean for each request, so that its percentiles are of requests, not of gaps.
(genai_perf/export_data, metrics/statistics.py and config/input of genai-perf 0.0.8 and 0.0.16.)
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from fireassay.importers.aiperf import OF_GENAI_PERF, STATISTICS, TASKS
from fireassay.importers.support import base
from fireassay.importers.support.documents import Place, Words, documents, head, lines

HEADER: Final = "Metric,avg,min,max,p99,p95,p90,p75,p50,p25"  # AIPerf's ends in std
MAX_LINES: Final = 1_000
CUT_TABLE: Final = "The file is cut off, or two are joined."
LATENCIES: Final = {
    "time_to_first_token": ("TTFT", "ttft"),
    "inter_token_latency": ("ITL (a mean for each request)", "tpot"),
    "request_latency": ("end to end", "e2e"),
}
RATES: Final = {
    "request_throughput": ("requests per second", "request_throughput"),
    "output_token_throughput": ("output tokens per second", "output_throughput"),
    "request_goodput": ("goodput", "goodput"),
}


def recognises(_: str, beginning: str) -> bool:
    """True if it begins with its totals and settings, or with its table."""
    totals = '"unit"' in beginning and '"input_config"' in beginning and any(key in beginning for key in OF_GENAI_PERF)
    return totals or (beginning.startswith(HEADER) and "std" not in beginning.partition("\n")[0])


def chosen(paths: Sequence[Path]) -> Sequence[Path]:
    """The JSON, where there are both."""
    return [path for path in paths if path.suffix != ".csv"] or paths


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The run in a file."""
    if head(path).startswith(HEADER):
        return [_load(path.name, _table(path), Place(path.name))]
    return [_load(path.name, base.mapping(document, place), place) for place, document in documents(path, (), stack)]


def _table(path: Path) -> Mapping[str, Any]:
    """The CSV's numbers, by metric and statistic, as in the JSON."""
    found: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for place, line in lines(path):
        if place.line > MAX_LINES:
            raise Place(path.name).wrong(Words("more lines"), f"at most {MAX_LINES:,}")
        name, *cells = next(csv.reader([line.strip()]))
        if name == "Metric":
            names = [cell if cell != "Value" else "avg" for cell in cells]
        elif names and len(cells) != len(names):
            raise place.wrong(Words(f"{1 + len(cells)} cells"), f"{1 + len(names)}, as in the line of names above it", CUT_TABLE)
        elif match := re.fullmatch(r"([\w ]+) \(([^)]*)\)", name):
            values = {statistic: _number(cell) for statistic, cell in zip(names, cells, strict=True)}
            found[match[1].lower().replace(" ", "_")] = {"unit": match[2], **values}
    return found


def _number(cell: str) -> float | None:
    try:
        return float(cell.replace(",", ""))  # 1,234.56
    except ValueError:
        return None


def _load(file: str, totals: Mapping[str, Any], place: Place) -> base.Load:
    config = base.inner(totals, "input_config")
    if not base.inner(totals, "request_latency"):
        raise place.at("request_latency").wrong(Words("nothing"), "the statistics of a latency")
    # `stimulus` since 0.0.12; before, the settings are flat
    stimulus = base.inner(config, "perf_analyzer", "stimulus") or {key: config.get(key) for key in ("concurrency", "request_rate")}
    at = place.at("input_config")
    kind, load = _level(stimulus, at)
    endpoint = base.inner(config, "endpoint")
    names = config.get("model_names") or config.get("model")
    model = base.clean(str(names[0]), 200) if isinstance(names, list) and names else ""
    task = TASKS.get(str(endpoint.get("type") or config.get("endpoint_type") or ""))
    streaming = endpoint.get("streaming", config.get("streaming"))
    process = {"concurrency": {"process": "closed"}, "rate": {"process": "constant"}, "": {"process": "trace", "trace": file}}[kind]
    known = {"model": model, "task": task, "stream": streaming if isinstance(streaming, bool) else None}
    stated = {f"serving.{key}" for key, value in known.items() if value not in (None, "")} | ({"engine.model"} if model else set())
    stated |= {"serving.load"} if kind else set()
    stated |= {"serving.arrivals.process", "serving.arrivals.cv"} if kind == "concurrency" else set()
    return base.Load(
        file=file,
        kind=kind,
        load=load,
        serving={"arrivals": process, **{key: value for key, value in known.items() if value not in (None, "")}},
        url=base.address(endpoint.get("url") or config.get("u")),
        stated=frozenset(stated),
        reported=tuple(_reported(totals)),
        doubts=_cut(totals),
        missing=(
            "the requests: it holds totals only, as told by the tool; import profile_export.json, which is written next to it",
            *(() if kind else ("the requested load, so it counts as a trace",)),
            *(() if base.inner(totals, "request_count") else ("the number of answered requests",)),
        ),
    )


def _cut(totals: Mapping[str, Any]) -> tuple[str, ...]:
    """The throughput comes last, before the number of requests that versions since 0.0.10 write."""
    whole = bool(base.inner(totals, "request_throughput"))
    return () if whole else ("it has no request throughput, which every version writes at its end: the file is cut off",)


def _level(stimulus: Mapping[str, Any], at: Place) -> tuple[Any, float | None]:
    if concurrency := base.whole(stimulus, "concurrency", at):
        return "concurrency", float(concurrency)
    rate = base.number(stimulus, "request_rate", at, most=1e7)
    return ("rate", rate) if rate else ("", None)


def _reported(totals: Mapping[str, Any]) -> Iterator[base.Reported]:
    yield from base.reported(base.inner(totals, "request_count"), "avg", "answered requests", "count")
    for key, (title, ours) in RATES.items():
        yield from base.reported(base.inner(totals, key), "avg", title, "1/s", ours)
    for key, (title, ours) in LATENCIES.items():
        metric = base.inner(totals, key)
        for statistic, quantile in STATISTICS:
            near = f"{ours}_{quantile}" if quantile else ""
            yield from base.reported(metric, statistic, f"{statistic} {title}", str(metric.get("unit", ""))[:20], near)


FOREIGN = base.Foreign(
    name="genai_perf",
    title="GenAI-Perf",
    files="profile_export_genai_perf.json or .csv",
    clock="sent",
    meanings={
        "first_token": "the first response with text",
        "end": "the last response with text",
        "tokens": "its own tokenizer",
        "connection": "kept alive or not is not said",
        "stamps": "the wall clock, when the client's library hands a response on",
        "left_out": "requests outside of its measured windows may be missing",
    },
    missing=(
        "how many requests failed, and how long the run lasted",
        "the environment: machine, accelerator, driver, and version and flags of the engine",
        "when each request was due",
        "its own version",
    ),
    recognises=recognises,
    read=read,
    chosen=chosen,
)
