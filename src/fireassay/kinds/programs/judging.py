"""What is the verdict on a program that spreads its work?  That on a training, with one layer of correctness: the result.

A result is right if it is that of the base in every round (`fireassay.frames.results`), or if its score is held.
"""

from __future__ import annotations

from dataclasses import replace

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.frames.results import compared
from fireassay.kinds.training.judging import JUDGING as OF_TRAININGS
from fireassay.kinds.training.judging import gains as gains
from fireassay.kinds.training.judging import headline as headline
from fireassay.verdict.judging import Evidence, Layers, Vector, dimensions
from fireassay.verdict.types import DimensionResult, LayerResult, LayerState

TITLE = "result"


def result(measured: RecordData, name: str) -> tuple[LayerState, str]:
    """Whether a configuration's result is the base's."""
    found = compared(measured).get(name)
    if found is None:
        return "not run", "no result was named; name its files: program.result (--result)"
    rounds = count(found.rounds, "rounds")
    if not found.other:
        return "pass", f"the same result as {measured.base} in {rounds}"
    words = f"another result than {measured.base} in {found.other} of {rounds}"
    if measured.experiment.quality is not None or not found.repeats:
        return "advice", words
    return "fail", words


def layers(evidence: Evidence) -> Layers:
    """configuration of several workers -> its one layer."""
    measured = evidence.data
    several = (name for name in measured.configurations if name != measured.base)
    return {
        name: (LayerResult(layer="result", title=TITLE, state=state, sentence=said),)
        for name in several
        for state, said in [result(measured, name)]
    }


def in_dimensions(evidence: Evidence) -> Vector:
    """The dimensions, with the result as the first one where no score is named."""
    return {name: {**row, "correctness": _correctness(evidence, name, row["correctness"])} for name, row in dimensions(evidence).items()}


def _correctness(evidence: Evidence, name: str, scored: DimensionResult) -> DimensionResult:
    state, said = result(evidence.data, name)
    if name == evidence.data.base and state == "pass":
        said = "its result is the reference"
    if evidence.data.experiment.quality is not None or scored.status == "FAIL":
        quality = scored.sentence.partition("; samples")[0]
        return replace(scored, sentence=quality if state == "not run" else f"{quality}; {said}")
    return DimensionResult(status="PASS" if state == "pass" else "NOT_MEASURED", sentence=said)


JUDGING = replace(OF_TRAININGS, dimensions=in_dimensions, layers=layers)
