"""Did few enough items change, for better or worse?

The cap quality.max_flip_rate bounds what an equal mean hides.  The share of answers that score otherwise than the reference's has one-sided
bounds over items, whole clusters as units: PASS below the cap, FAIL above it.  Sampling alone changes answers: the reference against
itself, if it was asked more than once, is told too.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.format import count, percent, show
from fireassay.frames.evaluation.flipped import Flips, between
from fireassay.frames.evaluation.item_scores import Answers, deciding, tasks
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.spec.experiment import Quality
from fireassay.verdict.gates.support.gate import Gate
from fireassay.verdict.types import GateResult, Status


def check(measured: RecordData, _: Results) -> tuple[GateResult, ...]:
    """One result for each task of each configuration but the base; none without a cap."""
    base = (measured, measured.base)
    sides = [(measured, name) for name in measured.configurations if name != measured.base]
    return tuple(result for side in sides for result in of_sides(base, side, measured.experiment.quality, measured.confidence))


def of_sides(before: Answers, after: Answers, quality: Quality | None, confidence: float) -> Iterator[GateResult]:
    """One result for each task of the reference's record."""
    if quality is None or quality.max_flip_rate is None:
        return
    for task in tasks(before[0]):
        metric = deciding(before[0], task)
        found, itself = between(before, after, task, metric), between(before, before, task, metric)
        if found is not None:
            where = f"{task}: " if len(tasks(before[0])) > 1 else ""
            yield _of(after[1], where, found, itself, quality.max_flip_rate, confidence)


def _of(configuration: str, where: str, found: Flips, itself: Flips | None, cap: float, confidence: float) -> GateResult:
    value = found.estimate(confidence)
    status: Status = "PASS" if value.high <= cap else "FAIL" if value.low > cap else "INCONCLUSIVE"
    shown = f"{show(value, beside=(cap,)).full} of {count(value.n_trials, 'items')} score otherwise, one-sided bounds"
    floor = "" if itself is None else f"; the reference's own answers in {percent(itself.share)}"
    return GateResult(
        gate="flips", configuration=configuration, status=status, sentence=f"{where}{shown}, at most {percent(cap)} may{floor}"
    )


GATE = Gate(name="flips", question="Did few enough items change?", check=check, about=("evaluation",))
