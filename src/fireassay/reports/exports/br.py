"""How does llm-d read a load?  As its benchmark report, version 0.2: one JSON file for each configuration.

Only what was measured is in it.  Its statistics need a mean, so a quantity without one is left out; means are over the answered requests of
all measured windows, from the due time of a request on, as are our percentiles.  `inter_token_latency` has inference-perf's definition, the
mean alone.  Its model ignores keys of statistics that it does not know: next to `mean` stands `mean_low` and `mean_high`, next to `p95`
`p95_low` and `p95_high`, and `confidence`.  Status, digest and all values of the configuration, also those that are absent, with why, are in
`results.profiling.fireassay`, which its schema leaves open; the status begins `run.description` and is a keyword.
(llmdbenchmark/analysis/benchmark_report/schema_v0_2.py of llm-d/llm-d-benchmark at commit 8bc9f1d.)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Estimate, Value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.serving.pooled import quotients, tally
from fireassay.printable import json_text
from fireassay.record.files import Content
from fireassay.reports.exports.export import Export, Exported, Subject
from fireassay.spec.plan import Configuration

VERSION: Final = "0.2"
PERCENTILES: Final = ("p50", "p95", "p99")
# Its name -> its unit, our column of requests for the mean, our metric's name before its percentile.
LATENCIES: Final = {
    "time_to_first_token": ("s", "ttft_s", "ttft"),
    "time_per_output_token": ("s/token", "tpot_s", "tpot"),
    "request_latency": ("s", "e2e_s", "e2e"),
}
# Its name -> its unit, our metric.
MEANS: Final = {
    "input_length": ("count", "tokens_in_mean"),
    "output_length": ("count", "tokens_out_mean"),
    "inter_token_latency": ("s/token", "itl_inference_perf"),
    "input_token_rate": ("tokens/s", "input_throughput"),
    "output_token_rate": ("tokens/s", "output_throughput"),
    "request_rate": ("queries/s", "request_throughput"),
}


def files(subject: Subject) -> Exported:
    """The reports."""
    made: dict[str, Content] = {}
    for configuration in subject.measured.varied:
        stem = re.sub(r"[^A-Za-z0-9.=_-]+", "_", configuration.name)[:100]
        name = (
            f"benchmark_report-{stem}.json" if f"benchmark_report-{stem}.json" not in made else f"benchmark_report-{stem}-{len(made)}.json"
        )
        made[name] = json_text(json.dumps(_report(subject, configuration), indent=2, allow_nan=False))
    return Exported(files=made)


def _report(subject: Subject, configuration: Configuration) -> dict[str, Any]:
    head = subject.head
    identity = hashlib.sha256(f"{head.record} {head.digest} {configuration.name}".encode()).hexdigest()
    seconds = subject.measured.served.windows.filter(pl.col("configuration") == configuration.name)["seconds"].drop_nulls().sum()
    rows = [{**asdict(row), "labels": dict(row.labels)} for row in subject.values if row.configuration == configuration.name]
    load = _load(subject, configuration)
    return {
        "version": VERSION,
        "run": {
            "uid": identity[:32],
            "eid": head.digest,
            "time": {**({"start": head.created_utc} if head.created_utc else {}), "duration": f"PT{seconds:.6f}S"},
            "description": f"{head.status}{f' ({head.standing}: {head.standing_reason})' if head.standing else ''}: {head.sentence}",
            "keywords": ["fireassay", head.status, *([head.standing] if head.standing else []), configuration.name],
        },
        **({"scenario": {"load": load}} if load else {}),
        "results": {
            "request_performance": {"aggregate": _aggregate(subject, configuration.name)},
            "profiling": {
                "fireassay": {**asdict(head), "admissible": head.admissible, "configuration": configuration.name, "values": rows}
            },
        },
    }


def _load(subject: Subject, configuration: Configuration) -> dict[str, Any] | None:
    """The workload; None without the length of prompts, which its form requires."""
    serving, length = subject.measured.experiment.serving, _value(subject, "tokens_in_mean", configuration.name)
    assert serving is not None
    if length is None or configuration.load is None:
        return None
    closed = serving.arrivals.process == "closed"
    return {
        "metadata": {"description": configuration.name},
        "standardized": {
            "tool": "fireassay",
            "tool_version": subject.head.assay_version,
            "source": "random" if serving.prompts.source == "synthetic" else "sampled",
            "input_seq_len": {"distribution": "other", "value": length.value},
            **({"concurrency": int(configuration.load)} if closed else {"rate_qps": float(configuration.load)}),
        },
        "native": {},
    }


def _aggregate(subject: Subject, at: str) -> dict[str, Any]:
    requests = subject.measured.counted_requests.filter(pl.col("configuration") == at)
    means = {name: _statistics(unit, {"mean": _value(subject, metric, at)}) for name, (unit, metric) in MEANS.items()}
    of = {name: made for name, made in (*means.items(), *_latencies(subject, at)) if made}
    return {
        "requests": {
            "total": requests.height,
            "failures": requests.filter(~pl.col("ok")).height,
            **_those(of, "input_length", "output_length"),
        },
        "latency": _those(of, *LATENCIES, "inter_token_latency"),
        "throughput": _those(of, "input_token_rate", "output_token_rate", "request_rate"),
    }


def _those(made: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: made[name] for name in names if name in made}


def _latencies(subject: Subject, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, (unit, column, stem) in LATENCIES.items():
        mean = _mean(subject.measured, column).get(at)
        percentiles = {percentile: _value(subject, f"{stem}_{percentile}", at) for percentile in PERCENTILES}
        yield name, _statistics(unit, {"mean": mean if isinstance(mean, Estimate) else None, **percentiles})


def _mean(measured: RecordData, column: str) -> Mapping[str, Value]:
    rows = measured.counted_requests.filter(pl.col("ok") & pl.col(column).is_not_null())
    return quotients(
        measured, tally(rows, pl.col(column)), unit="s", name=f"{column} mean", aggregate="mean", missing="no answer", trials="below"
    )


def _value(subject: Subject, metric: str, at: str) -> Estimate | None:
    value = subject.results[metric].get(at) if metric in subject.results else None
    return value if isinstance(value, Estimate) else None


def _statistics(unit: str, values: Mapping[str, Estimate | None]) -> dict[str, Any]:
    """Its statistics of a quantity; empty without a mean."""
    if values["mean"] is None:
        return {}
    known = {name: value for name, value in values.items() if value is not None}
    ends = {f"{name}_{end}": _finite(getattr(value, end)) for name, value in known.items() for end in ("low", "high")}
    return {"units": unit, "confidence": values["mean"].confidence, **{name: value.value for name, value in known.items()}, **ends}


def _finite(end: float) -> float | None:
    return end if abs(end) < float("inf") else None


EXPORT = Export(
    name="br",
    title="llm-d's benchmark report",
    summary="llm-d's benchmark report 0.2, a file for each configuration",
    kinds=("serving",),
    files=files,
)
