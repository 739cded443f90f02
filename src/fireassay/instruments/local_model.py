"""How is a model of `transformers` loaded from a folder of a stranger, and what identifies it?

Safetensors only, no code of the folder is run, nothing is fetched.  A weight that the folder lacks would be drawn at random: such a folder is refused,
where the caller says so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from fireassay.errors import AssayError, EnvironmentLacks, WorkloadError
from fireassay.instruments.calls.generation import quiet

CONFIGURATION: Final = "config.json"
PREPROCESSORS: Final = ("preprocessor_config.json", "processor_config.json")
SAFE: Final = {"local_files_only": True, "trust_remote_code": False}
MAX_CONFIGURATION: Final = 1 << 20  # bytes


class LocalModel:
    """A folder with a model, opened for loading.

    Raises:
        EnvironmentLacks: torch or transformers is not installed.
        WorkloadError: the folder has no configuration, or no weights in safetensors.
    """

    def __init__(self, folder: str | Path, what: str) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise EnvironmentLacks(f"{what} in this process needs {error.name}: pip install 'fireassay[engine]'") from None
        self.torch: Any = torch
        self.transformers: Any = transformers
        self.what, self.home = what, Path(folder)
        self.weights = sorted(self.home.glob("*.safetensors"))
        if not (self.home / CONFIGURATION).is_file() or not self.weights:
            raise WorkloadError(
                f"no {self._noun} in {str(folder)!r}: give a folder with config.json, a tokenizer and weights in *.safetensors"
            )

    @property
    def _noun(self) -> str:
        return self.what.removeprefix("an ").removeprefix("a ")

    @property
    def configuration(self) -> dict[str, Any]:
        """config.json. Raises WorkloadError: it is no JSON object."""
        path = self.home / CONFIGURATION
        try:
            found = json.loads(path.read_bytes()) if path.stat().st_size <= MAX_CONFIGURATION else None
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise WorkloadError(f"{path} is not the configuration of a model")
        return found

    def load(self, loader: str, **words: Any) -> Any:
        """What a class of transformers makes of the folder, as `load("AutoTokenizer")`.

        Raises:
            WorkloadError: it cannot.
        """
        try:
            with quiet():
                return getattr(self.transformers, loader).from_pretrained(self.home, **SAFE, **words)
        except AssayError:
            raise
        except Exception as error:  # of a folder of a stranger it raises anything
            raise WorkloadError(f"no {self._noun} could be loaded from {str(self.home)!r}: {error}") from error

    def model(self, loader: str, *, dtype: str = "float32", device: str = "cpu", whole: bool = False, unread: tuple[str, ...] = ()) -> Any:
        """The model in a number format on a device, ready to be read. `whole`: refuse a folder that lacks weights, but for `unread` ones.

        Raises:
            WorkloadError: it cannot be loaded, lacks weights, or there is no such device.
        """
        model, report = self.load(loader, use_safetensors=True, dtype=getattr(self.torch, dtype), output_loading_info=True)
        missing = sorted(name for name in map(str, report.get("missing_keys", ())) if not name.startswith(unread))
        if whole and missing:
            raise WorkloadError(
                f"{str(self.home)!r} lacks {len(missing)} weights of {type(model).__name__}, as {missing[0]}: is it another model?"
            )
        if device != "cpu":
            self.torch.backends.cudnn.allow_tf32 = False  # single precision, as on the processor
        try:
            return model.to(device).eval()
        except (RuntimeError, AssertionError) as error:
            raise WorkloadError(f"no model could be put on the device {device!r}: {error}") from error

    def signature(self, longest: int, *, dtype: str = "float32", device: str = "cpu", images: Any = None) -> str:
        """Digests of weights, of tokenizer and configuration, and of the preprocessor; longest text in tokens, precision, libraries.

        `images`: what prepares them, if the model reads any.
        """
        every = [path for path in sorted(self.home.iterdir()) if path.is_file() and path.suffix in (".json", ".txt", ".model", ".jinja")]
        others = [path for path in every if images is None or path.name not in PREPROCESSORS]
        seen = (
            ""
            if images is None
            else f"preprocessor:sha256:{digest([path for path in every if path.name in PREPROCESSORS])}|{_libraries(images)}"
        )
        where = "" if device == "cpu" else f"device:{device}|"
        libraries = f"transformers@{self.transformers.__version__}|torch@{self.torch.__version__}"
        return f"weights:sha256:{digest(self.weights)}|tokenizer:sha256:{digest(others)}|{seen}max:{longest}|dtype:{SHORT.get(dtype, dtype)}|{where}{libraries}"


SHORT: Final = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}


def _libraries(images: Any) -> str:
    """What prepares an image, and with which Pillow: its resampling moves a score."""
    from PIL import __version__

    name = getattr(images, "__name__", type(images).__name__).rpartition(".")[2]
    return f"pixels:{name}|pillow@{__version__}|"


def digest(paths: Sequence[Path]) -> str:
    """SHA-256 over names and contents of files, in this order."""
    whole = sha256()
    for path in paths:
        with path.open("rb") as file:
            part = sha256()
            while block := file.read(1 << 20):
                part.update(block)
        whole.update(path.name.encode() + b"\0" + part.digest())
    return whole.hexdigest()


def longest(tokenizer: Any, positions: Any) -> int:
    """Tokens of the longest text: of the tokenizer, and of the model if it says so."""
    return min(int(tokenizer.model_max_length), int(positions or 1 << 30))
