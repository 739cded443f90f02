"""How do people rate the answers?

An answer is the rating itself, a number, or the outcome of a choice between two sides: 1 won, 1/2 tie, 0 lost.  What is no number has no score.
The mean of an item counts its raters alike; intervals take raters and items as samples (`fireassay.stats.people.crossed_raters`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fireassay.quality.scoring.text_metric import Options, Prepared, TextMetric, by_item


def number(answer: str, _: Sequence[str] = ()) -> float:
    """The rating; NaN for what is no finite number."""
    try:
        value = float(answer)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _prepare(name: str, options: Options) -> Prepared:
    assert not options
    return Prepared(signature=f"metric:{name}|impl:fireassay@1", statistics=by_item(number))


METRICS = (
    TextMetric(
        name="likert",
        title="Rating",
        better="higher",
        scale=(-math.inf, math.inf),
        prepare=lambda options: _prepare("likert", options),
        source="Likert 1932",
        caveat="A mean takes the steps of the scale as equally wide; see the distribution of ratings.",
    ),
    TextMetric(
        name="win_rate",
        title="Win rate",
        better="higher",
        scale=(0.0, 1.0),
        prepare=lambda options: _prepare("win_rate", options),
        source="(wins + ties / 2) / choices",
        caveat="Of three sides or more it depends on who met whom: strength does not.",
    ),
)
