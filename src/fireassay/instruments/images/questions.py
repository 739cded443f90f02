"""How probable does a local vision-language model find an answer to a question about an image?

One pass over image and question, in the model's own chat template where it has one; the softmax of the raw logits over the whole vocabulary at
the first position of the answer, in single precision.  Pairs whose inputs have equal shapes go through the model together: nothing is padded.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fireassay.errors import WorkloadError
from fireassay.instruments.images.clip import batches
from fireassay.instruments.local_model import LocalModel, longest
from fireassay.quality.scoring.pictures import Picture

BATCH: Final = 8
Inputs = Mapping[str, Any]  # name -> tensor of one pair
OWN_TOKENS: Final = ("blip", "instructblip")  # model types whose processors put the image's tokens in front themselves


class LocalAnswerer:
    """A model of AutoModelForImageTextToText with its processor, loaded once.

    Raises:
        EnvironmentLacks: torch, transformers or Pillow is not installed.
        WorkloadError: the folder holds no such model in safetensors that they can load, or there is no such device.
    """

    def __init__(self, folder: str | Path, device: str = "cpu", dtype: str = "float32") -> None:
        home = LocalModel(folder, "a vision-language model")
        self._torch, self._device = home.torch, device
        self._model = home.model("AutoModelForImageTextToText", dtype=dtype, device=device, whole=True)
        self._processor: Any = home.load("AutoProcessor")
        self._processor.image_processor = home.load("AutoImageProcessor", backend="pil")  # the same with torchvision and without
        self._tokenizer: Any = self._processor.tokenizer
        self._chat = bool(getattr(self._processor, "chat_template", None))
        self._prefix = "" if self._chat else _image_token(self._processor, str(self._model.config.model_type))
        self._start = _decoder_start(self._model)
        self._keep = {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(self._model.forward).parameters else {}
        positions = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        known = home.signature(longest(self._tokenizer, positions), dtype=dtype, device=device, images=self._processor.image_processor)
        self._signature = f"in:process|chat:{'yes' if self._chat else 'no'}|{known}"

    @property
    def signature(self) -> str:
        """Whether its chat template is used; digests of weights, tokenizer and preprocessor, precision, libraries."""
        return self._signature

    def token(self, answer: str) -> int:
        """The answer's token. Raises WorkloadError: it is several."""
        ids: list[int] = self._tokenizer.encode(answer, add_special_tokens=False)
        if len(ids) != 1:
            raise WorkloadError(
                f"the answer {answer!r} is {len(ids)} tokens to this model; choose one that is a single token: vqascore.answer"
            )
        return ids[0]

    def check(self, answer: str) -> None:
        """Raises WorkloadError: the answer is several tokens."""
        self.token(answer)

    def answered(self, pictures: Sequence[Picture], questions: Sequence[str], answer: str) -> NDArray[np.float64]:
        """The probability of the answer's token, and 0; NaN for a pair that the processor refuses. Shape [pairs, 2]."""
        token = self.token(answer)
        found = np.full((len(questions), 2), math.nan)
        alike: dict[Any, list[tuple[int, Inputs]]] = {}
        for index, (picture, question) in enumerate(zip(pictures, questions, strict=True)):
            inputs = self._inputs(picture, question)
            if inputs is not None:
                shape = tuple((name, tuple(value.shape)) for name, value in sorted(inputs.items()))
                alike.setdefault(shape, []).append((index, inputs))
        for group in alike.values():
            for part in batches(group, BATCH):
                found[[index for index, _ in part], 0] = self._probabilities([inputs for _, inputs in part], token)
                found[[index for index, _ in part], 1] = 0.0
        return found

    def _inputs(self, picture: Picture, question: str) -> Inputs | None:
        """None if the question has the model's own marks for images in it."""
        try:
            if self._chat:
                content = [{"type": "image", "image": picture.pixels}, {"type": "text", "text": question}]
                talk = [{"role": "user", "content": content}]
                made = self._processor.apply_chat_template(
                    talk, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
                )
            else:
                made = self._processor(images=[picture.pixels], text=[self._prefix + question], return_tensors="pt")
        except ValueError:
            return None
        return {name: value for name, value in made.items() if self._torch.is_tensor(value)}

    def _probabilities(self, group: Sequence[Inputs], token: int) -> list[float]:
        torch = self._torch
        together = {name: torch.cat([inputs[name] for inputs in group]).to(self._device) for name in group[0]}
        together = {name: value.to(self._model.dtype) if value.is_floating_point() else value for name, value in together.items()}
        if self._start is not None:
            together["decoder_input_ids"] = torch.full((len(group), 1), self._start, device=self._device)
        with torch.inference_mode():
            logits = self._model(**together, **self._keep).logits[:, -1, :].float()
        found: list[float] = torch.log_softmax(logits.double(), dim=-1)[:, token].exp().tolist()
        return found


def _image_token(processor: Any, kind: str) -> str:
    """What stands for the image in a text without a chat template; nothing where the processor adds it."""
    token = getattr(processor, "image_token", None)
    return "" if token is None or kind.startswith(OWN_TOKENS) else str(token)


def _decoder_start(model: Any) -> int | None:
    """The token with which a decoder begins its answer; None without an encoder of its own for the question."""
    text = model.config.get_text_config()
    if not (getattr(model.config, "is_encoder_decoder", False) or getattr(text, "is_encoder_decoder", False)):
        return None
    start = getattr(model.generation_config, "decoder_start_token_id", None)
    return int(start if start is not None else getattr(text, "decoder_start_token_id", None) or 0)
