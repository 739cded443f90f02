"""Which vector does a local model of language give each token of a text?

An encoder of `transformers` from a folder: safetensors only, no code of the folder is run, nothing is fetched.  In single precision on the
processor; a text longer than the model takes is cut.  Texts are encoded in batches of like length, so a vector's last digits
depend on its batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fireassay.errors import WorkloadError
from fireassay.instruments.local_model import LocalModel, longest
from fireassay.quality.scoring.text_metric import Encoded

BATCH = 32


class LocalEncoder:
    """An encoder and its tokenizer, loaded once.

    Raises:
        EnvironmentLacks: torch or transformers is not installed.
        WorkloadError: the folder holds no encoder in safetensors that they can load.
    """

    def __init__(self, folder: str | Path) -> None:
        home = LocalModel(folder, "an encoder")
        self._torch = home.torch
        self._tokenizer: Any = home.load("AutoTokenizer")
        self._model = home.model("AutoModel")
        self._longest = longest(self._tokenizer, getattr(self._model.config, "max_position_embeddings", None))
        self._ends = {self._tokenizer.cls_token_id, self._tokenizer.sep_token_id}
        self._signature = home.signature(self._longest)

    @property
    def signature(self) -> str:
        """Digests of weights and of tokenizer and configuration, longest text in tokens, libraries."""
        return self._signature

    def encode(self, texts: Sequence[str], layer: int) -> Sequence[Encoded]:
        """Vectors after hidden layer `layer`, counted from 1; 0: after the last.

        Raises:
            WorkloadError: the model has fewer layers.
        """
        layers = int(self._model.config.num_hidden_layers)
        if layer > layers:
            raise WorkloadError(f"layer {layer} does not exist: the model has {layers}")
        tokens = [self._tokens(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda index: len(tokens[index][0]))
        found: dict[int, Encoded] = {}
        for begin in range(0, len(order), BATCH):
            part = order[begin : begin + BATCH]
            for index, vectors in zip(part, self._vectors([tokens[index][0] for index in part], layer), strict=True):
                ids, special = tokens[index]
                found[index] = Encoded(vectors=vectors, ids=tuple(ids), special=tuple(special))
        return [found[index] for index in range(len(texts))]

    def _tokens(self, text: str) -> tuple[list[int], list[bool]]:
        made = self._tokenizer(text.strip(), truncation=True, max_length=self._longest, return_special_tokens_mask=True)
        ids = list(made["input_ids"])
        return ids, [bool(mark) or token in self._ends for token, mark in zip(ids, made["special_tokens_mask"], strict=True)]

    def _vectors(self, batch: Sequence[Sequence[int]], layer: int) -> list[Any]:
        torch = self._torch
        longest = max(map(len, batch))
        if longest == 0:  # empty texts to a tokenizer without special tokens
            return [np.zeros((0, int(self._model.config.hidden_size))) for _ in batch]
        pad = self._tokenizer.pad_token_id or 0
        ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in batch])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in batch])
        with torch.inference_mode():
            made = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        hidden = made.hidden_states[layer] if layer else made.last_hidden_state
        return [hidden[index, : len(row)].double().numpy() for index, row in enumerate(batch)]


@lru_cache(maxsize=2)
def load(folder: str) -> LocalEncoder:
    """The encoder of a folder; the next score that needs it does not load it again."""
    return LocalEncoder(folder)
