"""torch, loaded where a test first uses it: every worker of pytest-xdist collects every module, and would load it for nothing."""

from __future__ import annotations

import importlib
from typing import Any


class _Lazy:
    """A module that is loaded when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


torch = _Lazy("torch")
