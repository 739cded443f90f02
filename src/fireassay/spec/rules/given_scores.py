"""Which keys of [evaluation.given], [evaluation.best_of] and of sides in one file contradict each other?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, did_you_mean, shown
from fireassay.spec.rules.partial import Demand, repeated, right
from fireassay.spec.sections.given_scores import AMOUNT, EVERY, MAX_NAME, RESERVED, GivenScores, bounds_of

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

FIELDS: Final = "evaluation.given.fields"
BEST: Final = "evaluation.best_of.candidates"
SIDE: Final = "evaluation.fields.side"


def _given(experiment: Experiment) -> Iterator[Problem]:
    evaluation = experiment.evaluation
    if evaluation is None or evaluation.given is None:
        return
    given = evaluation.given
    names = [name for _, name in right(given.fields)]
    if experiment.workload.runner != "answers":
        yield Problem(FIELDS, shown(names), "scores in files, of answers that exist already", "Use: assay score FILE --score-field NAME")
    for name in repeated([*names, *evaluation.metrics]):
        yield Problem(FIELDS, f"{name} twice", "each score once")
    for name in names:
        if not name.strip() or not name.isprintable() or "|" in name or len(name) > MAX_NAME or name.startswith(AMOUNT) or name == RESERVED:
            allowed = f'the name of a field: 1 to {MAX_NAME} printable characters without "|", and not {RESERVED}'
            yield Problem(FIELDS, shown(name), allowed, "Rename the column.")
    yield from _declared(given, names)
    if evaluation.majority:
        yield Problem("evaluation.majority", "true", "false: scores of another program have no answer to vote for", "Remove it.")


def _declared(given: GivenScores, names: list[str]) -> Iterator[Problem]:
    """Scales and directions of fields that are scores."""
    for name, text in given.scales.items():
        if name != EVERY and name not in names:
            yield Problem("evaluation.given.scales", shown(name), f"one of {', '.join(names)}", did_you_mean(name, names))
        if bounds_of(text) is None:
            yield Problem("evaluation.given.scales", shown(text), "LOW,HIGH, of which one may be infinite, as in 0,1 or 0,inf")
    for name in given.lower_is_better:
        if name not in names:
            fix = did_you_mean(name, names) or f"As in --lower-is-better {names[0] if names else 'loss'}, before or behind the file."
            yield Problem("evaluation.given.lower_is_better", shown(name), f"one of {', '.join(names)}", fix)


def _best_of(experiment: Experiment) -> Iterator[Problem]:
    evaluation = experiment.evaluation
    if evaluation is None or evaluation.best_of is None:
        return
    most, serving = evaluation.best_of.candidates, experiment.serving
    if evaluation.steps.levels:
        yield Problem(BEST, shown(most), "none together with evaluation.steps", "Compare steps, or candidates, not both in one record.")
    if evaluation.majority:
        yield Problem(BEST, shown(most), "none together with evaluation.majority", "A vote chooses otherwise than a score does.")
    if serving is None:
        if not evaluation.fields.id:
            fix = "As in --id prompt: lines with one id are the candidates for one item."
            yield Problem("evaluation.fields.id", NOTHING, "the field that identifies an item, for the best of its candidates", fix)
        return
    if evaluation.best_of.amounts:
        name = next(iter(evaluation.best_of.amounts))
        yield Problem(
            f"evaluation.best_of.{name}", shown(evaluation.best_of.amounts[name]), "none of an engine: its requests are timed and priced"
        )
    if most > experiment.launches.per_configuration:
        fix = f"Set launches.per_configuration = {most} or more (--repetitions)."
        yield Problem(BEST, shown(most), f"at most the {experiment.launches.per_configuration} answers to each item", fix)
    if serving.temperature == 0.0:
        fix = "Leave --temperature out (0.8 then)."
        yield Problem("serving.temperature", "0", "above 0 for candidates: greedy answers are copies of one", fix)


def _sides(experiment: Experiment) -> Iterator[Problem]:
    evaluation = experiment.evaluation
    if evaluation is None:
        return
    sides = [file.side for _, file in right(evaluation.answers)]
    if evaluation.fields.side and not evaluation.fields.id:
        fix = "As in --id prompt: the sides are paired by it."
        yield Problem("evaluation.fields.id", NOTHING, f"the field that identifies an item at every {evaluation.fields.side}", fix)
    if evaluation.fields.side and not all(sides):
        yield Problem(SIDE, shown(evaluation.fields.side), 'a value of it as "side" in each of evaluation.answers', "assay score does it.")


GIVEN_RULES = (
    _given,
    _best_of,
    _sides,
    Demand(
        SIDE,
        lambda e: e.evaluation is not None and not e.evaluation.fields.side and any(file.side for _, file in right(e.evaluation.answers)),
        'the field that holds the sides, where evaluation.answers have "side"',
        'Write side = "model" below [evaluation.fields].',
        found=NOTHING,
    ),
)
