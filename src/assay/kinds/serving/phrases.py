"""How are the numbers of a load said in a sentence?  "goodput 9.9 requests/s [9.8, 10.0]", "p99 of the time to the first token 210 ms"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from assay.estimates.estimate import Absent, Estimate
from assay.estimates.format import Scale, Shown, show
from assay.frames.record_data import Measured
from assay.metrics.base import Results

NAMES: Final[Mapping[str, str]] = {
    "goodput": "goodput",
    "output_throughput": "throughput",
    "request_throughput": "throughput",
    "cost": "cost of a run",
    "cost_per_good_token": "cost of good tokens",
    "cost_per_token": "cost of tokens",
    "cost_per_request": "cost of requests",
    "energy": "energy",
    "energy_per_good_token": "energy of good tokens",
    "energy_per_token": "energy of tokens",
    "energy_per_request": "energy of requests",
}
LATENCIES: Final[Mapping[str, str]] = {
    "ttft": "time to the first token",
    "ttft_visible": "time to the first visible text",
    "tpot": "time per output token",
    "itl": "gap between tokens",
    "e2e": "end-to-end time",
}
RATES: Final[Mapping[str, str]] = {
    "goodput": " requests/s",
    "request_throughput": " requests/s",
    "output_throughput": " tokens/s",
    "input_throughput": " tokens/s",
    "offered_rate": " requests/s",
    "achieved_rate": " requests/s",
}
PERCENTILES: Final[Mapping[str, str]] = {"p50": "median", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99.9"}


def worth(metric: str) -> str:
    """What a metric is called before its number."""
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


def at(measured: Measured, configuration: str) -> str:
    """A configuration as the subject of a sentence; the engine's name where there is one to be told from others."""
    one = next(one for one in measured.varied if one.name == configuration)
    replicas = f" on {one.workers} replicas" if one.workers > 1 else ""
    return f"{configuration}{replicas}"


SPEEDS: Final = ("goodput", "output_throughput", "request_throughput")  # what "fastest" means, the first that is known
COSTS: Final = ("cost_per_good_token", "cost_per_token", "cost_per_request", "cost")
ENERGIES: Final = ("energy_per_good_token", "energy_per_token", "energy_per_request", "energy")
TAILS: Final = (("ttft_p99", "ttft_p95", "ttft_p50"), ("tpot_p99", "tpot_p95", "tpot_p50"), ("e2e_p99", "e2e_p95", "e2e_p50"))


def is_known(results: Results, metric: str, name: str) -> bool:
    return isinstance(results.get(metric, {}).get(name), Estimate)


def quoted(results: Results, metric: str, name: str) -> str:
    """ "goodput 9.9 requests/s [9.8, 10.0]"."""
    return f"{worth(metric)} {value_of(results, metric, name)}"


def number_phrases(results: Results, name: str) -> Iterator[str]:
    """Throughput, goodput, and of each latency the farthest tail that the requests can carry."""
    for metric in SPEEDS[:2]:
        if is_known(results, metric, name):
            yield quoted(results, metric, name)
    for latency in TAILS:
        found = next((metric for metric in latency if is_known(results, metric, name)), None)
        if found is not None:
            yield quoted(results, found, name)
