"""Which columns of a file hold what people said of the answers?

The table [evaluation.ratings].  Three forms: `long`, a row for each rating of one side by one rater; `wide`, a column for each side (a number, or a
list with one number for each rater, as GenAI-Bench has them) or, with `raters`, for each rater; `pairs`, a row for each choice between two
sides.  Items, prompts, clusters and groups are in [evaluation.fields], the id in the field "item" unless fields.id says otherwise.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from fireassay.spec.model import Fraction, Model, Unreadable, Words, flag, listed

ITEM: Final = "item"  # the field of an item's id, where fields.id names none
SCORES: Final = {"long": "likert", "wide": "likert", "pairs": "win_rate"}  # form -> the score of a rating
AUTOMATIC: Final = "automatic:"  # before the name of an automatic score, in the table of scores
Form = Literal["long", "wide", "pairs"]


def scale_of(text: str) -> list[float]:
    """ "1,5" as its ends."""
    found = re.fullmatch(r"\s*(-?\d{1,9}(?:\.\d{1,9})?)\s*,\s*(-?\d{1,9}(?:\.\d{1,9})?)\s*", text)
    if found is None or float(found[1]) >= float(found[2]):
        raise Unreadable("LOW,HIGH, as in 1,5")
    return [float(found[1]), float(found[2])]


class Ratings(Model):
    """Ratings, or choices between two sides, by people."""

    form: Annotated[
        Form, flag("--ratings", "long|wide|pairs", "the file holds people's ratings, or choices of pairs: one row each, or wide", score=81)
    ] = Field(
        description="long: a row for each rating of a side by a rater. wide: a column for each side, with a number or a list of one per rater, "
        "or for each rater. pairs: a row for each choice between two sides."
    )
    sides: Annotated[Words, flag("--sides", "A,B", "the sides, the first is the reference (all, as they come)", score=82)] = Field(
        (),
        description="The sides that are compared, by their names in the file; the first is the reference. Default: all, in the file's order.",
    )
    rater: Annotated[str, flag("--rater", "NAME", "field of the rater's code ({default})", score=83)] = Field(
        "rater",
        min_length=1,
        description="The field of the rater's code. What is no plain code, as an address of e-mail, is kept as a digest.",
    )
    rating: Annotated[str, flag("--rating", "NAME", "field of the rating ({default})", score=84)] = Field(
        "rating",
        min_length=1,
        description="long: the field of the rating, a number. Nothing there: not rated, which is never a low rating.",
    )
    scale: Annotated[
        tuple[float, ...],
        BeforeValidator(listed),
        flag("--scale", "LOW,HIGH", "smallest and largest rating (1,5)", read=scale_of, score=85),
    ] = Field((1.0, 5.0), min_length=2, max_length=2, description="The smallest and the largest rating; others are refused.")
    side: str = Field("side", min_length=1, description="long, and wide by raters: the field of the side, unless fields.side names one.")
    raters: Annotated[Words, flag("--raters", "A,B", "wide: the columns that are raters (columns are sides)", score=86)] = Field(
        (), description="wide: the columns that hold one rater's ratings each. Default: columns are sides."
    )
    first: str = Field("first", min_length=1, description="pairs: the field of the side that was shown first (left).")
    second: str = Field("second", min_length=1, description="pairs: the field of the other side.")
    choice: str = Field(
        "choice", min_length=1, description="pairs: the field of the choice: first, second, tie, or a side's name. Nothing: no choice."
    )
    ordered: bool = Field(True, description="pairs: whether the first side was shown first. false: the order of the fields says nothing.")
    each: int | None = Field(
        None,
        ge=1,
        description="pairs: how many choices make an item complete, for the question whether to stop: its first ones count. Default: all that "
        "there are, which is right for a file that gets no further choices of the same items.",
    )
    automatic: Annotated[
        Words, flag("--against", "A,B", "fields with an automatic score of the same side, held against the people", score=87)
    ] = Field((), description="Fields with an automatic score of the rated side, which is held against the ratings.")
    risk: Fraction = Field(0.05, description="pairs: the risk of ever naming a winner wrongly, however often is looked.")
