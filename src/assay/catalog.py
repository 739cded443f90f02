"""Which plug-ins are there?  A metric, runner, launcher, fault, audit, gate or report is one file.

The file's stem is the plug-in's name in specs, records, reports, docs and tests.  Every plug-in file of a folder
defines one constant, named after the folder (`metrics/` -> `METRIC`), whose `.name` equals the stem; a file without it
serves the others.  Nothing is registered anywhere: a new file in the folder is a new plug-in.  Third parties
add theirs by the entry-point group `assay.<folder>` (`assay.metrics`), each pointing to such a constant.
"""

from __future__ import annotations

import importlib
import os
from functools import cache

TYPE_CHECKING = False  # read by type checkers as true; see assay/__init__.py
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from typing import Any

# package below `assay` -> the constant that a plug-in file defines
PLUG_INS: dict[str, str] = {
    "metrics": "METRIC",
    "runners": "RUNNER",
    "runners.foreign": "FOREIGN",
    "launchers": "LAUNCHER",
    "faults": "FAULT",
    "traffic.backends": "BACKEND",
    "traffic.tasks": "TASK",
    "verdict.audits": "AUDIT",
    "verdict.gates": "GATE",
    "reports": "REPORT",
    "cli.verbs": "VERB",
}
# A folder of plug-ins that are sorted into subfolders; elsewhere a subfolder is a package of its own.
SORTED = frozenset({"verdict.audits"})


@cache
def names(package: str) -> tuple[str, ...]:
    """The names of a package's own plug-ins: the files that define its constant. Nothing is imported."""
    return tuple(sorted(_modules(package)))


@cache
def third_party(package: str) -> tuple[str, ...]:
    """The names of the plug-ins that other installed distributions add by entry point."""
    return tuple(sorted(point.name for point in _entry_points(package)))


def module(package: str, name: str) -> str:
    """The module that defines one of a package's own plug-ins.

    Raises:
        KeyError: there is no such plug-in in this distribution.
    """
    return _modules(package)[name]


def load(package: str, name: str) -> Any:
    """One plug-in by name.

    Raises:
        EnvironmentLacks: no such plug-in; the message lists those that exist.
    """
    if name in _modules(package):
        return getattr(importlib.import_module(module(package, name)), PLUG_INS[package])
    for point in _entry_points(package):
        if point.name == name:
            return point.load()
    from assay.errors import EnvironmentLacks  # here: `assay --help` reads names and must not load dataclasses

    known = ", ".join((*names(package), *third_party(package)))
    raise EnvironmentLacks(f"there is no {package} plug-in named {name!r}; there are: {known}")


def load_all(package: str) -> dict[str, Any]:
    """Every plug-in of a package, own and third-party, by name."""
    return {name: load(package, name) for name in (*names(package), *third_party(package))}


@cache
def _modules(package: str) -> dict[str, str]:
    """Name -> module of a package's own plug-ins."""
    folder = os.path.join(os.path.dirname(__file__), *package.split("."))
    parts = [entry.name for entry in os.scandir(folder) if entry.is_dir()] if package in SORTED else []
    return {
        file.removesuffix(".py"): ".".join(("assay", package, *part, file.removesuffix(".py")))
        for part in ((), *((part,) for part in parts))
        for file in os.listdir(os.path.join(folder, *part))
        if file.endswith(".py") and _defines(os.path.join(folder, *part, file), PLUG_INS[package])
    }


def _defines(path: str, constant: str) -> bool:
    with open(path, "rb") as source:
        text = b"\n" + source.read()
    return f"\n{constant} = ".encode() in text or f"\n{constant}: ".encode() in text


def _entry_points(package: str) -> tuple[EntryPoint, ...]:
    # Imported here: importlib.metadata takes longer to load than an empty interpreter takes to start.
    from importlib.metadata import entry_points

    return tuple(entry_points(group=f"assay.{package}"))
