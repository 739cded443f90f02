"""Which of many equal cases are part of `make test`?  The first few; the rest is left to `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some(cases: Iterable[Any], first: int = 1, *, rows: bool = False) -> list[Any]:
    """All cases as parameters, of which only the first so many are not deep; `rows`: each is a row of several parameters."""
    return [
        case if number < first else pytest.param(*(case if rows else (case,)), marks=pytest.mark.deep) for number, case in enumerate(cases)
    ]
