"""Which plug-ins are there?  A metric, runner, launcher, fault, audit, gate or report is one file.

The file's stem is the plug-in's name in specs, records, reports, docs and tests.  Every plug-in file of a folder
defines one constant, named after the folder (`metrics/` -> `METRIC`), whose `.name` equals the stem.  Third parties
add theirs by the entry-point group `assay.<folder>` (`assay.metrics`), each pointing to such a constant.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from assay.errors import EnvironmentLacks

# package below `assay` -> the constant that a plug-in file defines
PLUG_INS: dict[str, str] = {
    "metrics": "METRIC",
    "runners": "RUNNER",
    "launchers": "LAUNCHER",
    "faults": "FAULT",
    "verdict.audits": "AUDIT",
    "verdict.gates": "GATE",
    "reports": "REPORT",
    "cli": "VERB",
}

# Files that serve their folder's plug-ins and are none themselves.
SUPPORT: dict[str, frozenset[str]] = {
    "metrics": frozenset({"base", "estimate", "measured", "per_launch", "ledger", "recovery", "dollars", "phases"}),
    "runners": frozenset({"base"}),
    "launchers": frozenset({"base", "guard"}),
    "faults": frozenset({"base"}),
    "verdict.audits": frozenset({"base"}),
    "verdict.gates": frozenset({"base"}),
    "reports": frozenset({"base", "view", "charts", "format"}),
    "cli": frozenset({"base"}),
}


@cache
def names(package: str) -> tuple[str, ...]:
    """The names of a package's own plug-ins, from the file names alone: nothing is imported."""
    folder = Path(__file__).parent.joinpath(*package.split("."))
    found = (module.name for module in pkgutil.iter_modules([str(folder)]) if not module.name.startswith("_"))
    return tuple(sorted(name for name in found if name not in SUPPORT[package]))


@cache
def third_party(package: str) -> tuple[str, ...]:
    """The names of the plug-ins that other installed distributions add by entry point."""
    return tuple(sorted(point.name for point in entry_points(group=f"assay.{package}")))


def load(package: str, name: str) -> Any:
    """One plug-in by name.

    Raises:
        EnvironmentLacks: no such plug-in; the message lists those that exist.
    """
    if name in names(package):
        return getattr(importlib.import_module(f"assay.{package}.{name}"), PLUG_INS[package])
    for point in entry_points(group=f"assay.{package}"):
        if point.name == name:
            return point.load()
    known = ", ".join((*names(package), *third_party(package)))
    raise EnvironmentLacks(f"there is no {package} plug-in named {name!r}; there are: {known}")


def load_all(package: str) -> dict[str, Any]:
    """Every plug-in of a package, own and third-party, by name."""
    return {name: load(package, name) for name in (*names(package), *third_party(package))}
