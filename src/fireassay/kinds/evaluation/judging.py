"""What is the verdict on an evaluation?

INVALID: an audit found the record inadmissible.  With a margin, quality decides: FAIL if it was degraded at a configuration, PASS if it
was held at all of them, else INCONCLUSIVE.  Without one, MEASURED: every score has an interval; INCONCLUSIVE: one has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, show
from fireassay.frames.evaluation.item_scores import metric_of, requested
from fireassay.frames.evaluation.steps import steps_of
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.gates import status_of, words
from fireassay.kinds.evaluation.held import held, lowest
from fireassay.kinds.evaluation.steps import knee_rows
from fireassay.metrics.cost import COST
from fireassay.metrics.metric import Results
from fireassay.metrics.serving.latency import E2E_P50, TTFT_P50
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from fireassay.verdict.cost_words import cost_of_a_run, values_at
from fireassay.verdict.evidence.step_curve import KneeRow
from fireassay.verdict.judge import Judgement
from fireassay.verdict.judging import Evidence, Judging, Methods, RuleAnswer, forced, nothing_to_pick
from fireassay.verdict.phrases import in_words
from fireassay.verdict.types import HOLDS, DimensionResult, GateResult, Recommendation, Status, Verdict


def _normal(_: RecordData, __: Results) -> RuleAnswer:
    return "kept", "shares have Wilson's interval, means one that is corrected for skewness, other scores are resampled over items", ""


def _comparison(measured: RecordData, _: Results) -> RuleAnswer:
    if len(measured.configurations) < 2:
        return "not applicable", "one configuration only", ""
    if measured.experiment.quality is None:
        return "in part", "the sides answered the same items; without a margin no change was tested", "give a margin beforehand: --margin"
    return "kept", "the same items at both sides are paired, whole clusters together, against a margin that was fixed beforehand", ""


def _statistic(measured: RecordData, _: Results) -> RuleAnswer:
    return (
        "kept",
        f"{len(requested(measured))} scores over items are reported beside failures, answers cut off and those without a result",
        "",
    )


def _bounds(_: RecordData, __: Results) -> RuleAnswer:
    return (
        "in part",
        "shown against guessing where its score is known; no upper bound of these items was measured",
        "have people answer them",
    )


METHODS: Final = Methods(
    answers={6: _normal, 7: _comparison, 8: _statistic, 11: _bounds},
    launches="every side once, in random order; the items are the sample",
    run_times="per launch",
)


TIMES: Final = (OUTPUT_THROUGHPUT.name, TTFT_P50.name, E2E_P50.name)  # of the same requests
OF_CHOICES: Final = (REQUEST_THROUGHPUT.name, E2E_P50.name)  # where no token is generated
BADNESS: Final[tuple[Status, ...]] = ("FAIL", "INCONCLUSIVE", "NOT_MEASURED")
COSTS: Final = (COST.name,)
ALONE: Final = {"samples": ", of single samples", "candidates": ", of a random candidate"}
NOTHING_SENT = DimensionResult(status="NOT_MEASURED", sentence="the answers existed already; nothing was sent")


def status(evidence: Evidence, _: tuple[Recommendation, ...] = ()) -> Status:
    """One status for the record."""
    if (found := forced(evidence.findings)) is not None:
        return found
    if evidence.gates:
        worst = min(evidence.gates, key=_badness).status
        return "INCONCLUSIVE" if worst == "NOT_MEASURED" else worst
    if any(row.status == "INCONCLUSIVE" for row in knee_rows(evidence.data)):
        return "INCONCLUSIVE"
    values = [value for name in requested(evidence.data) for value in evidence.results.get(name, {}).values()]
    return "MEASURED" if values and all(isinstance(value, Estimate) for value in values) else "INCONCLUSIVE"


def _badness(gate: GateResult) -> int:
    """The worst gate first."""
    return BADNESS.index(gate.status) if gate.status in BADNESS else len(BADNESS)


def _dimensions(evidence: Evidence) -> Mapping[str, Mapping[str, DimensionResult]]:
    gates = {gate.configuration: gate for gate in sorted(evidence.gates, key=_badness, reverse=True)}
    return {
        name: {
            "correctness": _correctness(evidence, name, gates.get(name)),
            "performance": _performance(evidence, name),
            "cost": _cost(evidence, name),
            "reliability": _reliability(evidence, name),
        }
        for name in evidence.data.configurations
    }


def _correctness(evidence: Evidence, name: str, gate: GateResult | None) -> DimensionResult:
    scores = "; ".join((*_changed(evidence, name), scores_words(evidence.data, evidence.results, name)))
    if gate is not None:
        return DimensionResult(status=gate.status, sentence=f"{gate.sentence}; {scores}")
    values = [evidence.results[metric][name] for metric in requested(evidence.data) if metric in evidence.results]
    measured = bool(values) and all(isinstance(value, Estimate) for value in values)
    return DimensionResult(status="MEASURED" if measured else "INCONCLUSIVE", sentence=scores)


def _changed(evidence: Evidence, name: str) -> list[str]:
    """The change of each task against the base where no gate states it."""
    if evidence.data.experiment.quality is not None:
        return []
    tasks = held(evidence.data, name)
    return [words(task, None, len(tasks)) for task in tasks]


def _performance(evidence: Evidence, name: str) -> DimensionResult:
    """Times of the same requests, unless the load was not made as planned."""
    if evidence.data.experiment.serving is None:
        return NOTHING_SENT
    spoiled = [finding for finding in evidence.findings if finding.of_times and finding.configuration in (None, name)]
    if spoiled:
        return DimensionResult(status="INVALID", sentence=f"the times do not count: {spoiled[0].evidence}")
    speed = evidence.results.get(OUTPUT_THROUGHPUT.name, {}).get(name)
    why = next((value.detail for metric in OF_CHOICES if isinstance(value := evidence.results.get(metric, {}).get(name), Absent)), "")
    return _measured(evidence.results, name, TIMES if isinstance(speed, Estimate) else OF_CHOICES, why or "no time was measured")


def _cost(evidence: Evidence, name: str) -> DimensionResult:
    if evidence.data.experiment.serving is None:
        return NOTHING_SENT
    cost = cost_of_a_run(values_at(evidence.results, name), "pass")
    return DimensionResult(status="MEASURED" if cost else "NOT_MEASURED", sentence=cost or _why(evidence, name))


def _why(evidence: Evidence, name: str) -> str:
    value = evidence.results[COST.name].get(name)
    given = evidence.data.experiment.prices is not None
    return value.detail if given and isinstance(value, Absent) else "no price was given"


def _measured(results: Results, name: str, metrics: tuple[str, ...], nothing: str) -> DimensionResult:
    values = {metric: value for metric in metrics if isinstance(value := results.get(metric, {}).get(name), Estimate)}
    words = ", ".join(f"{metric} {show(value).full}" for metric, value in values.items())
    return DimensionResult(status="MEASURED" if values else "NOT_MEASURED", sentence=words or nothing)


def _reliability(evidence: Evidence, name: str) -> DimensionResult:
    bad = [finding for finding in evidence.findings if finding.configuration == name and finding.rule == "unanswered_items"]
    if not bad:
        return DimensionResult(status="PASS", sentence="every item was answered")
    return DimensionResult(status="INVALID" if bad[0].severity == "invalid" else "PASS", sentence=bad[0].evidence)


def scores_words(measured: RecordData, results: Results, configuration: str) -> str:
    """ "ROUGE-L 0.41 [0.38, 0.44], BLEU 31.2 [29.4, 33.0] over 300 items"."""
    values = [(metric_of(measured, name).title, results[name][configuration]) for name in requested(measured) if name in results]
    scores = ", ".join(
        f"{title}: {value.detail}" if isinstance(value, Absent) else f"{title} {show(value).full}" for title, value in values
    )
    items = {value.n_trials for _, value in values if isinstance(value, Estimate)}
    steps = steps_of(measured)
    alone = ALONE.get(steps.what, "") if steps is not None else ""
    return f"{scores} over {count(items.pop(), 'items')}{alone}" if len(items) == 1 else f"{scores}{alone}"


def _label(measured: RecordData, configuration: str) -> str:
    """A configuration is called by the name of its answers or of its engine."""
    return next((one.target for one in measured.varied if one.name == configuration and one.target), configuration)


def _sentence(evidence: Evidence, verdict: Verdict) -> str:
    measured, name = evidence.data, evidence.data.experiment.name
    if verdict.status in ("INVALID", "FAIL") and (
        worst := next((finding for finding in evidence.findings if finding.severity == verdict.status.lower()), None)
    ):
        quoted = ", no number of this record may be quoted" if verdict.status == "INVALID" else ""
        return f"{name}: {verdict.status}{quoted}: {worst.evidence}."
    word = "" if verdict.status in HOLDS else f"{verdict.status}: "
    gates = [gate for gate in evidence.gates if gate.status == verdict.status] or list(evidence.gates)
    gates.sort(key=lambda gate: (gate.gate != "held", lowest(measured, gate.configuration)))
    if gates:
        return f"{name}: {word}{_label(measured, gates[0].configuration)}: {gates[0].sentence}."
    if knees := knee_rows(measured):
        return f"{name}: {word}{'; '.join(_knee(evidence, row) for row in knees)}."
    several = len(measured.configurations) > 1
    changes = [
        f"{_label(measured, where)} against {_label(measured, measured.base)}: {change}"
        for where in measured.configurations
        for change in _changed(evidence, where)
    ]
    told = "; ".join(
        f"{f'{_label(measured, where)}: ' if several else ''}{scores_words(measured, evidence.results, where)}"
        for where in measured.configurations
    )
    return f"{name}: {word}{'; '.join((*changes, told))}."


def _knee(evidence: Evidence, row: KneeRow) -> str:
    """A curve's result, with its time where times count."""
    timed = not any(finding.of_times for finding in evidence.findings)
    where = f"{row.task} at {row.engine}: " if len(knee_rows(evidence.data)) > 1 else ""
    return f"{where}{row.sentence}{row.longer if timed else ''}"


JUDGING = Judging(
    dimensions=_dimensions,
    recommend=nothing_to_pick("scores alone recommend nothing: their cost was not measured"),
    status=status,
    sentence=_sentence,
    methods=METHODS,
)


# ---- the number that stands for it in a list -------------------------------------------------------------------------


def headline(measured: RecordData, judgement: Judgement) -> str:
    """The score of the worst side of those with the record's status, and whether it was held; of steps the knee; empty if something else decided."""
    status, first = judgement.verdict.status, next(iter(requested(measured)), "")
    if knees := knee_rows(measured):
        return knees[0].sentence.partition(";")[0]
    sides = [(task.low, name, task) for name in measured.configurations for task in held(measured, name) if status_of(task) == status]
    _, side, task = min(sides, key=lambda one: one[0], default=(0.0, measured.configurations[-1], None))
    if task is None and status == "FAIL":
        return ""
    value = judgement.results.get(first, {}).get(side)
    words = f"{metric_of(measured, first).title} {in_words(value)}" if value is not None else ""
    where = f" at {side}" if len(measured.configurations) > 1 else ""
    asked = task is not None and measured.experiment.quality is not None
    said = f", {task.decision.verdict.lower()}" if asked and task is not None and not isinstance(task.decision, Absent) else ""
    return f"{words}{where}{said}"
