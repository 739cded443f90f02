"""What must a score declare?

A score is declared in a family's file in `scoring/metrics/`.  Its library is imported by `prepare` only.  An item's score is one row of
statistics; the score of many items is their mean, or a function of the statistics' sums (`of_totals`, a corpus metric such as
BLEU) or of all rows (`of_weighted`, such as a rank correlation).  So a score is resampled without scoring a text twice, and judged from
the record alone, without its library.

The signature names everything that moves the score, as sacrebleu's does: `metric:rouge_l|impl:rouge-score@0.1.2|stem:no|...`.  Scores
with different signatures are never compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Options = Mapping[str, str | int | float | bool]
Statistics = Callable[[Sequence[str], Sequence[Sequence[str]]], Array]


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


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A score with its options fixed and its library loaded."""

    signature: str
    # (answers, references of each answer) -> [items, statistics]; a row of NaN: this item has no score
    statistics: Statistics


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
    undefined: str = ""  # when the score of many items is NaN: "all answers are equal"
    timed: bool = False  # whether a load's own answers can have it: a mean of item scores, computed when judging, without a library
    of_choices: bool = False  # a task's own chance, that of naming the right choice, is its floor
    chance: float | None = None  # score of a guesser without knowledge, if the metric alone knows it
    # what an answer is: a text, the log probabilities of an item's choices as JSON, or a program that the sandbox judges
    reads: Literal["texts", "likelihoods", "programs"] = "texts"
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
