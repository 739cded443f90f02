"""What is a sheet of a workbook made of?  Names, numbers with their format, and coloured status words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

GENERAL: Final = "General"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number with the Excel format that suits its unit."""

    value: float
    style: str = GENERAL


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A status word, coloured."""

    status: str
    word: str


Content = str | int | float | None | Figure | Mark


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """One sheet: its name, the heads of its columns, its rows; those of `frame`, of which there may be many, before them."""

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[Content, ...], ...]
    # of texts and numbers, its columns in the order of the heads
    frame: pl.DataFrame | None = field(default=None, repr=False)
