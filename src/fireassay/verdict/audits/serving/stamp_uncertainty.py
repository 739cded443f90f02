"""Are token arrival times known, or only upper bounds?

A chunk's timestamp may be late: several packets in one read share the last one's, and a process that was asleep, stopped or busy reads
late. Each timestamp therefore carries how much earlier the chunk may have arrived (`fireassay.frames.serving.stamp_uncertainty`). INVALID in at
least half of a configuration's launches, a warning in fewer:

    p99 of a latency's uncertainty > max(serving.client.most_uncertainty x its median, serving.client.free_uncertainty_s)

TTFT, TPOT and E2E are always checked; visible TTFT and ITL if an objective names them. Unknown uncertainty (an HTTP library, an in-process
model, an import) is a note: it was not measured and may be large.

Cannot tell: the actual error, only its bound; delays before the kernel's timestamp (interrupt coalescing, a descheduled virtual machine).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.format import count, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.units import SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration, in_launches, most
from fireassay.verdict.evidence.sent_requests import serving_of
from fireassay.verdict.types import Finding

QUANTILE: Final = 0.99
TITLES: Final = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "E2E", "ttft_visible": "visible TTFT", "itl": "ITL"}
REMEDY: Final = (
    "keep the client responsive: fewer streams, more client processes (serving.client.processes) or a quieter machine, and the "
    "compiled client if it is not built; `assay doctor client` measures the capacity of this machine's client"
)
UNKNOWN_REMEDY: Final = 'set serving.client.transport = "auto", without a proxy or HTTP/2'
NO_SOCKET: Final = ("process", "foreign")  # an in-process model, another tool's log
NO_SOCKET_REMEDY: Final = (
    "serve the model and load that server with assay: uncertainty is known only for times taken at assay's own sockets"
)


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration and latency, and one note on unknown uncertainty."""
    latencies = fold(measured)
    return (*_too_unsure(measured, latencies), *_unknown(measured, latencies))


def fold(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, latency, unsure_s (p99), median_s) per timed launch and checked latency; null if unknown."""
    objectives = serving_of(measured).objectives
    names = ["ttft", "tpot", "e2e", *(["ttft_visible"] if objectives.ttft_visible_s is not None else [])]
    rows = measured.counted_requests.filter("ok")
    parts = [_of_requests(rows, name) for name in names]
    if objectives.itl_s is not None:
        parts.append(_of_gaps(measured, rows))
    return pl.concat(parts).sort("launch", maintain_order=True)


def _of_requests(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Requests that have the latency. Rounded down: with few requests the largest value alone is no percentile."""
    known = rows.filter(pl.col(f"{name}_s").is_not_null())
    return known.group_by("launch", "configuration", maintain_order=True).agg(
        pl.lit(name).alias("latency"),
        pl.col(f"{name}_uncertainty_s").quantile(QUANTILE, "lower").alias("unsure_s"),
        pl.col(f"{name}_s").median().alias("median_s"),
    )


def _of_gaps(measured: RecordData, rows: pl.DataFrame) -> pl.DataFrame:
    latencies = []
    for launch, configuration in rows.select("launch", "configuration").unique(maintain_order=True).iter_rows():
        gaps, unsure = measured.served.gaps[launch], measured.served.gap_uncertainty[launch]
        known = unsure[~np.isnan(unsure)]
        if len(gaps):
            worst = float(np.quantile(known, QUANTILE, method="lower")) if len(known) else None
            latencies.append((launch, configuration, "itl", worst, float(np.median(gaps))))
    schema = {"launch": pl.Int32, "configuration": pl.String, "latency": pl.String, "unsure_s": pl.Float64, "median_s": pl.Float64}
    return pl.DataFrame(latencies, schema=schema, orient="row")


def _too_unsure(measured: RecordData, latencies: pl.DataFrame) -> Iterator[Finding]:
    client = serving_of(measured).client
    allowed = pl.max_horizontal(pl.col("median_s") * client.most_uncertainty, pl.lit(client.free_uncertainty_s))
    judged = latencies.filter(pl.col("unsure_s").is_not_null()).with_columns(allowed_s=allowed)
    for name, rows in by_configuration(measured, judged):
        for latency, title in TITLES.items():
            known = rows.filter(pl.col("latency") == latency)
            affected = known.filter(pl.col("unsure_s") > pl.col("allowed_s"))
            if affected.height:
                yield _finding(name, title, affected, known, client.most_uncertainty)


def _finding(name: str, title: str, affected: pl.DataFrame, known: pl.DataFrame, share: float) -> Finding:
    worst = affected.sort(pl.col("unsure_s") / pl.col("allowed_s")).row(-1, named=True)
    evidence = (
        f"{title} is too uncertain: p99 of its uncertainty {reading(worst['unsure_s'], SECONDS)}, at a median of "
        f"{reading(worst['median_s'], SECONDS)}; at most {reading(worst['allowed_s'], SECONDS)} ({percent(share, 12)}, or the fixed "
        f"allowance) is admissible; in {affected.height} of {count(known.height, 'launches')} ({in_launches(affected['launch'])})"
    )
    return Finding("times_uncertain", "invalid" if most(affected.height, known.height) else "warning", name, evidence, REMEDY)


def _unknown(measured: RecordData, latencies: pl.DataFrame) -> Iterator[Finding]:
    unknown = latencies.filter(pl.col("unsure_s").is_null())
    if unknown.height:
        launches = unknown["launch"].unique()
        words = f"the uncertainty of the times of {in_launches(launches)} is unknown: not measured, and possibly large"
        ways = measured.table("requests").filter(pl.col("launch").is_in(launches.to_list()))["transport"].unique()
        remedy = NO_SOCKET_REMEDY if ways.is_in(NO_SOCKET).any() else UNKNOWN_REMEDY
        yield Finding("uncertainty_unknown", "note", None, words, remedy)


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without any timestamp uncertainty."""
    latencies = fold(measured)
    return None if latencies["unsure_s"].is_not_null().any() else "the uncertainty of the answers' times is unknown"


AUDIT = Audit(
    name="stamp_uncertainty",
    title="uncertain token times",
    question="Are token arrival times known, or only upper bounds?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
