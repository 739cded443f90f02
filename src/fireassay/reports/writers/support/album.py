"""Which images does a page embed?  Small copies of a record, as data URLs, in the order of the page, until they are as large as a page may be.

Every copy is checked when it is read and is read only if it is shown; those beyond the limit, and those that cannot be read, are counted and named.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

from fireassay.errors import RecordError
from fireassay.estimates.format import count
from fireassay.record.untrusted import jpeg
from fireassay.reports.page import Shot
from fireassay.units import MIB

BUDGET: Final = 6 * MIB  # of all copies on a page; as text a third more
MAX_SIDE: Final = 256  # pixels
LIMITED: Final = "not shown: the page's limit of images"
DAMAGED: Final = "its small copy cannot be shown"


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """A copy on a page, or why it is not there."""

    url: str = ""
    width: int = 0
    height: int = 0
    why: str = ""
    detail: str = ""


class Album:
    """The images of one page."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget, self._used = budget, 0
        self._full = False
        self._shown = self._limited = 0
        self._lost: list[str] = []

    def embed(self, shot: Shot) -> Embedded:
        """An image, if the page has room for it."""
        if shot.missing or shot.copy is None:
            return Embedded(why=f"no image: {shot.missing}" if shot.missing else "no image")
        if self._full:
            return self._beyond()
        try:
            content = shot.copy()
            width, height = jpeg.size_of(content, MAX_SIDE)
        except (RecordError, ValueError) as error:
            self._lost.append(str(error))
            return Embedded(why=DAMAGED, detail=str(error))
        if self._used + len(content) > self._budget:
            self._full = True
            return self._beyond()
        self._used += len(content)
        self._shown += 1
        return Embedded(url=f"data:image/jpeg;base64,{base64.b64encode(content).decode()}", width=width, height=height)

    def _beyond(self) -> Embedded:
        self._limited += 1
        return Embedded(why=LIMITED)

    def notes(self) -> list[str]:
        """What the page says of its images; nothing where it has none."""
        told = []
        if self._shown:
            told.append(
                f"{count(self._shown, 'images')}: small copies from the record, {self._used / MIB:.1f} MiB; nothing is loaded from elsewhere."
            )
        if self._limited:
            told.append(f"{count(self._limited, 'images')} only named: a page holds at most {self._budget / MIB:g} MiB of them.")
        if self._lost:
            told.append(f"{count(len(self._lost), 'images')} cannot be shown, the first: {self._lost[0].removesuffix('.')}.")
        return told
