"""Which of many equal cases are part of `make test`?  The first few; the rest is left to `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings


def some(cases: Iterable[Any], first: int = 1, *, rows: bool = False) -> list[Any]:
    """All cases as parameters, of which only the first so many are not deep; `rows`: each is a row of several parameters."""
    return [case if number < first else _deep(case, rows) for number, case in enumerate(cases)]


def examples(most: int) -> settings:
    """As many examples of a costly property as are drawn of any other one, but at most so many."""
    return settings(max_examples=min(most, settings().max_examples))


def drawn(few: int, every: int) -> int:
    """How many examples of a costly property are drawn: so few in `make test`, all of them in `make test-all` and by any other call."""
    return few if settings.default.max_examples == settings.get_profile("few").max_examples else every


def _deep(case: Any, rows: bool) -> Any:
    """A case, which may be a parameter with an id of its own, as a deep one."""
    if isinstance(case, ParameterSet):
        return case._replace(marks=(*case.marks, pytest.mark.deep))
    return pytest.param(*(case if rows else (case,)), marks=pytest.mark.deep)
