"""Which vectors does a local CLIP model give images and texts?

A CLIPModel of `transformers` from a folder, as CLIP, PickScore and HPSv2 are published or converted to.  Single precision; texts are cut at the
model's longest (77 tokens of CLIP), keeping the end mark.  Batches change a vector's last digits only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from fireassay.errors import WorkloadError
from fireassay.instruments.images import pixels
from fireassay.instruments.local_model import LocalModel, longest
from fireassay.quality.scoring.pictures import Picture, Resize

BATCH: Final = 32
T = TypeVar("T")


class LocalClip:
    """A CLIP model with its tokenizer and preprocessor, loaded once.

    Raises:
        EnvironmentLacks: torch, transformers or Pillow is not installed.
        WorkloadError: the folder holds no CLIP model in safetensors that they can load, or there is no such device.
    """

    def __init__(self, folder: str | Path, device: str = "cpu") -> None:
        home = LocalModel(folder, "a CLIP model")
        kind = home.configuration.get("model_type")
        if kind != "clip":
            raise WorkloadError(
                f"{str(folder)!r} holds a model of the type {kind!r}; a CLIP-shaped score reads a CLIPModel of transformers ('clip')"
            )
        self._torch, self._device = home.torch, device
        self._model = home.model("CLIPModel", device=device, whole=True)
        self._tokenizer: Any = home.load("AutoTokenizer")
        self._processor: Any = home.load("AutoImageProcessor", backend="pil")
        self._longest = longest(self._tokenizer, self._model.config.text_config.max_position_embeddings)
        self._signature = home.signature(self._longest, device=device, images=self._processor)

    @property
    def signature(self) -> str:
        """Digests of weights, tokenizer and preprocessor, longest text in tokens, precision, libraries."""
        return self._signature

    @property
    def scale(self) -> float:
        """exp(logit_scale)."""
        return float(self._model.logit_scale.detach().double().exp())

    def images(self, pictures: Sequence[Picture], resize: Resize) -> NDArray[np.float64]:
        """Projected vectors, shape [images, width]."""
        size = int(self._model.config.vision_config.image_size)
        made = []
        for part in batches(pictures, BATCH):
            if resize == "longest":
                values = np.stack([pixels.normalised(pixels.longest_side(one.pixels, size)) for one in part])
            else:
                values = self._processor(images=[one.pixels for one in part], return_tensors="np")["pixel_values"]
            given = self._torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).to(self._device)
            made.append(self._features(self._model.get_image_features, pixel_values=given))
        return self._together(made)

    def texts(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Projected vectors, shape [texts, width], and which texts were cut."""
        made, cut = [], list[bool]()
        for part in batches(texts, BATCH):
            lengths = [len(ids) for ids in self._tokenizer(list(part), truncation=False, verbose=False)["input_ids"]]
            cut += [length > self._longest for length in lengths]
            given = self._tokenizer(list(part), truncation=True, max_length=self._longest, padding=True, return_tensors="pt")
            words = {name: given[name].to(self._device) for name in ("input_ids", "attention_mask")}
            made.append(self._features(self._model.get_text_features, **words))
        return self._together(made), np.array(cut, dtype=bool)

    def _features(self, of: Any, **words: Any) -> NDArray[np.float64]:
        with self._torch.inference_mode():
            found = of(**words)
        vectors: NDArray[np.float64] = getattr(found, "pooler_output", found).double().cpu().numpy()  # before transformers 5 a tensor
        return vectors

    def _together(self, made: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.concatenate(made) if made else np.empty((0, int(self._model.config.projection_dim)))


def batches(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The values, so many at a time."""
    return (values[begin : begin + size] for begin in range(0, len(values), size))
