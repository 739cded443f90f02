"""Which knobs are tuned, and how?

The table [tune] of an experiment for `assay tune`:

    [workload]
    script = "train.py"
    arguments = ["--bucket-mb", "{bucket_mb}", "--loaders", "{loaders}"]

    [tune.knobs]
    bucket_mb = [25, 1, 100]      # the first is today's value
    loaders = [0, 2, 4]

In the workload's arguments and variables, a knob's name in braces is replaced by its value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from fireassay.spec.model import NAME_PATTERN, Fraction, Model, listed

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
    """Whether every combination is tried."""
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
