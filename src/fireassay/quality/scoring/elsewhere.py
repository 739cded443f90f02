"""How is a score declared that another program computed: a harness whose log was imported, or a number in a field of a file?"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric
from fireassay.spec.sections.given_scores import UNBOUNDED, GivenScores
from fireassay.spec.sections.judge import JUDGED

METHOD: Final = "scores of another program"  # of a task without a score of ours
OF_FILE: Final = "a field of the file"


def declared(name: str, *, lower: bool, scale: tuple[float, float], source: str, ratio: bool = False) -> TextMetric:
    """A score that is read, not computed; of a `ratio` the statistics are its two terms."""
    unknown = " Its scale is unknown." if scale == UNBOUNDED else ""
    return TextMetric(
        name=name,
        title=name,
        better="lower" if lower else "higher",
        scale=scale,
        prepare=_never,
        statistics=("sum", "count") if ratio else ("score",),
        of_totals=_ratio if ratio else None,
        scores=_ratio if ratio else None,
        source=source,
        caveat=f"As {source} scored it.{unknown}"
        if source != OF_FILE
        else f"As the file has it; how it was computed is not known.{unknown}",
    )


def of_field(given: GivenScores, name: str) -> TextMetric:
    """A field's score, as the experiment declares it."""
    return declared(name, lower=name in given.lower_is_better, scale=given.scale(name), source=OF_FILE)


def judged_by(model: str, scale: tuple[float, float], *, pairs: bool) -> TextMetric:
    """The score that a model gives: a rating, or of pairs, on the scale 0 to 1, the win rate against the first side."""
    made = declared(JUDGED, lower=False, scale=scale, source=f"the judge {model}")
    return replace(
        made,
        title="Judged win rate" if pairs else "Judged score",
        caveat="A judge errs: labels of people (--gold) say how far, and correct it.",
    )


def _ratio(totals: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(totals[..., 0] / totals[..., 1])


def _never(_: Options) -> Prepared:
    raise ValueError("a score of another program is read, not computed")
