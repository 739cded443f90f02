"""Which extractor reads answers like these?

The references show the form of an answer: a number, a letter, yes or no.  An extractor reads a text if what it finds has that form; whether it
is the right answer is not looked at, so that no extractor is chosen for its score.  Forms that anything has (words, code) need no choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fireassay.quality.scoring import scoring
from fireassay.quality.scoring.extractors.support.numerals import normalised

WHOLE: Final = "whole"
MAX_TEXTS: Final = 200  # that are tried: enough to tell 0 % from 50 %
MAX_LENGTH: Final = 20_000  # characters of a text that is tried
ENOUGH: Final = 0.5  # share that an extractor reads; one that reads less does not fit
AS_GOOD: Final = 0.02  # less difference in shares decides nothing: the more careful extractor is named first
Texts = Sequence[str | None]


@dataclass(frozen=True, kw_only=True)
class Form:
    """What every reference looks like, and the extractors that find it, the more careful ones first."""

    name: str
    has: Callable[[str], bool]
    extractors: tuple[str, ...]


FORMS: Final = (
    Form(name="a number", has=lambda text: normalised(text) is not None, extractors=("final_number", "last_number")),
    Form(name="a letter", has=lambda text: re.fullmatch(r"[A-Z]", text.strip()) is not None, extractors=("choice_letter",)),
    Form(name="yes or no", has=lambda text: text.strip().lower() in ("yes", "no"), extractors=("yes_no",)),
)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Which share of the texts each extractor reads, `whole` among them."""

    shares: Mapping[str, float]

    @property
    def likely(self) -> str:
        """The extractor that fits; `whole` where it reads enough, or where none does."""
        others = {name: share for name, share in self.shares.items() if name != WHOLE}
        best = max(others.values(), default=0.0)
        if self.shares.get(WHOLE, 1.0) >= ENOUGH or best < ENOUGH:
            return WHOLE
        return next(name for name, share in others.items() if share >= best - AS_GOOD)


def form_of(references: Sequence[Sequence[str]]) -> Form | None:
    """The form that every reference has; None if they share none."""
    every = [reference for of_item in references for reference in of_item]
    return next((form for form in FORMS if every and all(map(form.has, every))), None)


def reading(texts: Texts, references: Sequence[Sequence[str]]) -> Reading | None:
    """Tried on the first of the texts that are there; None if the references have no form, or nothing was answered."""
    form, given = form_of(references), [text[:MAX_LENGTH] for text in texts if text is not None][:MAX_TEXTS]
    if form is None or not given:
        return None
    tried = {name: scoring.extractor(name) for name in (WHOLE, *form.extractors)}
    found = {name: [one.extract(text, ()).answer for text in given] for name, one in tried.items()}
    return Reading(shares={name: sum(answer is not None and form.has(answer) for answer in of) / len(given) for name, of in found.items()})
