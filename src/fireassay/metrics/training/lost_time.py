"""What makes a step longer than a perfect split of the work over the workers?

Per block: a part of the step less the base's, divided by the workers if the total work is fixed (`fireassay.frames.training.lost_time`).
The parts are means over steps and add up to step_time_mean - step_time_mean(base) base / p; what the launches' parts do not explain is the
last of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import average, no_launch
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.lost_time import StepParts, step_parts
from fireassay.frames.training.work import MARK_STEPS
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.training.time import STEP_TIME_MEAN
from fireassay.units import SECONDS

BASE: Final = Absent("not_applicable", "this is the base, which loses nothing against itself")
NO_SPLIT: Final = Absent("not_applicable", "the work of a step is neither fixed in total nor per worker, so no split is perfect")
ENTANGLED: Final = Absent("not_measured", "exposed communication was not measured, so computing and communication are one part")
UNKNOWN: Final = Absent("not_measured", "some steps lack this part; mark the steps: for batch in probe.steps(loader)")
NO_PARTNER: Final = Absent("insufficient", "no round has steady steps of both the base and this configuration")
NAMES: Final[Mapping[str, str]] = {  # of the parts where they are summed up
    "computing": "computing that did not shrink",
    "transfer": "exposed transfer",
    "waiting": "waiting for slower ranks, per rank",
    "pauses": "waiting for a rank that saves or evaluates",
    "data": "waiting for data",
    "uneven": "a longer step of one rank, not waited for",
    "unexplained": "not explained",
}
UNEXPLAINED: Final = "lost_unexplained"
LOST = (  # part, title, formula, question, caveat
    (
        "computing",
        "Computing that did not shrink",
        "computing(p) - computing(base) base / p",
        "How much longer do forward, backward and optimizer take than a perfect split of the base's would?",
        "Serial work, contention for processors and memory, and smaller, less efficient batches all count.",
    ),
    (
        "transfer",
        "Exposed transfer",
        "transfer(p) - transfer(base) base / p",
        "How much does moving data between ranks lengthen a step?",
        "Transfer is taken for hidden before waiting; a wait that all ranks share counts as transfer.",
    ),
    (
        "waiting",
        "Waiting for slower ranks, per rank",
        "max(0, comm_exposed - comm_transfer), of p less that of the base",
        "How long does a rank wait in a step for slower ranks?",
        "The mean over ranks; the rank that waits least is the one waited for.",
    ),
    (
        "pauses",
        "Waiting for a rank that saves or evaluates",
        "mean over steps of the waiting for a pause of some ranks, of p less that of the base",
        "How long do ranks wait for one that saves a checkpoint or evaluates while they do not?",
        "Pauses of every rank are in no step time; what a pause of one rank costs the others is.",
    ),
    (
        "data",
        "Waiting for data beyond the base's share",
        "data(p) - data(base) base / p",
        "How much does the wait for batches lengthen a step?",
        "A prefetching loader hides the cost of loading.",
    ),
    (
        "uneven",
        "A longer step of one rank, not waited for",
        "mean step of the slowest rank - mean over ranks, of p less that of the base",
        "How much longer is the slowest rank's mean step than that of the mean rank?",
        "Ranks that meet in every step have equal means, pauses apart.",
    ),
)


def _ratio(measured: RecordData) -> Mapping[str, float] | None:
    """configuration -> share of the base's step that a perfect split leaves."""
    if measured.mode not in ("strong", "weak"):
        return None
    base = measured.experiment.base_level
    pairs = zip(measured.configurations, measured.levels, strict=True)
    return {name: base / level if measured.mode == "strong" else 1.0 for name, level in pairs}


def _pairs(measured: RecordData, configuration: str) -> list[tuple[StepParts, StepParts]]:
    """The parts of base and configuration in every block with both."""
    parts = step_parts(measured)
    of_base = {block: parts[launch] for launch, block in measured.timed_by_block.get(measured.base, ()) if launch in parts}
    others = measured.timed_by_block.get(configuration, ())
    return [(of_base[block], parts[launch]) for launch, block in others if launch in parts and block in of_base]


def _each(measured: RecordData, _: Results, *, part: str) -> Mapping[str, Value]:
    ratios = _ratio(measured)
    return {name: _lost(measured, name, part, ratios[name] if ratios else None) for name in measured.configurations}


def _lost(measured: RecordData, configuration: str, part: str, ratio: float | None) -> Value:
    if configuration == measured.base:
        return BASE
    if ratio is None:
        return NO_SPLIT
    if not measured.timed_by_block.get(configuration):
        return no_launch(configuration)
    if not step_parts(measured):
        return Absent("not_measured", MARK_STEPS)
    pairs = _pairs(measured, configuration)
    if not pairs:
        return NO_PARTNER
    lost = [_excess(base.parts[part], other.parts[part], ratio) for base, other in pairs]
    known = [value for value in lost if value is not None]
    if len(known) < len(lost):
        return ENTANGLED if part in ("transfer", "waiting") else UNKNOWN
    steps = sum(base.steps + other.steps for base, other in pairs)
    return average(
        known, measured.confidence, unit=SECONDS, name=f"lost_{part}", n_trials=steps, aggregate=f"{part} of a step beyond the base's share"
    )


def _excess(base: float | None, other: float | None, ratio: float) -> float | None:
    return None if base is None or other is None else other - base * ratio


def _unexplained(measured: RecordData, results: Results) -> Mapping[str, Value]:
    """The step time beyond a perfect split, less every other part; its spread is that of the time in no phase."""
    ratios, between = _ratio(measured), _each(measured, results, part="between")
    return {name: _rest(results, measured.base, name, between[name], ratios[name] if ratios else 1.0) for name in measured.configurations}


def _rest(results: Results, base: str, configuration: str, between: Value, ratio: float) -> Value:
    whole, whole_base = results[STEP_TIME_MEAN.name].get(configuration), results[STEP_TIME_MEAN.name].get(base)
    if isinstance(between, Absent) or not isinstance(whole, Estimate) or not isinstance(whole_base, Estimate):
        return between if isinstance(between, Absent) else Absent("not_measured", MARK_STEPS)
    found = [results[f"lost_{part}"][configuration] for part, *_ in LOST]
    rest = whole.value - whole_base.value * ratio - sum(value.value for value in found if isinstance(value, Estimate))
    shift = rest - between.value
    return replace(
        between,
        value=rest,
        low=between.low + shift,
        high=between.high + shift,
        method=f"step_time_mean beyond a perfect split less the other parts; spread: {between.method}",
        signature=between.signature.replace("lost_between", UNEXPLAINED),
        launch_values=tuple(value + shift for value in between.launch_values),
    )


measure = partial(Metric, unit=SECONDS, kind="cost", better="lower", dimension="performance", about=("training",))
METRICS = (
    *(
        measure(
            name=f"lost_{part}",
            title=title,
            formula=formula,
            compute=partial(_each, part=part),
            question=question,
            caveat=caveat,
            rank=rank,
        )
        for rank, (part, title, formula, question, caveat) in enumerate(LOST, 1470)
    ),
    measure(
        name=UNEXPLAINED,
        title="Lost time not explained",
        formula="step_time_mean(p) - step_time_mean(base) base / p - the other parts",
        compute=_unexplained,
        question="How much of what a step loses against a perfect split has no name?",
        caveat="Time in no phase.",
        rank=1476,
    ),
)
LOST_COMPUTING, LOST_TRANSFER, LOST_WAITING, LOST_PAUSES, LOST_DATA, LOST_UNEVEN, LOST_UNEXPLAINED = METRICS


def part_of(metric: Metric) -> str:
    """The part of a step of which a metric of this family is the loss."""
    return metric.name.removeprefix("lost_")
