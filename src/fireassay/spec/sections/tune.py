"""Which knobs are tuned, does each have an effect, and what is the experiment with knobs set?

The table [tune] of an experiment for `assay tune`:

    [workload]
    script = "train.py"
    arguments = ["--bucket-mb", "{bucket_mb}", "--loaders", "{loaders}"]

    [tune.knobs]
    bucket_mb = [25, 1, 100]      # the first is today's value
    loaders = [0, 2, 4]

In the workload's arguments and variables, a knob's name in braces is replaced by its value.
A candidate is an ordinary experiment: its knob values appear in its arguments and variables, and again in its conditions.
Its name is <name>-<round>-<number of the candidate>.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from fireassay.errors import Problem, refuse, refuse_any
from fireassay.spec.model import NAME_PATTERN, Fraction, Model, listed

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment


Setting = str | int | float | bool
Values = Annotated[tuple[Setting, ...], BeforeValidator(listed)]
KnobName = Annotated[str, Field(pattern=NAME_PATTERN)]
RESERVED = ("workers", "seed", "launch")  # placeholders filled in per launch


class Tune(Model):
    """Knobs and how they are tuned."""

    knobs: dict[KnobName, Values] = Field(
        min_length=1, description="Knob -> its values; the first is today's, the baseline for all others."
    )
    combine: Literal["auto", "grid", "one"] = Field(
        "auto",
        description="grid: every combination. one: every value of one knob with the others as today, then the best of all together. "
        "auto: grid if it has at most at_most arms.",
    )
    at_most: int = Field(16, ge=2, le=1000, description="Maximum number of arms.")
    first_blocks: int = Field(2, ge=1, le=100, description="Launches of every arm in the first round; each later round has twice as many.")
    keep: Fraction = Field(0.5, description="Share of the arms that advances to the next round, at least one.")
    final_blocks: int = Field(
        5, ge=2, le=1000, description="Launches of the best arm and of today's in the last round, which alone is decisive."
    )


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One value for each knob."""

    settings: Mapping[str, Setting]
    label: str  # difference from today's settings, or "today"


TODAY = "today"


def choices(tune: Tune) -> tuple[Choice, ...]:
    """Candidates of the first round, today's first; at most `at_most`, in written order."""
    every = tuple(itertools.islice(_choices(tune), tune.at_most))
    return tuple(Choice(settings=settings, label=label(tune, settings)) for settings in every)


def left_out(tune: Tune) -> int:
    """Number of combinations beyond the limit."""
    return max(0, sum(1 for _ in _choices(tune)) - tune.at_most)


def today(tune: Tune) -> dict[str, Setting]:
    """Today's settings: the first value of every knob."""
    return {name: values[0] for name, values in tune.knobs.items()}


def label(tune: Tune, settings: Mapping[str, Setting]) -> str:
    """The difference from today's settings."""
    base = today(tune)
    return " ".join(f"{name}={shown(value)}" for name, value in settings.items() if value != base[name]) or TODAY


def shown(value: Setting) -> str:
    """A value as an argument: six digits if exact, else all."""
    if not isinstance(value, float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def is_grid(tune: Tune) -> bool:
    """True if every combination is tried."""
    size = 1
    for values in tune.knobs.values():
        size *= len(values)
    return tune.combine == "grid" or (tune.combine == "auto" and size <= tune.at_most)


def _choices(tune: Tune) -> Iterator[dict[str, Setting]]:
    if is_grid(tune):
        for values in itertools.product(*tune.knobs.values()):
            yield dict(zip(tune.knobs, values, strict=True))
        return
    base = today(tune)
    yield base
    for name, values in tune.knobs.items():
        for value in values[1:]:
            yield {**base, name: value}


MIN_VALUES: Final = 2
MAX_NAME_LENGTH: Final = 64  # of the experiment's part of a candidate's name
SEEDS_APART: Final = 1000  # between rounds, so that no two share seeds


def check(experiment: Experiment) -> Tune:
    """The knobs, if each has an effect. Raises SpecError: no knobs, or one that is never used."""
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
        if len(values) < MIN_VALUES:
            yield Problem(where, listed, f"at least {MIN_VALUES} values, the first of them today's")
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
            "name": f"{experiment.name[:MAX_NAME_LENGTH]}-{place}-{number}",
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
    while arms > MIN_VALUES:
        yield arms, blocks
        arms, blocks = 1 + survivors_at_most(arms - 1, tune.keep), 2 * blocks
    together = 0 if is_grid(tune) or len(tune.knobs) < MIN_VALUES else 1
    yield arms + together, tune.final_blocks
