"""Which scores did another program compute, and which candidates is the best of each item chosen from?

The tables [evaluation.given] and [evaluation.best_of].  Scale and direction of a number are not in a file, so they are declared here, before the
file is read; all of it is a condition of the record.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Final

from pydantic import Field

from fireassay.spec.model import Model, Unreadable, Words, flag
from fireassay.spec.sections.steps import Steps

EVERY: Final = "*"  # the key of a scale that all fields have
AMOUNT: Final = "amount:"  # before what a candidate took, in the table of scores
RESERVED: Final = "cost"  # is shown in dollars
MAX_NAME: Final = 80
MAX_CANDIDATES: Final = 1000
ALL_UP_TO: Final = 16  # candidates; of more, some numbers stand for all
BOUNDS: Final = re.compile(r"\s*([-+0-9.e]+|-inf)\s*,\s*([-+0-9.e]+|\+?inf)\s*", re.IGNORECASE)
UNBOUNDED: Final = (-math.inf, math.inf)


def bounds_of(text: str) -> tuple[float, float] | None:
    """ "0,1" as its ends, of which one may be infinite; None if it is no scale."""
    found = BOUNDS.fullmatch(text)
    try:
        low, high = (float(end) for end in found.groups()) if found else (math.nan, math.nan)
    except ValueError:
        return None
    return (low, high) if low < high and (low, high) != UNBOUNDED else None


def scale_of(text: str) -> tuple[str, str]:
    """ "0,1" of all score fields, "clip=-1,1" of one: the field and the scale."""
    name, equals, ends = text.partition("=")
    pair = (name, ends) if equals else (EVERY, text)
    if not pair[0] or bounds_of(pair[1]) is None:
        raise Unreadable("LOW,HIGH or NAME=LOW,HIGH, as in 0,1 or clip=-1,1 or loss=0,inf", "Of a lower end below 0: --score-scale=-1,1.")
    return pair


class GivenScores(Model):
    """Scores that another program computed: numbers in fields of the files."""

    fields: Annotated[Words, flag("--score-field", "A,B", "fields with scores of another program, the first decides", score=12)] = Field(
        min_length=1,
        description='Fields whose numbers are scores, as "vqascore" or "metrics.clip"; the first decides, after `metrics` if there are any. A line '
        "without a number is missing, which is no loss. No answer and no reference is needed.",
    )
    scales: Annotated[
        dict[str, str],
        flag("--score-scale", "[NAME=]LOW,HIGH", "least and largest possible score, as 0,1 (unknown)", read=scale_of, many=True, score=13),
    ] = Field(
        default_factory=dict,
        description='Least and largest possible score of each field, as vqascore = "0,1" or loss = "0,inf"; "*" for all. A number outside is refused. '
        "Without a scale no bound relies on one: it is not guessed.",
    )
    lower_is_better: Annotated[Words, flag("--lower-is-better", "A,B", "score fields of which lower is better", score=14)] = Field(
        (), description="Score fields of which lower is better, as losses and distances."
    )

    def scale(self, name: str) -> tuple[float, float]:
        """The declared scale of a field; infinite at both ends if none was."""
        text = self.scales.get(name, self.scales.get(EVERY))
        return (bounds_of(text) if text is not None else None) or UNBOUNDED

    def signature(self, name: str) -> str:
        """Names what is known of a score: "metric:vqascore|impl:given|better:higher|scale:0,1"."""
        low, high = self.scale(name)
        scale = f"{low:g},{high:g}" if self.scale(name) != UNBOUNDED else "not declared"
        return f"metric:{name}|impl:given|better:{'lower' if name in self.lower_is_better else 'higher'}|scale:{scale}"


class BestOf(Model):
    """The best of several candidates for an item is chosen by the deciding score."""

    candidates: Annotated[
        int, flag("--best-of", "N", "score and cost of the best of k candidates, k = 1 to N, and the knee", score=15, evaluate=77)
    ] = Field(
        ge=2,
        le=MAX_CANDIDATES,
        description="The largest number of candidates of which the best is chosen. The candidates of an item are its repetitions; all count at every k.",
    )
    seconds: Annotated[Words, flag("--seconds-field", "A,B", "field with a candidate's seconds; B: its scorer's", score=16)] = Field(
        (),
        description="Field with the seconds that a candidate took; further ones are its scorer's, which only a choice needs (k above 1).",
    )
    usd: Annotated[Words, flag("--cost-field", "A,B", "field with a candidate's US dollars; B: its scorer's", score=17)] = Field(
        (), description="Field with the US dollars of a candidate; further ones as of seconds."
    )

    @property
    def amounts(self) -> dict[str, Words]:
        """ "seconds" and "usd", as far as fields hold them."""
        return {name: fields for name, fields in (("seconds", self.seconds), ("usd", self.usd)) if fields}

    @property
    def steps(self) -> Steps:
        """The numbers of candidates that are compared."""
        most = min(self.candidates, MAX_CANDIDATES)  # a wrong value is reported elsewhere
        sparse = {round(half * 2**power) for power in range(10) for half in (1, 1.5)}
        levels = [k for k in range(1, most + 1) if most <= ALL_UP_TO or k in sparse or k == most]
        return Steps(levels=tuple(levels), what="candidates")
