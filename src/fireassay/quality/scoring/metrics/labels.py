"""How well do answers name the labels of their items?

A row is (right, label, answer): 1 if the answer is the item's label, the label's code and the answer's.  A code is 48 bits of the label's
BLAKE2 digest, exact as a float, so labels need not be known beforehand.  Of several references the label is the one that was answered,
else the first.  Where repetitions of an item disagree, its row is their mean: the right share counts for the label, the rest for no label.

* F1 of the positive class, 2 tp / (2 tp + fp + fn), as GLUE scores MRPC and QQP.  An answer that is no label is not positive.
* Macro F1: the mean over the classes that occur as labels of 2 tp / (answers of the class + labels of the class).  An answer that is no label
  belongs to no class: it is missed, and makes none.
* Matthews' correlation, for any number of classes: R = (c s - p.t) / sqrt((s^2 - p.p) (s^2 - t.t)) of s items, c right, p and t how often each
  class was answered and is the label.  An answer that is no label is a class of its own.
* Exact match over questions (SuperGLUE's MultiRC): an item is one proposed answer, its id PARAGRAPH/QUESTION/ANSWER; a question is what stands
  before the last slash, since the numbers of questions begin again in every paragraph, and counts if all of its answers are judged rightly.
* Gender parity (SuperGLUE's AX-g): an item is one side of a pair, its id PAIR/SIDE; a pair is alike if all of its answers are equal, right or
  wrong.  A question or pair of which an item was not answered has no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from fireassay.quality.scoring.text_metric import PLAIN, Array, Options, Prepared, TextMetric, Whole, by_item, plain_options, text

COLUMNS = ("right", "label", "answer")


@lru_cache(maxsize=4096)
def code(label: str) -> float:
    """A label's number, the same in every run."""
    return float(int.from_bytes(blake2b(label.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big"))


def _row(answer: str, wanted: Sequence[str]) -> tuple[float, float, float]:
    if not wanted:
        return (np.nan, np.nan, np.nan)
    right = answer in wanted
    return (float(right), code(answer if right else wanted[0]), code(answer))


def totals(table: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Weight of right answers, of each class as label and as answer: three of shape [resamples, classes]."""
    right, label, answer = table.T
    keys, classes = np.unique(np.concatenate([label, label, answer]), return_inverse=True)
    items = len(right)
    hits = weights * right
    of_label, of_right, of_wrong = classes[:items], classes[items : 2 * items], classes[2 * items :]
    right_of = _sums(hits, of_right, len(keys))
    return right_of, _sums(weights, of_label, len(keys)), right_of + _sums(weights - hits, of_wrong, len(keys))


def worst(table: Array) -> Array:
    """Each item gets the most frequent label besides its own; no label where all have one."""
    labels, counts = np.unique(table[:, 1], return_counts=True)
    first, second = [*labels[np.argsort(-counts, kind="stable")], code("")][:2]
    return np.stack([np.zeros(len(table)), table[:, 1], np.where(table[:, 1] == first, second, first)], axis=1)


def _sums(weights: Array, classes: np.ndarray, count: int) -> Array:
    """Sums of columns by class, shape [resamples, classes]."""
    order = np.argsort(classes, kind="stable")
    present, begins = np.unique(classes[order], return_index=True)
    sums = np.zeros((len(weights), count))
    sums[:, present] = np.add.reduceat(weights[:, order], begins, axis=1)
    return sums


def f1_macro(rows: Array, weights: Array) -> Array:
    """Mean F1 of each resample over the classes whose items were drawn."""
    right, label, answer = totals(rows, weights)
    present = label > 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        of_class = np.where(present, 2.0 * right / (label + answer), 0.0)
        return np.asarray(of_class.sum(axis=1) / present.sum(axis=1))


def mcc(rows: Array, weights: Array) -> Array:
    """R of each resample; NaN where all answers or all labels are of one class."""
    right, label, answer = totals(rows, weights)
    items = weights.sum(axis=1)
    of_answers, of_labels = items**2 - np.sum(answer**2, axis=1), items**2 - np.sum(label**2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = (right.sum(axis=1) * items - np.sum(answer * label, axis=1)) / np.sqrt(of_answers * of_labels)
    varied = (np.count_nonzero(answer, axis=1) > 1) & (np.count_nonzero(label, axis=1) > 1)
    return np.where(varied, value, np.nan)


def _of_labels(
    name: str, title: str, says: str = "", after: str = "|refs:any", columns: Sequence[str] = COLUMNS, **declared: Any
) -> TextMetric:
    """A score with options `strip`, `lower`, `nfkc` and without a library; `says`, `after`: parts of its signature."""

    def prepare(options: Options) -> Prepared:
        normalise, words = plain_options(name, options)

        def row(answer: str, wanted: Sequence[str]) -> Sequence[float]:
            return _row(normalise(answer), [*map(normalise, wanted)])[: len(columns)]

        return Prepared(signature=f"metric:{name}|impl:fireassay@2{says}|{words}{after}", statistics=by_item(row))

    scale = declared.pop("scale", (0.0, 1.0))
    names = tuple(columns) if len(columns) > 1 else ("score",)
    return TextMetric(name=name, title=title, better="higher", scale=scale, prepare=prepare, options=PLAIN, statistics=names, **declared)


def prepare_f1_binary(options: Options) -> Prepared:
    """Options `positive` (the label), `strip`, `lower`, `nfkc`; no library."""
    normalise, words = plain_options("f1_binary", options)
    positive = normalise(text("f1_binary", options, "positive"))

    def row(answer: str, references: Sequence[str]) -> tuple[float, ...]:
        if not references:
            return (np.nan,) * 4
        answer, wanted = normalise(answer), [*map(normalise, references)]
        label = answer if answer in wanted else wanted[0]
        found, sought = answer == positive, label == positive
        return float(answer == label), float(found and sought), float(found and not sought), float(sought and not found)

    return Prepared(signature=f"metric:f1_binary|impl:fireassay@2|positive:{positive}|{words}|refs:any", statistics=by_item(row))


def f1_binary(totals: Array) -> Array:
    """F1; NaN where the positive class is neither answered nor a label."""
    _, hits, false, missed = np.moveaxis(totals, -1, 0)
    with np.errstate(invalid="ignore"):
        return np.asarray(2.0 * hits / (2.0 * hits + false + missed))


def worst_f1_binary(rows: Array) -> Array:
    """The other class."""
    sought = rows[:, 1] + rows[:, 3]
    return np.stack([0.0 * sought, 0.0 * sought, 1.0 - sought, sought], axis=1)


METRICS = (
    _of_labels(
        "accuracy",
        "Accuracy",
        columns=COLUMNS[:1],
        of_choices=True,
        timed=True,
        caveat="Where one label is frequent, naming it always scores high.",
    ),
    TextMetric(
        name="f1_binary",
        title="F1 of the positive class",
        better="higher",
        scale=(0.0, 1.0),
        prepare=prepare_f1_binary,
        options={"positive": "1", **PLAIN},
        statistics=("right", "true_positive", "false_positive", "false_negative"),
        of_totals=f1_binary,
        worst=worst_f1_binary,
        undefined="no answer and no label is of the positive class",
        source="van Rijsbergen 1979; Wang et al., GLUE, 2018",
        caveat="Items that are rightly not positive do not count. The score of one item is 1 if its answer is its label, else 0.",
    ),
    _of_labels(
        "f1_macro",
        "Macro F1 over the labels",
        "|classes:of labels",
        of_weighted=f1_macro,
        worst=worst,
        source="van Rijsbergen 1979; the mean is that of scikit-learn's f1_score over the labels of the items",
        caveat="A rare class counts like a frequent one. scikit-learn without `labels` also counts classes that only answers have. "
        "The score of one item is 1 if its answer is its label, else 0.",
    ),
    _of_labels(
        "mcc",
        "Matthews correlation",
        scale=(-1.0, 1.0),
        chance=0.0,
        of_weighted=mcc,
        worst=worst,
        undefined="all answers or all labels are of one class",
        source="Matthews 1975; Gorodkin, Computational Biology and Chemistry 28, 2004",
        caveat="The score of one item is 1 if its answer is its label, else 0.",
    ),
    _of_labels(
        "exact_questions",
        "Exact match over questions",
        "|question:id before the last slash",
        columns=COLUMNS[:1],
        whole=Whole(of_item=Whole.before_slash, fold=lambda least, _: least),
        source="Khashabi et al., MultiRC, 2018; Wang et al., SuperGLUE, 2019",
        caveat="A question with many proposed answers is harder, and counts like one with two.",
    ),
    _of_labels(
        "gender_parity",
        "Gender parity",
        "|pair:id before the last slash",
        "",
        whole=Whole(of_item=Whole.before_slash, fold=lambda least, most: least == most),
        source="Rudinger et al., Winogender, 2018; Wang et al., SuperGLUE, 2019",
        caveat="A model that always answers the same has the best value: read it beside the accuracy. The score of one item is 1 if its answer is "
        "its label.",
    ),
)
