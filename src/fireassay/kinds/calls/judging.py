"""What is the verdict on a record that only times a command or a function?

It claims only a time: quality, cost and reliability are not measured, and their absence decides
nothing.  MEASURED: there is an interval over launches, or one launch was asked for (`launches.quick`).
INCONCLUSIVE: fewer than 3 launches ended.  INVALID: as for every record.
"""

from __future__ import annotations

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, percent, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.artifact import environment_facts
from fireassay.verdict.gates.gate import MIN_LAUNCHES, too_few
from fireassay.verdict.judging import NO_ENVIRONMENT, Evidence, Judging, Methods, RuleAnswer, dimensions, forced, nothing_to_pick
from fireassay.verdict.types import Recommendation, Status, Verdict


def _statistic(_: RecordData, __: Results) -> RuleAnswer:
    return "kept", "the median of a launch's trials is reported with the fastest and slowest trial; outliers are counted", ""


def _factors(measured: RecordData, _: Results) -> RuleAnswer:
    facts = environment_facts(measured)
    if not facts:
        return NO_ENVIRONMENT
    if declared := len(measured.experiment.conditions):
        return "kept", f"{facts}; {count(declared, 'conditions')} of the experiment are declared", ""
    remedy = "name them with --name, or time a script that contains them"
    return "in part", f"{facts}; its inputs (files, settings) are known only from the command line", remedy


def _bounds(_: RecordData, __: Results) -> RuleAnswer:
    remedy = "a hardware bound needs FLOP counts or the bytes moved"
    return "in part", "reported with the cost of an empty call or start; no hardware bound was measured", remedy


def _charts(_: RecordData, __: Results) -> RuleAnswer:
    return "not applicable", "the report of a timing has no chart", ""


METHODS = Methods(
    answers={8: _statistic, 9: _factors, 11: _bounds, 12: _charts}, launches="fresh processes", seeded=False, run_times="none"
)


def the_time(results: Results) -> Value:
    """The time of a call; a timing has one configuration."""
    return next(iter(results["trial_time"].values()))


def status(evidence: Evidence, _: tuple[Recommendation, ...]) -> Status:
    """One status for a record that only times."""
    if forced(evidence.findings) == "INVALID":
        return "INVALID"
    values = list(evidence.results["trial_time"].values())
    value = values[0]
    if isinstance(value, Estimate) and evidence.data.experiment.launches.quick:
        return "MEASURED"
    few = any(isinstance(value, Absent) or value.n_launches < MIN_LAUNCHES for value in values)
    return "INCONCLUSIVE" if few else "MEASURED"


def sentence(evidence: Evidence, verdict: Verdict) -> str:
    """The quotable sentence of a timing."""
    name, value = evidence.data.experiment.name, the_time(evidence.results)
    if verdict.status == "INVALID":
        worst = next(finding for finding in evidence.findings if finding.severity == "invalid")
        return f"{name}: INVALID, no number of this record may be quoted: {worst.evidence}."
    if len(evidence.results["trial_time"]) > 1:
        return _of_several(name, evidence, verdict)
    if isinstance(value, Absent):
        return f"{name}: INCONCLUSIVE: {value.detail}."
    if verdict.status == "INCONCLUSIVE":
        return f"{name}: INCONCLUSIVE: {show(value).text}; {too_few(value.n_launches)}."
    return f"{name}: {claim(value)}. Only time was measured: no quality, cost or reliability."


def _of_several(name: str, evidence: Evidence, verdict: Verdict) -> str:
    """The sentence of benchmarks that another program timed."""
    values = list(evidence.results["trial_time"].values())
    enough = sum(isinstance(value, Estimate) and value.n_launches >= MIN_LAUNCHES for value in values)
    status = "" if verdict.status == "MEASURED" else f"{verdict.status}: "
    title = (evidence.data.foreign or {}).get("title")
    return f"{name}: {status}{enough} of {count(len(values), 'benchmarks')} timed by {title} have an interval over {MIN_LAUNCHES} launches or more."


def claim(value: Estimate) -> str:
    """The number, its interval and its sample."""
    return (
        f"{show(value).full} a call ({percent(value.confidence, 4)} over {count(value.n_launches, 'launches')}, "
        f"{count(value.n_trials, 'trials')} in all)"
    )


JUDGING = Judging(
    dimensions=dimensions,
    recommend=nothing_to_pick("a record of calls compares no configurations of a workload"),
    status=status,
    sentence=sentence,
    methods=METHODS,
)
