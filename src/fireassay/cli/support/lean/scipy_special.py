"""How do we avoid the tenth of a second that scipy's special functions cost because their package prepares for other array libraries?

The functions themselves are compiled into two modules. `scipy.special` wraps them for PyTorch, JAX and others and copies all names of
numpy, which makes numpy import its Fortran compiler, masked arrays and its test tools. A stand-in for the package offers the compiled
functions; whoever asks it for anything else, such as `scipy.stats`, gets the package. Not for a process that runs user code.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

NAME: Final = "scipy.special"
COMPILED: Final = "_ufuncs"


class _StandIn(ModuleType):
    """The compiled functions of `scipy.special`; replaces itself with the package if asked for more."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by the import system, which then imports the submodule of that name
            raise AttributeError(name)
        compiled = sys.modules[f"{NAME}.{COMPILED}"]
        found = getattr(compiled, name) if name in compiled.__all__ else getattr(_package(self), name)
        setattr(self, name, found)  # found at once the next time: functions are imported where they are called
        return found


def import_special() -> None:
    """Import the functions of `scipy.special`, not the package. Does nothing if that is already imported."""
    if NAME in sys.modules or (spec := find_spec("scipy")) is None or spec.submodule_search_locations is None:
        return
    stand_in = _StandIn(NAME)
    stand_in.__path__ = [f"{folder}/special" for folder in spec.submodule_search_locations]
    sys.modules[NAME] = stand_in
    try:
        importlib.import_module(f"{NAME}.{COMPILED}")
    except ImportError:  # another version of scipy
        del sys.modules[NAME]


def _package(stand_in: ModuleType) -> ModuleType:
    if sys.modules.get(NAME) is stand_in:
        del sys.modules[NAME]
    return importlib.import_module(NAME)
