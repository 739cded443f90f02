"""What may be turned, and how is it tried out?  The table [tune] of an experiment that `assay tune` runs.

    [workload]
    script = "train.py"
    arguments = ["--bucket-mb", "{bucket_mb}", "--loaders", "{loaders}"]

    [tune.knobs]
    bucket_mb = [25, 1, 100]      # the first is what is used today
    loaders = [0, 2, 4]

A knob's name in braces stands for its value in the workload's arguments and variables.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from assay.spec.model import NAME_PATTERN, Model, listed

Setting = str | int | float | bool
Values = Annotated[tuple[Setting, ...], BeforeValidator(listed)]
KnobName = Annotated[str, Field(pattern=NAME_PATTERN)]
RESERVED = ("workers", "seed", "launch")  # placeholders that a launch fills in


class Tune(Model):
    """Knobs and how they are tried out."""

    knobs: dict[KnobName, Values] = Field(
        min_length=1, description="Knob -> its values; the first is the one that is used today, which everything is held against."
    )
    combine: Literal["auto", "grid", "one"] = Field(
        "auto",
        description="grid: every combination. one: every value of one knob with the others as today, then the best of all together. "
        "auto: grid where it is at most at_most.",
    )
    at_most: int = Field(16, ge=2, le=1000, description="Most arms that are tried out.")
    first_blocks: int = Field(2, ge=1, le=100, description="Launches of every arm in the first round; each later round has twice as many.")
    keep: float = Field(0.5, gt=0.0, lt=1.0, description="Share of the arms that goes on to the next round, at least one.")
    final_blocks: int = Field(
        5, ge=2, le=1000, description="Launches of the best arm and of today's in the last round, which alone decides."
    )


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One value for each knob."""

    settings: Mapping[str, Setting]
    label: str  # what differs from today's, or "today"


TODAY = "today"


def choices(tune: Tune) -> tuple[Choice, ...]:
    """What is tried out in the first round; today's first. At most `at_most` of them, in the order in which they are written."""
    every = tuple(itertools.islice(_choices(tune), tune.at_most))
    return tuple(Choice(settings=one, label=label(tune, one)) for one in every)


def left_out(tune: Tune) -> int:
    """How many combinations are not tried out for want of room."""
    return max(0, sum(1 for _ in _choices(tune)) - tune.at_most)


def today(tune: Tune) -> dict[str, Setting]:
    """The first value of every knob."""
    return {name: values[0] for name, values in tune.knobs.items()}


def label(tune: Tune, settings: Mapping[str, Setting]) -> str:
    """What differs from today's."""
    base = today(tune)
    return " ".join(f"{name}={shown(value)}" for name, value in settings.items() if value != base[name]) or TODAY


def shown(value: Setting) -> str:
    """A value as it is written into an argument: short where six digits say it, else all of them."""
    if not isinstance(value, float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def is_grid(tune: Tune) -> bool:
    """Whether every combination is tried out."""
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
