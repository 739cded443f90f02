"""What must a score declare?

A score is declared in a family's file in `scoring/metrics/`.  Its library is imported by `prepare` only.  An item's score is one row of
statistics; the score of many items is their mean, or a function of the statistics' sums (`of_totals`, a corpus metric such as
BLEU) or of all rows (`of_weighted`, such as a rank correlation).  So a score is resampled without scoring a text twice, and judged from
the record alone, without its library.

The signature names everything that moves the score, as sacrebleu's does: `metric:rouge_l|impl:rouge-score@0.1.2|stem:no|...`.  Scores
with different signatures are never compared.

What did the user set a score's option to, is that allowed, and when are two short answers the same?

`squad` is the normalisation of the official evaluation scripts of SQuAD 1.1 and 2.0 (Rajpurkar et al., 2016, 2018): lower case, without ASCII
punctuation, without the words a, an and the, with single spaces.
Cannot tell: other languages' articles and punctuation, or 1,000 from 1000.0.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fireassay.errors import EnvironmentLacks, SpecError, refuse
from fireassay.quality.scoring.pictures import Kind, Picture
from fireassay.spec.explain import shown

Array = NDArray[np.float64]
Options = Mapping[str, str | int | float | bool]
Statistics = Callable[[Sequence[str], Sequence[Sequence[str]]], Array]
OfImages = Callable[[Sequence[Picture], Sequence[Sequence[Any]]], Array]  # (images, references of each: texts or images) -> rows
MAX_CHARACTERS: Final = 500_000  # of an answer or a reference that is scored: chrF takes 5 s and 660 MiB for two such texts


def too_long(answer: str, reference: str, most: int = MAX_CHARACTERS) -> str:
    """Why two texts are not compared: "10,000,000 characters, at most 500,000"; empty if they are."""
    longest = max(len(answer), len(reference))
    return f"{longest:,} characters, at most {most:,}" if longest > most else ""


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """One text as a model of language sees it."""

    vectors: Array  # [tokens, width]: contextual embeddings, special tokens included
    ids: tuple[int, ...]  # of the tokens
    special: tuple[bool, ...]  # tokens that stand for no text, such as [CLS] and [SEP]


class Encoder(Protocol):
    """A model that gives every token of a text a vector; made elsewhere, since scoring loads no model."""

    @property
    def signature(self) -> str:
        """Names everything that moves a vector: digests of weights and tokenizer, libraries; "weights:sha256:...|..."."""
        ...

    def encode(self, texts: Sequence[str], layer: int) -> Sequence[Encoded]:
        """Vectors after hidden layer `layer`, counted from 1; 0: after the last."""
        ...


def without_model(_: Options) -> Prepared:
    """Such a score cannot be prepared without its model."""
    raise EnvironmentLacks("this score needs a model: option `model`")


def of_images_only(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
    """The statistics of a score that reads no text."""
    raise ValueError("this score reads images")


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A score with its options fixed and its library loaded."""

    signature: str
    # (answers, references of each answer) -> [items, statistics]; a row of NaN: this item has no score
    statistics: Statistics = of_images_only
    of_images: OfImages | None = None  # instead, for a score that reads images; each row depends on its image and references alone
    against: Literal["texts", "images"] = "texts"  # what the references of an image are


@dataclass(frozen=True, kw_only=True)
class Whole:
    """Items that are scored together: all answers to a question, the two sides of a pair. One that was not answered leaves them without a score."""

    of_item: Callable[[str], str]  # item's id -> id of what it is part of
    fold: Callable[[Array, Array], Array]  # the least and the largest of its items' last statistic -> its score

    @staticmethod
    def before_slash(item: str) -> str:
        """The id of all items whose ids differ only behind the last slash."""
        return item.rpartition("/")[0]


@dataclass(frozen=True, kw_only=True)
class TextMetric:
    """A score of answers against their references."""

    name: str  # "rouge_l"
    title: str  # "ROUGE-L"
    better: Literal["higher", "lower"]
    scale: tuple[float, float]  # smallest and largest possible score of one item; infinite if unbounded
    prepare: Callable[[Options], Prepared]  # raises EnvironmentLacks if its library is missing, SpecError for a bad option
    options: Options = field(default_factory=dict)  # every option with its default
    statistics: tuple[str, ...] = ("score",)  # names of the columns of a row
    of_totals: Callable[[Array], Array] | None = None  # [..., statistics] sums over items -> [...]; NaN: undefined
    # [items, statistics], [resamples, items] -> [resamples], for fractional weights; NaN: undefined
    of_weighted: Callable[[Array, Array], Array] | None = None
    whole: Whole | None = None  # what is counted where it is not an item; the score is then the mean over these
    scores: Callable[[Array], Array] | None = None  # [items, statistics] -> score of each item alone; None: the first column
    worst: Callable[[Array], Array] | None = None  # rows of the worst answers to the same items; a corpus score's loss is bounded with them
    prepare_with: Callable[[Options, Encoder], Prepared] | None = None  # instead of `prepare`, with the model of option `model`
    prepare_images: Callable[[Options, Any], Prepared] | None = None  # likewise, with a model of the kind `model` that reads images
    model: Kind = ""
    beyond: Callable[[str, str], str] = too_long  # (answer, reference) -> why comparing them takes too much time or memory, or nothing
    undefined: str = ""  # when the score of many items is NaN: "all answers are equal"
    timed: bool = False  # whether a load's own answers can have it: a mean of item scores, computed when judging, without a library
    of_choices: bool = False  # a task's own chance, that of naming the right choice, is its floor
    chance: float | None = None  # score of a guesser without knowledge, if the metric alone knows it
    # what an answer is: a text, the log probabilities of an item's choices as JSON, a program that the sandbox judges, an image, or lines that
    # describe images
    reads: Literal["texts", "likelihoods", "programs", "images", "heads"] = "texts"
    source: str = ""  # where it is defined
    caveat: str = ""  # what it cannot tell

    @property
    def corpus(self) -> bool:
        """True if the score of many items is not the mean of their scores."""
        return any(fold is not None for fold in (self.of_totals, self.of_weighted))

    def item_scores(self, rows: Array) -> Array:
        """The score of each item alone, shape [items]."""
        return self.scores(rows) if self.scores is not None else rows[:, 0]

    def score(self, rows: Array) -> float:
        """The score of all items; NaN if it is undefined for them."""
        return float(self.weighted(rows, np.ones((1, len(rows))))[0])

    def weighted(self, rows: Array, weights: Array) -> Array:
        """The score of each resample, shape [resamples], for `weights` of shape [resamples, items]: how often an item was drawn."""
        if self.of_weighted is not None:
            return self.of_weighted(rows, weights)
        if self.of_totals is not None:
            return self.of_totals(weights @ rows)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((weights @ rows[:, 0]) / weights.sum(axis=1))


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


def composed(text: str, compatible: bool) -> str:
    """Unicode's composition: an accent joins its letter; if `compatible` "ﬁ" is "fi", too, and a full-width digit is that digit."""
    return unicodedata.normalize("NFKC" if compatible else "NFC", text)


def squad_options(metric: str, options: Options) -> tuple[Normaliser, str]:
    """SQuAD's normalisation, after NFKC if requested, and its part of a signature; `none`, alone in a text, is an empty text."""
    compatible, none = flag(metric, options, "nfkc"), squad(text(metric, options, "none"))

    def normalise(answer: str) -> str:
        plain = squad(composed(answer, True) if compatible else answer)  # the script composes nothing
        if none and not answer:
            return none  # nothing was found in the text, which says nothing: no answer is said by the word
        return "" if plain == none else plain

    return normalise, f"norm:squad|nfkc:{yes(compatible)}{f'|none:{none}' if none else ''}"


def plain_options(metric: str, options: Options) -> tuple[Normaliser, str]:
    """Options `strip`, `lower` and `nfkc`, and their part of a signature."""
    stripped, lowered, compatible = (flag(metric, options, name) for name in ("strip", "lower", "nfkc"))

    def normalise(text: str) -> str:
        text = composed(text, compatible)
        text = text.strip() if stripped else text
        return text.lower() if lowered else text

    return normalise, f"strip:{yes(stripped)}|case:{'lc' if lowered else 'mixed'}|nfkc:{yes(compatible)}"
