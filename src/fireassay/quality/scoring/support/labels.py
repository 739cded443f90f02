"""How well do labels agree with labels, over many items?

A row is (right, label, answer): 1 if the answer is the item's label, the label's code and the answer's.  A code is 48 bits of the label's
BLAKE2 digest, exact as a float, so labels need not be known beforehand.  Of several references the label is the one that was answered,
else the first.  Where repetitions of an item disagree, its row is their mean: the right share counts for the label, the rest for no label.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from fireassay.quality.scoring.support.normalise import Normaliser
from fireassay.quality.scoring.text_metric import Array

COLUMNS = ("right", "label", "answer")


@lru_cache(maxsize=4096)
def code(label: str) -> float:
    """A label's number, the same in every run."""
    return float(int.from_bytes(blake2b(label.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big"))


def rows(answers: Sequence[str], references: Sequence[Sequence[str]], normalise: Normaliser) -> Array:
    """Shape [items, 3]; NaN for an item without a label."""
    return np.array([_row(normalise(answer), [*map(normalise, wanted)]) for answer, wanted in zip(answers, references, strict=True)])


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
