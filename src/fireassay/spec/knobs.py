"""Does every knob of a tuning have an effect, and what is the experiment with knobs set?

A candidate is an ordinary experiment: its knob values appear in its arguments and variables, and again in its conditions.
Its name is <name>-<round>-<number of the candidate>.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fireassay.errors import Problem, refuse, refuse_any
from fireassay.spec.sections.tune import RESERVED, Choice, Tune, choices, is_grid, shown

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

FEWEST_VALUES: Final = 2
LONGEST_NAME: Final = 64  # of the experiment's part of a candidate's name
SEEDS_APART: Final = 1000  # between rounds, so that no two share seeds


def check(experiment: Experiment) -> Tune:
    """The knobs, if each has an effect.

    Raises:
        SpecError: no knobs, or one that is never used.
    """
    tune = experiment.tune
    if tune is None:
        raise refuse(
            "tune",
            "nothing",
            "knobs and their values",
            "[tune.knobs] batch = [64, 128, 256], and {batch} in workload.arguments; the first value is today's.",
        )
    refuse_any(_problems(experiment, tune))
    return tune


def _problems(experiment: Experiment, tune: Tune) -> Iterator[Problem]:
    words = [*experiment.workload.arguments, *experiment.workload.environment.values()]
    for name, values in tune.knobs.items():
        where, listed = f"tune.knobs.{name}", ", ".join(map(shown, values)) or "none"
        if name in RESERVED:
            yield Problem(where, repr(name), "another name: a launch fills this one in itself")
        elif not any(f"{{{name}}}" in word for word in words):
            yield Problem(
                where,
                f"{{{name}}} in no argument",
                "a knob that stands in workload.arguments or workload.environment",
                f'For example: arguments = ["--{name.replace("_", "-")}", "{{{name}}}"].',
            )
        if len(values) < FEWEST_VALUES:
            yield Problem(where, listed, f"at least {FEWEST_VALUES} values, the first of them today's")
        if len(set(map(shown, values))) < len(values):
            yield Problem(where, listed, "every value once")


def arm(experiment: Experiment, choice: Choice, blocks: int, place: int, number: int) -> Experiment:
    """The experiment with the knobs set, for `blocks` launches of each configuration."""

    def filled(word: str) -> str:
        for name, value in choice.settings.items():
            word = word.replace(f"{{{name}}}", shown(value))
        return word

    workload = experiment.workload.model_copy(
        update={
            "arguments": tuple(filled(word) for word in experiment.workload.arguments),
            "environment": {name: filled(value) for name, value in experiment.workload.environment.items()},
        }
    )
    launches = experiment.launches.model_copy(
        update={"per_configuration": blocks, "precision": None, "seed": experiment.launches.seed + SEEDS_APART * place}
    )
    return experiment.model_copy(
        update={
            "name": f"{experiment.name[:LONGEST_NAME]}-{place}-{number}",
            "workload": workload,
            "launches": launches,
            "tune": None,
            "faults": (),
            "conditions": {**experiment.conditions, **choice.settings},
        }
    )


def varying(experiment: Experiment, tune: Tune) -> tuple[str, ...]:
    """The conditions that vary: the knobs, and the keys that hold them."""
    names = [f"conditions.{name}" for name in tune.knobs]
    if any("{" in word for word in experiment.workload.arguments):
        names.append("workload.arguments")
    if any("{" in word for word in experiment.workload.environment.values()):
        names.append("workload.environment")
    return tuple(names)


def survivors_at_most(arms: int, keep: float) -> int:
    """How many candidates besides today's survive a round."""
    return max(1, math.floor(arms * keep)) if arms else 0


def rounds_at_most(tune: Tune) -> tuple[tuple[int, int], ...]:
    """(candidates including today's, launches of each) per round, the last included, if none is dropped early."""
    return tuple(rounds_after(tune, len(choices(tune)), tune.first_blocks))


def rounds_after(tune: Tune, arms: int, blocks: int) -> Iterator[tuple[int, int]]:
    """The same, starting from a round of `arms` candidates and `blocks` launches."""
    while arms > FEWEST_VALUES:
        yield arms, blocks
        arms, blocks = 1 + survivors_at_most(arms - 1, tune.keep), 2 * blocks
    together = 0 if is_grid(tune) or len(tune.knobs) < FEWEST_VALUES else 1
    yield arms + together, tune.final_blocks
