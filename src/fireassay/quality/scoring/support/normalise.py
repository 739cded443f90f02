"""When are two short answers the same?

`squad` is the normalisation of the official evaluation scripts of SQuAD 1.1 and 2.0 (Rajpurkar et al., 2016, 2018): lower case, without ASCII
punctuation, without the words a, an and the, with single spaces.
Cannot tell: other languages' articles and punctuation, or 1,000 from 1000.0.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable

from fireassay.quality.scoring.support.options import flag, text, yes
from fireassay.quality.scoring.text_metric import Options

Normaliser = Callable[[str], str]
PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")


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
