"""Which converter turns a Vega-Lite specification into SVG?

vl-convert in this process, unless another one was installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final

Convert = Callable[[Mapping[str, Any]], Callable[[], str]]  # starts the conversion; the result is called when needed


def here(specification: Mapping[str, Any]) -> Callable[[], str]:
    """Convert in this process; the engine takes a third of a second to start."""

    def drawn() -> str:
        import vl_convert

        return str(vl_convert.vegalite_to_svg(dict(specification)))

    return drawn


CONVERT: Final[ContextVar[Convert]] = ContextVar("convert", default=here)
