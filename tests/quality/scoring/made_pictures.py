"""Images whose vectors, rewards and answers are known: the models look up a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fireassay.quality.scoring import scoring
from fireassay.quality.scoring.pictures import Picture, Resize


def made(name: str) -> Picture:
    return Picture(sha256=name, format="PNG", bytes=1, width=1, height=1, pixels=None)


class Table:
    """A model of every kind; `vectors` of images and of texts, numbers of (image, text)."""

    signature = "weights:sha256:table"
    scale = 100.0

    def __init__(self, vectors: Mapping[str, Sequence[float]] | None = None, pairs: Mapping[tuple[str, str], Any] | None = None) -> None:
        self.vectors, self.pairs = dict(vectors or {}), dict(pairs or {})
        self.resizes: list[Resize] = []
        self.read: list[str] = []

    def images(self, pictures: Sequence[Picture], resize: Resize) -> np.ndarray:
        self.resizes.append(resize)
        return np.array([self.vectors[one.sha256] for one in pictures], dtype=np.float64)

    def texts(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        self.read += texts
        return np.array([self.vectors[text] for text in texts], dtype=np.float64), np.array(["long" in text for text in texts])

    def rewards(self, pictures: Sequence[Picture], texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        found = [self.pairs[one.sha256, text] for one, text in zip(pictures, texts, strict=True)]
        return np.array(found, dtype=np.float64), np.array(["long" in text for text in texts], dtype=bool)

    def check(self, answer: str) -> None:
        self.read.append(answer)

    def answered(self, pictures: Sequence[Picture], questions: Sequence[str], answer: str) -> np.ndarray:
        self.read += questions
        return np.array([self.pairs[one.sha256, question] for one, question in zip(pictures, questions, strict=True)], dtype=np.float64)


def rows(name: str, model: Table, images: Sequence[str], references: Sequence[Sequence[Any]], **options: Any) -> np.ndarray:
    """The rows of a score of these images."""
    return scoring.of_images(ready(name, model, **options), [made(one) for one in images], references)


def ready(name: str, model: Table, **options: Any) -> scoring.Score:
    given = {f"{name}.model": "table", **{f"{name}.{option}": value for option, value in options.items()}}
    (score,) = scoring.prepared([name], given, None, lambda _kind, _options: model)
    return score
