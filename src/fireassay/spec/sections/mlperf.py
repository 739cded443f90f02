"""What does MLPerf require of a run of one of its scenarios?

Constants, and what a run falls short of.  Source: mlcommons/inference, loadgen/mlperf.conf at 001712e9;
mlcommons/inference_policies, inference_rules.adoc, "Scenarios" and "Early stopping".  Early stopping replaces fixed query counts:
an estimate of the p-quantile at confidence 0.99 needs h(1) + 1 queries (`fireassay.stats.models.queueing.floor`), and Server,
which counts queries over the bound, h(0) if there are none.
Meeting these is necessary but not sufficient for a valid run: accuracy, compliance and equipment are judged elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CONFIDENCE: Final = 0.99  # of early stopping
SECONDS: Final = 600.0
SAMPLES: Final = 24_576  # of the single Offline query, or the whole data set if smaller


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """The minimums of a scenario."""

    name: str  # in MLPerf's spelling
    seconds: float  # of the measured part
    queries: int
    samples_per_query: int
    percentile: float | None  # of the reported (SingleStream, MultiStream) or bounded (Server) latency, 0..1


_SCENARIOS: Final = {
    "single_stream": Requirements(name="SingleStream", seconds=SECONDS, queries=64, samples_per_query=1, percentile=0.90),
    "multi_stream": Requirements(name="MultiStream", seconds=SECONDS, queries=662, samples_per_query=8, percentile=0.99),
    "server": Requirements(name="Server", seconds=SECONDS, queries=459, samples_per_query=1, percentile=0.99),
    "offline": Requirements(name="Offline", seconds=SECONDS, queries=1, samples_per_query=SAMPLES, percentile=None),
}


def requirements(process: str) -> Requirements | None:
    """The minimums for these arrivals; None if they are no MLPerf scenario."""
    return _SCENARIOS.get(process)


def shortfalls(process: str, seconds: float, queries: int, samples_per_query: int = 1) -> tuple[str, ...]:
    """What a run falls short of, such as "30 s of 600 s"; empty if it meets the minimums or none are known.

    `seconds`: of the measured part; Offline: until the last response.  `queries`: answered in it.
    """
    minimum = requirements(process)
    if minimum is None:
        return ()
    texts = []
    if seconds < minimum.seconds:
        texts.append(f"{seconds:.4g} s of {minimum.seconds:g} s")
    if queries < minimum.queries:
        texts.append(f"{queries} of {minimum.queries} queries")
    if samples_per_query < minimum.samples_per_query:
        texts.append(f"{samples_per_query} of {minimum.samples_per_query} samples in a query")
    return tuple(texts)


def validity(process: str, seconds: float, queries: int, samples_per_query: int = 1) -> str:
    """A sentence for reports: "MLPerf Server valid: no, 30 s of 600 s"; empty if the arrivals are no MLPerf scenario."""
    minimum = requirements(process)
    if minimum is None:
        return ""
    missing = shortfalls(process, seconds, queries, samples_per_query)
    return f"MLPerf {minimum.name} valid: {'no, ' + ' and '.join(missing) if missing else 'the minimums are met'}"
