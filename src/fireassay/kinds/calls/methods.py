"""How are calls measured, in the terms of Hoefler and Belli's rules?"""

from __future__ import annotations

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.artifact import environment_facts
from fireassay.verdict.judging import NO_ENVIRONMENT, Methods, RuleAnswer


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
