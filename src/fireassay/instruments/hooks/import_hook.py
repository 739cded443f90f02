"""How do we act as soon as a module is imported, and not before?

By a finder that stays until the module is executed: `importlib.util.find_spec`, which libraries call to check what is installed, imports
nothing. After a failed import it waits again.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Waits:
    """A finder for one module, which delegates to the other finders and acts when the module has been executed."""

    def __init__(self, name: str, then: Callable[[Any], None], *, stays: bool = False) -> None:
        self.name, self._then, self.stays = name, then, stays
        self._asking: set[int] = set()  # threads inside the other finders

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module's spec, with a loader that acts after executing the module."""
        thread = threading.get_ident()
        if name != self.name or thread in self._asking:  # called by another such finder
            return None
        self._asking.add(thread)
        try:
            specs = (item.find_spec(name, path, target) for item in [*sys.meta_path] if hasattr(item, "find_spec"))
            spec = next((item for item in specs if item is not None), None)
        finally:
            self._asking.discard(thread)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._then(module)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def when_there(then: Callable[[Any], None], *, name: str = "torch", stays: bool = False) -> None:
    """Run `then` with a module, now or on import; `stays`: even if the script turns out to mark its own steps."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, Waits(name, then, stays=stays))
