"""How is a script measured that knows nothing of assay?  By hooks that are put into torch when the script imports it.

`arm` puts a finder before all others that waits for torch, lets it load, and then installs `_hooks`.  A script that marks its
own steps (`assay.instruments.probe.start`) has the last word: the hooks are taken out again.
Nothing is drawn from a random number generator, no tensor is changed, no collective is added: weights stay what they were.
Whatever goes wrong here is said once on standard error and ends the measuring, never the training.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.instruments._attached import Attached

_undo: list[Callable[[], None]] = []
_current: Attached | None = None


class _WaitsForTorch:
    """A finder that finds nothing but torch, and that once."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """torch's own specification, whose loader installs the hooks when it has loaded torch."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def loaded(module: ModuleType) -> None:
            load(module)
            _attach(module)

        spec.loader.exec_module = loaded  # type: ignore[method-assign]
        return spec


def current() -> Attached | None:
    """Who measures this process by hooks, if they are in."""
    return _current


def arm() -> None:
    """Install the hooks as soon as torch is imported; at once if it is. Those that are in stay as they are."""
    if _current is not None or any(isinstance(finder, _WaitsForTorch) for finder in sys.meta_path):
        return
    if "torch" in sys.modules:
        _attach(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, _WaitsForTorch())


def detach() -> None:
    """Take the hooks out again, and wait for torch no longer: somebody else measures the steps."""
    global _current
    _current = None
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _WaitsForTorch)]
    while _undo:
        _undo.pop()()


def _attach(torch: Any) -> None:
    global _current
    try:
        from assay.instruments import _differencing, _hooks, probe
        from assay.instruments._attached import Attached

        recorder = probe.recorder()
        if recorder is None:
            return
        attached = Attached(torch, recorder)
        _hooks.install(torch, attached, _undo)
        _current = attached
        if os.environ.get(_differencing.VARIABLE) == "1":
            _differencing.install(torch, attached, recorder, _undo)
    except Exception as error:
        detach()
        print(f"assay: this worker's steps are not measured: {type(error).__name__}: {error}", file=sys.stderr)
