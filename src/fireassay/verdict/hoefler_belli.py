"""Which of Hoefler and Belli's twelve rules does the record keep?

A rule is answered from what the run did, not from what the program can do. A rule that is not kept comes with a remedy.
Source: Hoefler & Belli, "Scientific Benchmarking of Parallel Computing Systems", SC'15, table of rules (the wording is ours).
For the artifact form see `fireassay.verdict.artifact`.
Cannot tell: whether the workload represents what the reader cares about.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from fireassay import catalog
from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import count, given, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.calls import TRIAL_TIME, of_calls
from fireassay.metrics.metric import ALL, Results
from fireassay.metrics.serving.latency import E2E_P50
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT
from fireassay.metrics.training.time import STEP_TIME, WALL_TIME
from fireassay.spec.plan import plan
from fireassay.stats.series.normality import shapiro, skewness
from fireassay.verdict.artifact import environment_facts, first_value
from fireassay.verdict.judge import Judgement
from fireassay.verdict.judging import NO_ENVIRONMENT, Answer, Methods, RuleAnswer
from fireassay.verdict.phrases import more_launches

ENOUGH_LAUNCHES = 5  # as in the audit `launches`


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule and its answer."""

    number: int
    demand: str
    answer: Answer
    evidence: str
    remedy: str = ""  # remedy; empty if the rule is kept


def checklist(measured: RecordData, judgement: Judgement) -> tuple[Rule, ...]:
    """All twelve rules in order."""
    results = of_calls(judgement.results) if measured.kind.times_calls else judgement.results
    methods: Methods = catalog.part("kinds", measured.kind.name, "judging", "JUDGING").methods
    answered = (methods.answers.get(number, usual)(measured, results) for number, usual in enumerate(USUAL, start=1))
    return tuple(
        Rule(number=number, demand=DEMANDS[number - 1], answer=answer, evidence=evidence, remedy=remedy)
        for number, (answer, evidence, remedy) in enumerate(answered, start=1)
    )


DEMANDS = (
    "A speedup states its base and the base's absolute performance",
    "A subset of the planned measurements is explained",
    "Costs are averaged arithmetically, rates harmonically",
    "Ratios are not averaged where costs or rates could be",
    "Variation is reported with intervals, or determinism is shown",
    "Normal distribution is not assumed without a check",
    "Comparisons are made with sound statistics",
    "The statistic fits the question: median and tails in addition to the mean",
    "Every factor and its levels, hardware and software are documented",
    "Parallel timing: measurement, synchronisation and summary are documented",
    "Performance is shown against an upper bound",
    "Charts show the data, and connect points only where interpolation is meaningful",
)


# ---- the rules ---------------------------------------------------------------------------------------------------


def _base(measured: RecordData, results: Results) -> RuleAnswer:
    speedups = [value for value in results.get("speedup", {}).values() if isinstance(value, Estimate)]
    if len(measured.levels) < 2 or not speedups:
        return "not applicable", "no speedup is reported", ""
    base = count(measured.experiment.base_level, "workers")
    time = first_value(results, (STEP_TIME.name, WALL_TIME.name), measured.base)
    if time is None:
        return "not kept", f"speedups are relative to {base}, whose absolute time was not measured", "measure the base"
    sentence = f"speedups are relative to the same program on {base}: {time}"
    return (
        "in part",
        f"{sentence}; whether a better serial program exists was not measured",
        ("measure the best serial program too, and compare the records with assay compare"),
    )


def _subset(measured: RecordData, _: Results) -> RuleAnswer:
    launches = measured.table("launches")
    status = dict(launches.group_by("status").len().iter_rows())
    bad = {name: number for name, number in status.items() if name != "ok"}
    sentence = f"every launch that was started is in the record ({launches.height:,})"
    if waiting := _never_started(measured):
        return (
            "not kept",
            f"{sentence}; {count(waiting, 'planned launches')} were never started ({measured.state} record)",
            "continue with assay resume",
        )
    if not bad:
        return "kept", f"{sentence}, all succeeded", ""
    kinds = ", ".join(f"{number} {name}" for name, number in sorted(bad.items()))
    unexplained = launches.filter((pl.col("status") != "ok") & (pl.col("reason") == "")).height
    if unexplained:
        return "not kept", f"{sentence}; {kinds}, {unexplained} without a reason", "check the logs in the record"
    return "kept", f"{sentence}; {kinds}, each with a reason", ""


def _never_started(measured: RecordData) -> int:
    """Planned launches without a row, except those that an adaptive run did not need."""
    if "looks_ended" in measured.manifest:
        return 0
    started = set(measured.table("launches")["slot"].to_list())
    return sum(planned.slot not in started for planned in plan(measured.experiment))


def _means(measured: RecordData, _: Results) -> RuleAnswer:
    return (
        "kept",
        (
            "a launch's value is the median of its trials, or work divided by time for a rate; the centre over a configuration's "
            "launches is their geometric mean, which is the same for a time and its rate; nothing is averaged across workloads"
        ),
        "",
    )


def _ratios(measured: RecordData, results: Results) -> RuleAnswer:
    if not any(isinstance(value, Estimate) for value in results.get("speedup", {}).values()):
        return "not applicable", "no ratio is reported", ""
    return (
        "kept",
        (
            "a ratio is taken within each round, between launches made close in time, and summarised only over rounds of the same "
            "pair of configurations; no mean across workloads or configurations is shown"
        ),
        "",
    )


def _determinism(measured: RecordData, results: Results) -> RuleAnswer:
    numbers = [value for row in results.values() for value in row.values() if isinstance(value, Estimate)]
    bounded = [value for value in numbers if value.low > float("-inf") and value.high < float("inf")]
    exact = sum(value.low == value.high for value in bounded)
    open_ended = len(numbers) - len(bounded)
    sentence = f"{count(len(bounded), 'numbers')} have an interval over launches, {exact} of them exact counts"
    if open_ended:
        return "in part", f"{sentence}; {count(open_ended, 'numbers')} from a single launch have none", "use more launches"
    return ("kept", sentence, "") if numbers else ("not applicable", "no number is reported", "")


def _normality(measured: RecordData, results: Results) -> RuleAnswer:
    value = _primary(measured, results)
    if value is None or len(value.launch_values) < 3 or min(value.launch_values) <= 0.0:
        return (
            "in part",
            "intervals use Student's t on logarithms; too few launches to test their distribution",
            ("use at least 5 launches per configuration"),
        )
    skewness, p_value = shape(value.launch_values)
    verdict = "does not reject" if p_value > 0.05 else "rejects"
    return (
        "in part",
        (
            f"intervals use Student's t on the logarithms of {count(len(value.launch_values), 'launch values')}; their "
            f"skewness is {given(skewness, 2)}, and the Shapiro-Wilk test {verdict} normality (p = {given(p_value, 2)}), "
            "with little power for so few values"
        ),
        "no test can settle this: more launches make the interval depend less on the distribution",
    )


def _comparison(measured: RecordData, results: Results) -> RuleAnswer:
    if len(measured.levels) < 2:
        return "not applicable", "one configuration only", ""
    each = (measured.timed.filter(pl.col("configuration") == name).height for name in measured.configurations)
    k = min(each, default=0)
    sentence = f"configurations are compared within randomised rounds, at least {count(k, 'launches')} each"
    if k < ENOUGH_LAUNCHES:
        return "not kept", f"{sentence}, which is too few", more_launches(measured, ENOUGH_LAUNCHES)
    return "kept", f"{sentence}, with intervals for paired differences", ""


def _statistic(measured: RecordData, results: Results) -> RuleAnswer:
    tails = [results.get(name, {}) for name in ("step_time_p95", "step_time_p99")]
    shown = [value for row in tails for value in row.values() if isinstance(value, Estimate)]
    if any(isinstance(value, Estimate) for value in results.get(STEP_TIME.name, {}).values()):
        if shown:
            return "kept", "the median step time is reported with its tails, each with an interval over launches", ""
        return (
            "in part",
            "the median step time is reported; the launches are too short or too few for its tails",
            ("run more steps per launch: the tail metrics say how many"),
        )
    return "in part", "only whole launches are timed, so the variation within them is unknown", "mark the steps"


def _factors(measured: RecordData, _: Results) -> RuleAnswer:
    sentence = environment_facts(measured)
    if not sentence:
        return NO_ENVIRONMENT
    extra = len(measured.experiment.conditions)
    if extra == 0:
        return (
            "in part",
            f"{sentence}; model, data and precision are known only from the script's digest",
            ("name them under [conditions] in the experiment"),
        )
    return "kept", f"{sentence}; {count(extra, 'conditions')} of the experiment are declared", ""


def _parallel_timing(measured: RecordData, _: Results) -> RuleAnswer:
    if max(measured.levels) < 2:
        return "not applicable", "no configuration has more than one worker", ""
    if measured.stepped.height == 0:
        return (
            "in part",
            ("whole launches were timed from outside, from the start of the first process to the end of the last, on one monotonic clock"),
            "mark the steps (from fireassay import probe)",
        )
    nodes = measured.experiment.launcher.nodes
    clocks = "one host, one monotonic clock" if nodes == 1 else f"{nodes} nodes, each with its own monotonic clock"
    return (
        "kept",
        (
            f"step time is that of the slowest rank, from before its wait for data to the next step; {clocks}; values of every "
            "rank are kept; no barrier is added"
        ),
        "",
    )


def _bounds(measured: RecordData, results: Results) -> RuleAnswer:
    ceiling = results.get("amdahl_ceiling", {}).get(ALL)
    if not isinstance(ceiling, Estimate):
        return (
            "in part",
            "shown against linear speedup; no hardware bound (FLOP/s, bandwidth) was measured",
            "a hardware bound needs FLOP counts or a communication measurement",
        )
    return (
        "in part",
        (f"shown against linear speedup and Amdahl's ceiling {show(ceiling).full}; no hardware bound was measured"),
        "a hardware bound needs FLOP counts or a communication measurement",
    )


def _charts(_: RecordData, __: Results) -> RuleAnswer:
    return (
        "kept",
        ("every launch is a dot next to its interval; lines connect points only along a fitted model or one launch's steps"),
        "",
    )


USUAL = (_base, _subset, _means, _ratios, _determinism, _normality, _comparison, _statistic, _factors, _parallel_timing, _bounds, _charts)


def shape(values: tuple[float, ...]) -> tuple[float, float]:
    """Skewness, and Shapiro-Wilk p-value, of the logarithms of 3 or more positive values."""
    logs = [math.log(value) for value in values]
    if min(logs) == max(logs):
        return 0.0, 1.0
    return skewness(logs), shapiro(logs)[1]


# ---- the primary number -------------------------------------------------------------------------------------------


def _primary(measured: RecordData, results: Results) -> Estimate | None:
    """The base's time per call, step, launch or request."""
    values: list[Value | None] = [
        results.get(name, {}).get(measured.base)
        for name in (TRIAL_TIME.name, STEP_TIME.name, WALL_TIME.name, E2E_P50.name, OUTPUT_THROUGHPUT.name)
    ]
    return next((value for value in values if isinstance(value, Estimate)), None)
