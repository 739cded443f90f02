"""What did the user set a score's option to, is that allowed, and when are two short answers the same?

`squad` is the normalisation of the official evaluation scripts of SQuAD 1.1 and 2.0 (Rajpurkar et al., 2016, 2018): lower case, without ASCII
punctuation, without the words a, an and the, with single spaces.
Cannot tell: other languages' articles and punctuation, or 1,000 from 1000.0.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from fireassay.errors import SpecError, refuse
from fireassay.quality.scoring.text_metric import Array, Options, Statistics
from fireassay.spec.explain import shown

Normaliser = Callable[[str], str]
PLAIN: Final[Options] = {"strip": True, "lower": False, "nfkc": False}  # the options of `plain_options`, with their defaults
PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")


def by_item(row: Callable[[str, Sequence[str]], object]) -> Statistics:
    """Statistics of items that are scored one at a time: (answer, references) -> a number, or a row of them."""

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        rows = np.array([row(answer, wanted) for answer, wanted in zip(answers, references, strict=True)], dtype=np.float64)
        return rows.reshape(-1, 1) if rows.ndim == 1 else rows

    return statistics


def wrong(metric: str, option: str, value: object, allowed: str, fix: str = "") -> SpecError:
    return refuse(f"evaluation.options.{metric}.{option}", shown(value), allowed, fix, source="the options of scores")


def flag(metric: str, options: Options, option: str) -> bool:
    """An option that is true or false."""
    value = options[option]
    if not isinstance(value, bool):
        raise wrong(metric, option, value, "true or false")
    return value


def whole(metric: str, options: Options, option: str, least: int, most: int) -> int:
    value = options[option]
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise wrong(metric, option, value, f"a whole number from {least} to {most}")
    return value


def text(metric: str, options: Options, option: str) -> str:
    """An option that is a text; a number stands for its digits, since a label may be one."""
    value = options[option]
    if isinstance(value, bool):
        raise wrong(metric, option, value, "a text", f'{metric}.{option} = "{str(value).lower()}"')
    return str(value)


def choice(metric: str, options: Options, option: str, among: Sequence[str]) -> str:
    """An option that is one of a few words."""
    value = options[option]
    if value not in among:
        raise wrong(metric, option, value, f"one of {', '.join(among)}")
    return str(value)


def yes(value: bool) -> str:
    """As sacrebleu writes it in a signature."""
    return "yes" if value else "no"


def squad(text: str) -> str:
    """As the official script normalises an answer: "The  Eiffel Tower." is "eiffel tower"."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def nfkc(text: str) -> str:
    """Unicode's compatibility composition: "ﬁ" is "fi", a full-width digit is that digit."""
    return unicodedata.normalize("NFKC", text)


def squad_options(metric: str, options: Options) -> tuple[Normaliser, str]:
    """SQuAD's normalisation, after NFKC if requested, and its part of a signature; `none`, alone in a text, is an empty text."""
    composed, none = flag(metric, options, "nfkc"), squad(text(metric, options, "none"))

    def normalise(answer: str) -> str:
        plain = squad(nfkc(answer) if composed else answer)
        if none and not answer:
            return none  # nothing was found in the text, which says nothing: no answer is said by the word
        return "" if plain == none else plain

    return normalise, f"norm:squad|nfkc:{yes(composed)}{f'|none:{none}' if none else ''}"


def plain_options(metric: str, options: Options) -> tuple[Normaliser, str]:
    """Options `strip`, `lower` and `nfkc`, and their part of a signature."""
    stripped, lowered, composed = (flag(metric, options, name) for name in ("strip", "lower", "nfkc"))

    def normalise(text: str) -> str:
        text = nfkc(text) if composed else text
        text = text.strip() if stripped else text
        return text.lower() if lowered else text

    return normalise, f"strip:{yes(stripped)}|case:{'lc' if lowered else 'mixed'}|nfkc:{yes(composed)}"
