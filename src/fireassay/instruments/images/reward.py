"""Which reward does a local ImageReward give an image and its prompt?

The layout that `transformers` can load without ImageReward's own code: a folder with a BlipForImageTextRetrieval (`blip.visual_encoder` of the
published checkpoint is its vision_model, `blip.text_encoder` its text_encoder, as transformers' own conversion of BLIP names them; the projections and
the matching head are not read) and `mlp.safetensors` with the linear layers `layers.0`, `layers.2`, `layers.4`, `layers.6` and `layers.7`.
A pickle (ImageReward.pt) is not loaded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fireassay.errors import WorkloadError
from fireassay.instruments.images import pixels
from fireassay.instruments.images.clip import batches
from fireassay.instruments.local_model import LocalModel
from fireassay.quality.scoring.pictures import Picture

BATCH: Final = 16
HEAD: Final = "mlp.safetensors"
LAYER: Final = re.compile(r"(?:mlp\.)?layers\.(\d{1,3})\.(weight|bias)")
LONGEST: Final = 35  # tokens of a prompt
MEAN: Final = 0.16717362830052426  # of the rewards in its training set
DEVIATION: Final = 1.0333394966054072
UNREAD: Final = ("vision_proj.", "text_proj.", "itm_head.")  # weights of transformers' class that take no part


class LocalReward:
    """A BLIP model with a head of linear layers, loaded once.

    Raises:
        EnvironmentLacks: torch or transformers is not installed.
        WorkloadError: the folder holds no such model, or the head does not fit it.
    """

    def __init__(self, folder: str | Path, device: str = "cpu") -> None:
        home = LocalModel(folder, "a BLIP model")
        kind = home.configuration.get("model_type")
        if kind != "blip" or not (home.home / HEAD).is_file():
            raise WorkloadError(
                f"{str(folder)!r} is no ImageReward for transformers: give a folder with a BlipForImageTextRetrieval (model_type 'blip', found "
                f"{kind!r}) and its head in {HEAD}"
            )
        self._torch, self._device = home.torch, device
        self._model = home.model("BlipForImageTextRetrieval", device=device, whole=True, unread=UNREAD)
        self._tokenizer: Any = home.load("AutoTokenizer")
        self._head = [layer.to(device) for layer in self._layers(home.home / HEAD)]
        self._signature = home.signature(LONGEST, device=device, images=pixels)

    @property
    def signature(self) -> str:
        """Digests of weights, head, tokenizer and preprocessor, longest prompt in tokens, precision, libraries."""
        return self._signature

    def rewards(self, pictures: Sequence[Picture], texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The reward of each pair, and which texts were cut."""
        made, cut = list[float](), list[bool]()
        for part in batches(list(zip(pictures, texts, strict=True)), BATCH):
            words = [text for _, text in part]
            cut += [len(ids) > LONGEST for ids in self._tokenizer(words, truncation=False, verbose=False)["input_ids"]]
            made += self._batch([picture for picture, _ in part], words)
        return np.array(made, dtype=np.float64), np.array(cut, dtype=bool)

    def _batch(self, pictures: Sequence[Picture], texts: Sequence[str]) -> list[float]:
        torch, size = self._torch, int(self._model.config.vision_config.image_size)
        values = np.stack([pixels.normalised(pixels.shortest_side(one.pixels, size)) for one in pictures])
        given = self._tokenizer(list(texts), padding="max_length", truncation=True, max_length=LONGEST, return_tensors="pt").to(
            self._device
        )
        with torch.inference_mode():
            seen = self._model.vision_model(pixel_values=torch.from_numpy(values).to(self._device)).last_hidden_state
            read = self._model.text_encoder(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                encoder_hidden_states=seen,
                encoder_attention_mask=torch.ones(seen.shape[:-1], dtype=torch.long, device=self._device),
            )
            reward = read.last_hidden_state[:, 0, :].float()
            for layer in self._head:
                reward = layer(reward)
        found: list[float] = ((reward[:, 0].double() - MEAN) / DEVIATION).tolist()
        return found

    def _layers(self, path: Path) -> list[Any]:
        """The head's linear layers in order; dropout between them does nothing here."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            tensors = load_file(path)
        except (OSError, SafetensorError) as error:
            raise WorkloadError(f"{path} cannot be read: {error}") from None
        parts: dict[int, dict[str, Any]] = {}
        for name, tensor in tensors.items():
            if match := LAYER.fullmatch(name):
                parts.setdefault(int(match[1]), {})[match[2]] = tensor
        width = int(self._model.config.text_config.hidden_size)
        layers = []
        for number, part in sorted(parts.items()):
            if set(part) != {"weight", "bias"} or part["weight"].dim() != 2 or part["weight"].shape[1] != width:
                raise WorkloadError(f"{path}: layers.{number} is no linear layer of {width} inputs")
            layer = self._torch.nn.utils.skip_init(self._torch.nn.Linear, width, part["weight"].shape[0])
            layer.load_state_dict({name: tensor.float() for name, tensor in part.items()})
            layers.append(layer.eval())
            width = int(part["weight"].shape[0])
        if not layers or width != 1:
            raise WorkloadError(f"{path} has no linear layers layers.0 ... that end in one output")
        return layers
