"""An encoder whose vectors are known: a token is a word, its vector counts its letters; two special tokens stand around a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.text_metric import Encoded


class LetterEncoder:
    """Layer 1 counts a, b and so on to h; any other layer swaps their order."""

    signature = "weights:sha256:letters"

    def encode(self, texts: Sequence[str], layer: int) -> Sequence[Encoded]:
        """Nothing is learnt."""
        return [self._one(text.split(), layer) for text in texts]

    def _one(self, words: Sequence[str], layer: int) -> Encoded:
        vectors = [[float(word.count(letter)) for letter in "abcdefgh"] for word in words]
        ends = [[0.0] * 8, [0.0] * 8]
        array = np.array([ends[0], *vectors, ends[1]])
        ids = [sum(map(ord, word)) for word in words]
        return Encoded(vectors=array if layer == 1 else array[:, ::-1], ids=(1, *ids, 2), special=(True, *(False for _ in words), True))
