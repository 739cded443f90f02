"""Which replies are known already?  One file for each request, named by the digest of everything that was asked.

The digest is over the model, its address's dialect, the sampling, the form of the reply, and every message: another rubric, prompt, answer or order is
another file.  Only replies that came are kept.  A file that is no reply as this release writes it is asked again, and so is one that was cut short: a
file appears under its name only when it is whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from fireassay.errors import refuse
from fireassay.quality.judging.reading import MAX_LENGTH

FORMAT: Final = 1
MAX_BYTES: Final = 4 * 1024**2  # of a file; a text of the length below stays under it, however it is escaped
MAX_TEXT: Final = MAX_LENGTH + 1  # characters that are kept of a reply: enough to show that it is too long to be a judgement
MAX_NUMBER: Final = 2**53
KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "text": (str,),
    "finish_reason": (str, type(None)),
    "tokens_in": (int, type(None)),
    "tokens_out": (int, type(None)),
    "seconds": (float, int),
}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a judge replied, and what that took."""

    text: str
    finish_reason: str | None
    tokens_in: int | None
    tokens_out: int | None
    seconds: float

    def usd(self, price: tuple[float, ...]) -> float | None:
        """Its cost at prices of a million tokens in and out; None if either is unknown."""
        if len(price) != 2 or self.tokens_in is None or self.tokens_out is None:
            return None
        return (self.tokens_in * price[0] + self.tokens_out * price[1]) / 1e6


def whole_text(text: str) -> str:
    """What is kept of a reply: its first characters, with U+FFFD for half ones (lone surrogates), which no file can hold."""
    return text[:MAX_TEXT].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def key_of(asked: Mapping[str, Any]) -> str:
    """The digest of a request."""
    return sha256(json.dumps(asked, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


class Cache:
    """A folder of replies; without one nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        """Raises SpecError: the folder cannot be made or written."""
        self.folder = folder
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refuse("evaluation.judge.cache", f"{folder}: {error.strerror}", "a folder that can be written") from None
        if not os.access(folder, os.W_OK):
            raise refuse("evaluation.judge.cache", f"{folder}, which cannot be written", "a folder that can be written")

    def get(self, key: str) -> Reply | None:
        """The reply that is kept, if it is whole."""
        if self.folder is None:
            return None
        path = self._path(key)
        try:
            if path.stat().st_size > MAX_BYTES:
                return None
            data = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return reply_of(data) if isinstance(data, dict) and data.get("format") == FORMAT and data.get("key") == key else None

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply; a full disk loses it and nothing else."""
        if self.folder is None:
            return
        path = self._path(key)
        part = path.with_name(f".{path.name}.{uuid4().hex}")
        with suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            try:
                part.write_text(json.dumps({"format": FORMAT, "key": key, **asdict(reply)}), encoding="utf-8")
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}.json"


def reply_of(data: Mapping[str, Any]) -> Reply | None:
    """A reply from values that anybody may have written; None: they are none."""
    found: dict[str, Any] = {name: data.get(name) for name in KINDS}
    for name, kinds in KINDS.items():
        value = found[name]
        if not isinstance(value, kinds) or isinstance(value, bool):
            return None
        if isinstance(value, int | float) and not 0 <= value < MAX_NUMBER:
            return None
        if isinstance(value, str):
            found[name] = whole_text(value)
    return Reply(**found)
