"""How alike are two texts to a model of language?  Shared by the scores that need one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fireassay.errors import EnvironmentLacks
from fireassay.quality.scoring.text_metric import Array, Encoded, Encoder, Options, Prepared

BATCH = 128  # items whose vectors are held at once


def without_model(_: Options) -> Prepared:
    """Such a score cannot be prepared without its model."""
    raise EnvironmentLacks("this score needs the folder of an encoder: option `model`")


def best(
    encode: Callable[[Sequence[str]], Sequence[Encoded]],
    one: Callable[[Encoded, Encoded], tuple[float, ...]],
    answers: Sequence[str],
    references: Sequence[Sequence[str]],
) -> Iterator[tuple[float, ...] | None]:
    """For each answer the score that is highest in its first column over the references; None without one."""
    for begin in range(0, len(answers), BATCH):
        part = slice(begin, begin + BATCH)
        texts = list(dict.fromkeys([*answers[part], *(text for wanted in references[part] for text in wanted)]))
        known = dict(zip(texts, encode(texts), strict=True))
        for answer, wanted in zip(answers[part], references[part], strict=True):
            yield max((one(known[answer], known[text]) for text in wanted), key=lambda score: score[0], default=None)


def table(rows: Iterator[tuple[float, ...] | None], width: int) -> Array:
    """Shape [items, width]; NaN for None."""
    return np.array([(np.nan,) * width if row is None else row for row in rows], dtype=np.float64).reshape(-1, width)


def encoder_at(encoder: Encoder, layer: int) -> Callable[[Sequence[str]], Sequence[Encoded]]:
    """The encoder after one of its layers."""
    return lambda texts: encoder.encode(texts, layer)


def directions(vectors: Array) -> Array:
    """Vectors of length 1; a vector of zeros stays one."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0.0, length, 1.0))
