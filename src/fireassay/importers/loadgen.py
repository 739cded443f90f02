"""What did MLPerf LoadGen report?  From mlperf_log_detail.txt or mlperf_log_summary.txt: totals, never requests.

The detailed log has a line `:::MLLOG {"key", "value", ...}` per fact, the summary `name : value`; both give scenario, settings,
results in nanoseconds, and LoadGen's verdict VALID or INVALID.  Neither holds request latencies, so percentiles are kept as LoadGen
reports them.  Latencies start at a request's due time.  (mlcommons/inference loadgen/results.cc at commit 05a9cec,
loadgen/test_settings_internal.cc; version 6.0.17.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support.base import Foreign, Load, Reported, clean, first, mapping, number, reported
from fireassay.importers.support.documents import NOTHING, Place, Words, lines, loads
from fireassay.importers.support.mllog import is_loadgen_log, is_training, read_log
from fireassay.record.mllog import Entry

MARK: Final = ":::MLLOG"
HEADING: Final = "MLPerf Results Summary"
SCENARIOS: Final = {  # name in lower case without blanks -> arrivals.process
    "singlestream": "single_stream",
    "multistream": "multi_stream",
    "server": "server",
    "interactive": "server",
    "offline": "offline",
}
COUNTS: Final = {  # key in the detailed log, or name in the summary -> (name, unit, assay's metric)
    "result_query_count": ("queries", "count", ""),
    "result_overlatency_query_count": ("queries beyond their limit", "count", ""),
    "result_scheduled_samples_per_sec": ("samples planned per second", "1/s", "offered_rate"),
    "result_completed_samples_per_sec": ("samples per second", "1/s", "request_throughput"),
    "result_samples_per_second": ("samples per second", "1/s", "request_throughput"),
    "result_completed_tokens_per_second": ("output tokens per second", "1/s", "output_throughput"),
    "result_tokens_per_second": ("output tokens per second", "1/s", "output_throughput"),
    "result_token_throughput_with_loadgen_overhead": ("output tokens per second", "1/s", "output_throughput"),
    "result_qps_with_loadgen_overhead": ("queries per second", "1/s", "request_throughput"),
    "Scheduled samples per second": ("samples planned per second", "1/s", "offered_rate"),
    "Completed samples per second": ("samples per second", "1/s", "request_throughput"),
    "Samples per second": ("samples per second", "1/s", "request_throughput"),
    "Completed tokens per second": ("output tokens per second", "1/s", "output_throughput"),
    "Tokens per second": ("output tokens per second", "1/s", "output_throughput"),
    "QPS w/ loadgen overhead": ("queries per second", "1/s", "request_throughput"),
}
DETAILED: Final = re.compile(
    r"result_(?P<what>first_token_|time_per_output_token_|time_to_output_token_)?(?:(?P<p>[\d.]+)_percentile|(?P<s>min|max|mean))"
    r"(?P<of>_per_query|_query)?(?:_latency)?(?:_ns)?"
)
SUMMED: Final = re.compile(
    r"(?:(?P<p>[\d.]+)(?:th)? percentile|(?P<s>Min|Max|Mean)) (?P<what>first token latency|time to output token|latency) \(ns\)(?P<of>)",
    re.IGNORECASE,
)
KINDS: Final = {"": ("end to end", "e2e"), "first_token": ("TTFT", "ttft"), "output_token": ("TPOT", "tpot")}
NEAR: Final = {"p50": "p50", "p95": "p95", "p99": "p99"}
INCIDENTS: Final = re.compile(r"\s*(\d{1,9}) (error)s? encountered", re.IGNORECASE)
OF_ITS_SOURCE: Final = ("loadgen_git", "loadgen_file", "loadgen_build")
VALIDITY: Final = ("result_validity", "Result is")


@dataclass
class _Log:
    """A log's content: name -> value with its line, and reported errors."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    incidents: dict[str, int] = field(default_factory=dict)  # of a summary, which counts them: "error" -> 1

    def put(self, key: str, value: object, line: int) -> None:
        """Store a value. The last one counts: LoadGen lists requested settings, then effective ones."""
        self.values[key], self.lines[key] = value, line


def recognises(_: str, beginning: str) -> bool:
    """True if it has LoadGen's log marker or heading; a training's log has the marker too."""
    return (MARK in beginning and not is_training(beginning)) or HEADING in beginning


def chosen(paths: Sequence[Path]) -> Sequence[Path]:
    """The detailed one of a run's two logs."""
    detailed = [path for path in paths if "detail" in path.name]
    return detailed or paths


def read(path: Path, _: ExitStack) -> Sequence[Load]:
    """The run in a log."""
    log = _read_log(path)
    values, place = log.values, Place(path.name)
    scenario = first(str(values.get(key, "")) for key in ("effective_scenario", "requested_scenario", "Scenario"))
    process = SCENARIOS.get(re.sub(r"[\s_-]", "", scenario).lower())
    if process is None:
        raise place.at("effective_scenario").wrong(scenario or NOTHING, ", ".join(SCENARIOS))
    kind, load, arrivals, stated = _settings(process, log, place)
    return [
        Load(
            file=path.name,
            kind=kind,
            load=load,
            serving={"arrivals": arrivals},
            stated=frozenset({"serving.load", "serving.arrivals.process", *stated}),
            rows=None,
            times="none",
            begin_utc=_when(values.get("test_datetime")),
            reported=tuple(_reported(log)),
            doubts=tuple(_doubts(log)),
            version=clean(str(values.get("loadgen_version", "")), 40),
            entries=_entries(path),
        )
    ]


def _entries(path: Path) -> tuple[Entry, ...]:
    """Its settings and results as lines, without those that describe LoadGen's own source; none of a summary."""
    if not is_loadgen_log(path):
        return ()
    return tuple(entry for entry in read_log(path).entries if not entry.key.startswith(OF_ITS_SOURCE))


def _read_log(path: Path) -> _Log:
    log, seen = _Log(), 0
    for place, line in lines(path):
        seen += 1
        if line.startswith(MARK):
            _detailed(log, line.removeprefix(MARK).strip(), place)
        elif counted := INCIDENTS.match(line):
            log.incidents[counted[2].lower()] = int(counted[1])
        elif (pair := re.match(r"\s*([^:]{1,80}?)\s*:\s*(\S.*?)\s*$", line)) and not line.startswith(":::"):
            log.put(pair[1], pair[2], place.line)
    if not log.values:
        raise Place(path.name).wrong(Words(f"{seen} lines without a setting or result"), f"lines that begin with {MARK}, or a summary")
    return log


def _detailed(log: _Log, source: str, place: Place) -> None:
    entry = mapping(loads(source, place), place)
    key = entry.get("key")
    if not isinstance(key, str):
        raise place.at("key").wrong(key, "a string")
    metadata = entry.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("is_error") is True:
        log.errors.append(clean(f"{key}: {entry.get('value')}", 200))
    log.put(key, entry.get("value"), place.line)


# ---- settings --------------------------------------------------------------------------------------------------------


def _settings(process: str, log: _Log, place: Place) -> tuple[Any, float | None, dict[str, Any], set[str]]:
    """(kind, load, keys of [serving.arrivals], known conditions)."""
    arrivals: dict[str, Any] = {"process": process}
    if process == "server":
        rate = _setting(log, place, "effective_target_qps", "target_qps")
        if not rate or rate > 1e7:
            raise place.at("effective_target_qps").wrong(rate, "a rate above 0")
        return "rate", rate, arrivals, {"serving.arrivals.cv"}
    per_query = _setting(log, place, "effective_samples_per_query", "samples_per_query")
    queries = _setting(log, place, "result_query_count") or 1
    if process == "offline":
        arrivals["requests"] = max(1, round((per_query or 1) * queries))
    if process == "multi_stream" and per_query:
        arrivals["samples_per_query"] = round(per_query)
        return "", None, arrivals, {"serving.arrivals.samples_per_query"}
    return "", None, arrivals, set()


def _setting(log: _Log, place: Place, *keys: str) -> float | None:
    """The first setting that is present; the summary holds it as text."""
    for key in keys:
        value = log.values.get(key)
        if value is not None:
            return number({key: _number(value)}, key, Place(place.file, log.lines[key]))
    return None


def _number(value: object) -> object:
    """A string of digits as a number; anything else unchanged."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", value):
        return float(value)
    return value


def _when(value: object) -> str:
    """The test's time; LoadGen writes it in UTC with a trailing Z."""
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00")) if isinstance(value, str) else None
    except ValueError:
        return ""
    return moment.isoformat(timespec="seconds") if moment is not None and moment.tzinfo is not None else ""


# ---- reported values and doubts --------------------------------------------------------------------------------------


def _reported(log: _Log) -> Iterator[Reported]:
    for key, value in log.values.items():
        plain = {key: _number(value)}
        if key in COUNTS:
            name, unit, ours = COUNTS[key]
            yield from reported(plain, key, name, unit, ours)
        elif (match := DETAILED.fullmatch(key) or SUMMED.fullmatch(key)) is not None:
            what = (match["what"] or "").lower()
            title, metric = KINDS["first_token" if "first" in what else "output_token" if "output" in what else ""]
            statistic = f"p{float(match['p']):g}" if match["p"] else match["s"].lower()
            near = f"{metric}_{NEAR[statistic]}" if statistic in NEAR and not match["of"] else ""
            yield from reported(plain, key, f"{statistic} {title}{' of a query' if match['of'] else ''}", "ns", near)


def _doubts(log: _Log) -> Iterator[str]:
    values = log.values
    validity = first(str(values.get(key, "")) for key in VALIDITY)
    if validity and validity != "VALID":
        why = clean(str(values.get("result_invalid_reason", "")).strip(), 300)
        yield f"LoadGen itself calls the result {clean(validity, 20)}{f': {why}' if why else ''}"
    mode = first(str(values.get(key, "")) for key in ("effective_test_mode", "Mode"))
    if "accuracy" in mode.lower():
        yield "it is an accuracy run (AccuracyOnly), whose times are meaningless"
    for kind, count in log.incidents.items():
        yield f"its summary counts {count:,} {kind}{'s' if count > 1 else ''}: see mlperf_log_detail.txt of the run"
    for error in log.errors[:3]:
        yield f"it logged an error: {error}"


FOREIGN = Foreign(
    name="loadgen",
    title="MLPerf LoadGen",
    files="mlperf_log_detail.txt, or mlperf_log_summary.txt",
    clock="scheduled",
    meanings={
        "first_token": "when the system under test calls FirstTokenComplete",
        "end": "when the system under test calls QuerySamplesComplete",
        "tokens": "as the system under test tells them",
        "connection": "none: the system under test is called in the same process",
        "stamps": "monotonic, in the call of the system under test",
        "left_out": "nothing",
    },
    missing=(
        "the requests: LoadGen's logs hold totals only",
        "the environment: machine, accelerator, driver, and the system under test itself",
        "the model, and its input",
        "failed requests: the system under test must answer every one",
    ),
    recognises=recognises,
    read=read,
    chosen=chosen,
)
