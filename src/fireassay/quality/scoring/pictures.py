"""What does a score of images see of an image, and what must the model behind it give?

The models are made elsewhere (`fireassay.instruments.images`), since scoring loads none and decodes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Resize = Literal["config", "longest"]  # as the folder's preprocessor says; or the longest side, padded with black to a square
Kind = Literal["", "pairs", "reward", "questions"]  # of the model that a score needs
TEXT: Final = "{}"  # stands for the text in a template


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Picture:
    """One decoded image."""

    sha256: str  # of the file, in hexadecimal
    format: str  # "PNG"
    bytes: int  # of the file
    width: int  # in pixels, upright
    height: int
    pixels: Any  # an image of Pillow: RGB, upright, without metadata


class Model(Protocol):
    """A model that reads images."""

    @property
    def signature(self) -> str:
        """Names everything that moves a number: digests of weights, tokenizer and preprocessor, precision, libraries."""
        ...


class PairEncoder(Model, Protocol):
    """Images and texts as vectors of one space, as CLIP."""

    @property
    def scale(self) -> float:
        """exp(logit_scale): what a cosine is multiplied by in training."""
        ...

    def images(self, pictures: Sequence[Picture], resize: Resize) -> NDArray[np.float64]:
        """Shape [images, width], not normalised."""
        ...

    def texts(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Shape [texts, width], not normalised; and which texts were longer than the model reads, and cut."""
        ...


class RewardModel(Model, Protocol):
    """One number for an image and the text that it is to show."""

    def rewards(self, pictures: Sequence[Picture], texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Shape [pairs]; and which texts were cut."""
        ...


class Questioned(Model, Protocol):
    """A model that answers a question about an image."""

    def check(self, answer: str) -> None:
        """Raises WorkloadError: the answer is no single token."""
        ...

    def answered(self, pictures: Sequence[Picture], questions: Sequence[str], answer: str) -> NDArray[np.float64]:
        """The probability of the answer's token among the whole vocabulary at the first position of the answer, and by how much it may be off.

        Shape [questions, 2]. An engine that lists a few tokens only leaves a probability of 0 to a bound: half of the bound, and that half.
        """
        ...
