"""How does a text stand for images that an engine made?

    png 1024x1024 1523412 sha256:9f86d081...      a line for each image: type, pixels, bytes of its file, digest

Where images are kept, the digest is the name of the file.  Type and size are those that the file's own head states.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

LINE: Final = re.compile(r"(\w+) (\d+)x(\d+) (\d+) sha256:([0-9a-f]{64})")
SUFFIXES: Final = {"jpeg": "jpg"}


class ImageHead(NamedTuple):
    """An image by its head: "png", width and height in pixels, bytes of its file, and their SHA-256."""

    kind: str
    width: int
    height: int
    nbytes: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.kind} {self.size} {self.nbytes} sha256:{self.sha256}"

    @property
    def size(self) -> str:
        """ "1024x1024"."""
        return f"{self.width}x{self.height}"

    @property
    def file(self) -> str:
        """The name under which it is kept."""
        return f"{self.sha256}.{SUFFIXES.get(self.kind, self.kind)}"


def described(text: str | None) -> list[ImageHead]:
    """The images that a text stands for; other lines are left out."""
    found = (LINE.fullmatch(line) for line in (text or "").split("\n"))
    return [ImageHead(one[1], int(one[2]), int(one[3]), int(one[4]), one[5]) for one in found if one is not None]
