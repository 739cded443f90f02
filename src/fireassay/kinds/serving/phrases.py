"""How are the numbers of a load worded?  "goodput 9.9 requests/s [9.8, 10.0]", "p99 of the time to the first token 210 ms"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Scale, Shown, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.cost import COST, ENERGY
from fireassay.metrics.metric import Results
from fireassay.metrics.serving.cost import (
    COST_PER_GOOD_TOKEN,
    COST_PER_REQUEST,
    COST_PER_TOKEN,
    ENERGY_PER_GOOD_TOKEN,
    ENERGY_PER_REQUEST,
    ENERGY_PER_TOKEN,
)
from fireassay.metrics.serving.latency import E2E_P50, E2E_P95, E2E_P99, TPOT_P50, TPOT_P95, TPOT_P99, TTFT_P50, TTFT_P95, TTFT_P99
from fireassay.metrics.serving.objectives import GOODPUT
from fireassay.metrics.serving.throughput import ACHIEVED_RATE, INPUT_THROUGHPUT, OFFERED_RATE, OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT

NAMES: Final[Mapping[str, str]] = {
    GOODPUT.name: "goodput",
    OUTPUT_THROUGHPUT.name: "throughput",
    REQUEST_THROUGHPUT.name: "throughput",
    COST.name: "cost of a run",
    COST_PER_GOOD_TOKEN.name: "cost of good tokens",
    COST_PER_TOKEN.name: "cost of tokens",
    COST_PER_REQUEST.name: "cost of requests",
    ENERGY.name: "energy",
    ENERGY_PER_GOOD_TOKEN.name: "energy of good tokens",
    ENERGY_PER_TOKEN.name: "energy of tokens",
    ENERGY_PER_REQUEST.name: "energy of requests",
}
LATENCIES: Final[Mapping[str, str]] = {
    "ttft": "time to the first token",
    "ttft_visible": "time to the first visible text",
    "tpot": "time per output token",
    "itl": "gap between tokens",
    "e2e": "end-to-end time",
}
RATES: Final[Mapping[str, str]] = {
    GOODPUT.name: " requests/s",
    REQUEST_THROUGHPUT.name: " requests/s",
    OUTPUT_THROUGHPUT.name: " tokens/s",
    INPUT_THROUGHPUT.name: " tokens/s",
    OFFERED_RATE.name: " requests/s",
    ACHIEVED_RATE.name: " requests/s",
}
PERCENTILES: Final[Mapping[str, str]] = {"p50": "median", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99.9"}


def worth(metric: str) -> str:
    """The name of a metric before its number."""
    latency, _, percentile = metric.rpartition("_")
    if latency in LATENCIES and percentile in PERCENTILES:
        return f"{PERCENTILES[percentile]} of the {LATENCIES[latency]}"
    return NAMES.get(metric, metric.replace("_", " "))


def shown(metric: str, value: Estimate | Absent) -> Shown:
    """The number with the unit that a reader expects: requests and tokens per second rather than "1/s"."""
    if metric in RATES and isinstance(value, Estimate):
        return show(value, Scale(factor=1.0, after=RATES[metric]))
    return show(value, work="requests")


def value_of(results: Results, metric: str, configuration: str) -> str:
    """Value and interval, or why there is none."""
    return shown(metric, results[metric][configuration]).full


def at(measured: RecordData, configuration: str) -> str:
    """A configuration as the subject of a sentence, with its number of replicas."""
    candidate = next(candidate for candidate in measured.varied if candidate.name == configuration)
    replicas = f" on {candidate.workers} replicas" if candidate.workers > 1 else ""
    return f"{configuration}{replicas}"


SPEEDS: Final = (GOODPUT.name, OUTPUT_THROUGHPUT.name, REQUEST_THROUGHPUT.name)  # "fastest" is by the first of these that is known
COSTS: Final = (COST_PER_GOOD_TOKEN.name, COST_PER_TOKEN.name, COST_PER_REQUEST.name, COST.name)
ENERGIES: Final = (ENERGY_PER_GOOD_TOKEN.name, ENERGY_PER_TOKEN.name, ENERGY_PER_REQUEST.name, ENERGY.name)
TAILS: Final = tuple(
    tuple(metric.name for metric in tails)
    for tails in ((TTFT_P99, TTFT_P95, TTFT_P50), (TPOT_P99, TPOT_P95, TPOT_P50), (E2E_P99, E2E_P95, E2E_P50))
)


def is_known(results: Results, metric: str, name: str) -> bool:
    return isinstance(results.get(metric, {}).get(name), Estimate)


def quoted(results: Results, metric: str, name: str) -> str:
    """ "goodput 9.9 requests/s [9.8, 10.0]"."""
    return f"{worth(metric)} {value_of(results, metric, name)}"


def number_phrases(results: Results, name: str) -> Iterator[str]:
    """Throughput, goodput, and the farthest tail of each latency that the requests support."""
    for metric in SPEEDS[:2]:
        if is_known(results, metric, name):
            yield quoted(results, metric, name)
    for latency in TAILS:
        known = next((metric for metric in latency if is_known(results, metric, name)), None)
        if known is not None:
            yield quoted(results, known, name)
