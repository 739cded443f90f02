"""Which score of the training is the target, and when has an evaluation met it?

The section [target] of an experiment: `goal = "accuracy >= 0.75"`, or a list of which the first decides.  With "=" the direction is that of
the score's name: a loss is better if lower, an accuracy if higher.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from fireassay.spec.model import Model, Positive, Unreadable, Words, flag, seconds
from fireassay.spec.scores import lower_is_better

Sign = Literal[">=", "<=", ">", "<"]
MAX_NAME: Final = 100
ALLOWED: Final = "a score's name and a finite number, as in accuracy=0.75 or loss<=0.3"
_GOAL: Final = re.compile(r"\s*(?P<name>[^<>=]*?[^<>=\s])\s*(?P<sign>>=|<=|=>|=<|==|=|<|>)\s*(?P<value>\S+?)\s*(?P<percent>%?)\s*")
_SIGNS: Final[dict[str, Sign]] = {">=": ">=", "=>": ">=", "<=": "<=", "=<": "<=", ">": ">", "<": "<"}


@dataclass(frozen=True)
class Goal:
    """A score's name, and which values of it meet the target."""

    name: str
    sign: Sign
    value: float

    @property
    def higher(self) -> bool:
        """True if a higher score is better."""
        return self.sign in (">=", ">")

    def met(self, score: float) -> bool:
        """True if this score meets it; NaN and infinity never do."""
        return (
            math.isfinite(score)
            and {">=": score >= self.value, "<=": score <= self.value, ">": score > self.value, "<": score < self.value}[self.sign]
        )

    def __str__(self) -> str:
        """ "accuracy 0.75", "loss <= 0.3": the sign where the name does not imply it."""
        usual = self.sign == (">=" if not lower_is_better(self.name) else "<=")
        return f"{self.name} {self.value:g}" if usual else f"{self.name} {self.sign} {self.value:g}"


def goal_of(text: str) -> Goal:
    """ "accuracy=0.75", "accuracy >= 75%", "loss<=0.3".

    Raises:
        Unreadable: no name, no sign, or no finite number.
    """
    match = _GOAL.fullmatch(text)
    value = math.nan
    if match is not None and len(match["name"]) <= MAX_NAME:
        try:
            value = float(match["value"]) / (100.0 if match["percent"] else 1.0)
        except ValueError:
            value = math.nan
    if match is None or not math.isfinite(value):
        raise Unreadable(ALLOWED)
    name = " ".join(match["name"].split())
    sign = _SIGNS.get(match["sign"]) or ("<=" if lower_is_better(name) else ">=")
    return Goal(name=name, sign=sign, value=value)


def goal_text(text: str) -> str:
    """The text of a flag, if it is a goal."""
    goal_of(text)
    return text


def readable(text: str) -> bool:
    """True if this is a goal."""
    try:
        goal_of(text)
    except Unreadable:
        return False
    return True


class Target(Model):
    """The score that a training must reach, and how soon."""

    goal: Annotated[
        Words,
        BeforeValidator(lambda value: tuple(value) if isinstance(value, list | tuple) else (str(value),)),
        flag("--target", "GOAL", "time to a score: accuracy=0.75, loss<=0.3 (p.evaluate, or printed)", read=goal_text, many=True, run=215),
    ] = Field(
        min_length=1,
        description='The score to reach, as "accuracy >= 0.75" or "loss <= 0.3"; with "=", higher is better unless the name says otherwise. '
        "The name is that of p.evaluate, or of a score that the script prints or logs. Of a list the first decides; each has its table.",
    )
    within_s: Annotated[
        Positive | None, flag("--target-within", "T", "gate: median time to the target, from the first step", read=seconds, run=216)
    ] = Field(None, description="Longest admissible median time to the (first) target, seconds from the first step. Default: no gate.")

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goals; the first decides."""
        return tuple(map(goal_of, self.goal))

    @property
    def parsed(self) -> Goal:
        """The first goal."""
        return self.goals[0]

    def each(self) -> tuple[Target, ...]:
        """A target for each goal; the limit is the first one's."""
        return tuple(Target(goal=(text,), within_s=None if place else self.within_s) for place, text in enumerate(self.goal))
