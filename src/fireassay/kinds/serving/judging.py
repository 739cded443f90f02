"""What is the verdict on a load on serving engines?

INVALID: an audit found that something other than the server was measured, or that requests are unaccounted for.
FAIL: responses were misrouted, agreement is below the required grade, a fault was not survived, or no load passes its
gates.  INCONCLUSIVE: the intervals straddle a requirement, or too few launches ended.  PASS: at least one load passes every
gate, and the largest of each engine and scenario is recommended.  Without a gate (no objectives, quality or budget) there is nothing
to pass: PASS then means that every load was measured validly, and every sentence says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.kinds.serving.dimensions import dimensions, gated, unmeasured
from fireassay.kinds.serving.recommendation import recommend
from fireassay.kinds.serving.sentence import sentence
from fireassay.metrics.metric import Results
from fireassay.metrics.serving.latency import E2E_P50, E2E_P95, E2E_P99, TTFT_P95, TTFT_P99
from fireassay.verdict.artifact import environment_facts
from fireassay.verdict.judge import Judgement
from fireassay.verdict.judging import NO_ENVIRONMENT, Evidence, Judging, Methods, RuleAnswer, admissible, forced
from fireassay.verdict.phrases import in_words
from fireassay.verdict.types import Recommendation, Status


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


def status(evidence: Evidence, _: tuple[Recommendation, ...] = ()) -> Status:
    """One status for the record."""
    data, findings, gates = evidence.data, evidence.findings, evidence.gates
    if (already := forced(findings, gates)) is not None:
        return already
    if not gated(gates):
        return "PASS" if not unmeasured(data, evidence.results) else "INCONCLUSIVE"
    standings = [admissible(name, findings, gates) for name in data.configurations]
    if "PASS" in standings:
        return "PASS"
    return "FAIL" if all(standing == "FAIL" for standing in standings) else "INCONCLUSIVE"


JUDGING = Judging(dimensions=dimensions, recommend=recommend, status=status, sentence=sentence, methods=METHODS)


# ---- the number that stands for it in a list -------------------------------------------------------------------------


RATES = (("output_throughput", "tok/s"), ("request_throughput", "requests/s"))


def headline(measured: RecordData, judgement: Judgement) -> str:
    """ "2,700 [2,650, 2,750] tok/s at rate=8"; requests where the reply has no tokens."""
    for metric, unit in RATES:
        values = judgement.results.get(metric, {})
        known = [name for name in measured.configurations if isinstance(values.get(name), Estimate)]
        if known:
            pick = judgement.verdict.recommended
            name = pick if pick in known else known[-1]
            return f"{in_words(values[name], unit)}{f' at {name}' if len(values) > 1 else ''}"
    return ""
