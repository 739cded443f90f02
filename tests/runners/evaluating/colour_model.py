"""A CLIP-shaped model that sees the mean colour of an image and reads the name of a colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import ImageColor

from fireassay.quality.scoring.pictures import Picture, Resize


class ColourModel:
    """The vectors are red, green and blue; of a text those of its last word."""

    signature = "weights:sha256:colours"
    scale = 10.0

    def images(self, pictures: Sequence[Picture], _: Resize) -> np.ndarray:
        return np.array([np.asarray(one.pixels, dtype=np.float64).reshape(-1, 3).mean(axis=0) for one in pictures]).reshape(-1, 3)

    def texts(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        vectors = [ImageColor.getrgb(text.split()[-1]) for text in texts]
        return np.array(vectors, dtype=np.float64).reshape(-1, 3), np.array([len(text.split()) > 5 for text in texts])


def load(_kind: str, _options: Mapping[str, Any]) -> ColourModel:
    return ColourModel()
