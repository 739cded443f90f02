"""What does a judge's reply say?  A judgement in exactly the form that was asked for, or NO_ANSWER, which is never a loss and never a tie.

One JSON object with the wanted key, alone, in a code fence, or among other words.  Two such objects are none, since one may be a quotation, and so is
any text with a brace that begins no JSON: an answer quoted without its quotes escaped could hold a judgement of its own.  No number is made of a text,
no rating is moved onto the scale, and a reply that the token limit cut says nothing, be the rest readable.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from fireassay.quality.judging.rubric import CHOICES, Rubric
from fireassay.quality.tasks.support.files import Twice, once

MAX_LENGTH: Final = 200_000  # characters of a reply that is searched
CUT: Final = ("length", "max_tokens", "model_length")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A rating, or the outcome for the answer shown first: 1 won, 0.5 tie, 0 lost; None: NO_ANSWER, and why."""

    value: float | None
    why: str = ""


def reading(text: str | None, finish_reason: str | None, rubric: Rubric) -> Reading:
    """What a reply says; must not raise, whatever the text."""
    if finish_reason in CUT:
        return _none("cut at the token limit")
    if finish_reason == "content_filter" or not text or not text.strip():
        return _none("nothing was said")
    if len(text) > MAX_LENGTH:
        return _none("too long to be a judgement")
    try:
        found = [one for one in _objects(text) if rubric.key in one]
    except (Twice, ValueError, RecursionError):
        return _none("braces that are no JSON")
    if len(found) != 1:
        return _none(f"no JSON object with {rubric.key!r}" if not found else f"{len(found):,} JSON objects with {rubric.key!r}")
    return _choice(found[0]["choice"]) if rubric.form == "pairs" else _rating(found[0]["rating"], rubric)


def reason_of(text: str, rubric: Rubric) -> str:
    """Why the judge says so, in its own words; empty where no judgement can be read."""
    try:
        found = [one for one in _objects(text) if rubric.key in one] if len(text) <= MAX_LENGTH else []
    except (Twice, ValueError, RecursionError):
        return ""
    reason = found[0].get("reason") if len(found) == 1 else None
    return reason.strip() if isinstance(reason, str) else ""


def _none(why: str) -> Reading:
    return Reading(value=None, why=why)


def _choice(value: object) -> Reading:
    if value not in CHOICES or not isinstance(value, str):
        return _none("a choice that is none of first, second and tie")
    return Reading(value={"first": 1.0, "tie": 0.5, "second": 0.0}[value])


def _rating(value: object, rubric: Rubric) -> Reading:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return _none("a rating that is no number")
    low, high = rubric.scale
    if not low <= value <= high or (rubric.whole and value != int(value)):
        return _none("a rating that is not on the scale")
    return Reading(value=float(value))


def _refused(name: str) -> float:
    raise ValueError(name)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that stand in a text, none within another. Raises Twice, ValueError, RecursionError: a key is there twice, or a brace begins none."""
    decoder = json.JSONDecoder(object_pairs_hook=once, parse_constant=_refused)
    at = text.find("{")
    while at >= 0:
        found, end = decoder.raw_decode(text, at)
        yield found
        at = text.find("{", end)
