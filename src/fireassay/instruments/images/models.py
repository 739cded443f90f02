"""Which model does a score of images need, by its kind and options?  Loaded once in a process."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from fireassay.errors import refuse
from fireassay.instruments.images.clip import LocalClip
from fireassay.instruments.images.decoding import pillow
from fireassay.instruments.images.engine import EngineAnswerer
from fireassay.instruments.images.questions import LocalAnswerer
from fireassay.instruments.images.reward import LocalReward

DTYPES: Final = ("float32", "bfloat16", "float16")


def load(kind: str, options: Mapping[str, str | int | float | bool]) -> Any:
    """The model of option `model` (a folder; for questions an address too) on the device of option `device`.

    Raises:
        SpecError: an option of the model is invalid.
        EnvironmentLacks, WorkloadError: as the models.
    """
    pillow()
    model, device = str(options["model"]), str(options["device"])
    if kind == "questions" and "://" in model:
        return EngineAnswerer(model, str(options["served"]), str(options["api_key_env"]))
    dtype = str(options.get("dtype", DTYPES[0]))
    if dtype not in DTYPES:
        raise refuse("evaluation.options.vqascore.dtype", repr(dtype), f"one of {', '.join(DTYPES)}", source="the options of scores")
    return _local(kind, model, device, dtype)


@lru_cache(maxsize=3)
def _local(kind: str, folder: str, device: str, dtype: str) -> Any:
    if kind == "questions":
        return LocalAnswerer(folder, device, dtype)
    return LocalReward(folder, device) if kind == "reward" else LocalClip(folder, device)
