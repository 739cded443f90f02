"""How is a load measured, in the terms of Hoefler and Belli's rules?"""

from __future__ import annotations

from collections.abc import Mapping

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.metrics.serving.latency import E2E_P50, E2E_P95, E2E_P99, TTFT_P95, TTFT_P99
from fireassay.verdict.artifact import environment_facts
from fireassay.verdict.judging import NO_ENVIRONMENT, Methods, RuleAnswer


def _means(_: RecordData, __: Results) -> RuleAnswer:
    return (
        "kept",
        (
            "a rate is a sum over launches divided by their time, a share is divided by the requests due; a percentile pools the requests of "
            "all launches, and percentiles are never averaged; nothing is averaged across loads or scenarios"
        ),
        "",
    )


def _statistic(_: RecordData, results: Results) -> RuleAnswer:
    tails = [metric.name for metric in (TTFT_P95, TTFT_P99, E2E_P95, E2E_P99) if _any(results, metric.name)]
    if not _any(results, E2E_P50.name):
        return "in part", "no latency was measured", "find out why no request was answered"
    if tails:
        return "kept", f"medians are reported with tails ({', '.join(tails)}) and the share of requests that met the objectives", ""
    return "in part", "medians are reported; the launches are too short or too few for tails", "send more requests"


def _any(results: Results, name: str) -> bool:
    return any(isinstance(value, Estimate) for value in results.get(name, {}).values())


def _factors(measured: RecordData, _: Results) -> RuleAnswer:
    facts = environment_facts(measured)
    if not facts:
        return NO_ENVIRONMENT
    schedules = measured.manifest.get("schedules") or {}
    if not schedules:
        return "in part", f"{facts}; the traffic sent has no digest", "measure with assay, which records a digest of every schedule"
    engines = measured.before.get("engines")
    traffic = f"{facts}; traffic, lengths, sampling and objectives are in the experiment, and {count(len(schedules), 'schedules')} recorded by digest"
    if not isinstance(engines, Mapping) or all(isinstance(engine, Mapping) and "absent" in engine for engine in engines.values()):
        return "in part", f"{traffic}; the engines do not report their versions", "name engine and version under [conditions]"
    return "kept", f"{traffic}; the engines' own description is recorded", ""


def _timing(measured: RecordData, _: Results) -> RuleAnswer:
    serving = measured.experiment.serving
    clients = count(serving.client.processes, "client process") if serving else ""
    return (
        "kept",
        (
            "a request's time runs from its due time, by a schedule made before the load, to the socket read that returned its text; "
            f"one host, one monotonic clock; client lag is reported, and a lagging client makes the record inadmissible ({clients})"
        ),
        "",
    )


def _bounds(_: RecordData, __: Results) -> RuleAnswer:
    remedy = "`assay doctor client` measures the client's limits; a hardware bound needs FLOP counts or bandwidth"
    return "in part", "shown against the offered load; no hardware bound was measured", remedy


METHODS = Methods(
    answers={3: _means, 8: _statistic, 9: _factors, 10: _timing, 11: _bounds},
    launches="a separate load from fresh client processes, in random order, with seeds shared within a block",
    run_times="per launch",
)
