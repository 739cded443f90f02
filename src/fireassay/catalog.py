"""Which plug-ins exist?  A metric, runner, launcher, fault, audit, gate or report is one file.

The file's stem is the plug-in's name in specs, records, reports, docs and tests.  Every plug-in file of a folder defines one constant,
named after the folder (`launchers/` -> `LAUNCHER`), whose `.name` equals the stem; a file in a folder of families (`metrics/` -> `METRICS`)
defines several, whose members have their own names.  A file without the constant is a helper.  There is no registry: a new file in the folder
is a new plug-in.  What is below a folder named after a kind is about records of that kind alone, and not loaded for others (`training`: calls too).
Third parties add theirs through the entry-point group `fireassay.<folder>` (`fireassay.metrics`); each entry point refers to such a constant.
"""

from __future__ import annotations

import importlib
import os
from functools import cache

TYPE_CHECKING = False  # type checkers assume true; see fireassay/__init__.py
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from typing import Any

# subpackage of `assay` -> the constant that a plug-in file defines
PLUG_INS: dict[str, str] = {
    "metrics": "METRIC",
    "runners": "RUNNER",
    "importers": "FOREIGN",
    "importers.harnesses": "HARNESS",
    "importers.timings": "TIMER",
    "importers.profiles": "PROFILER",
    "launchers": "LAUNCHER",
    "faults": "FAULT",
    "instruments.machine.energy": "SOURCE",
    "traffic.backends": "BACKEND",
    "traffic.tasks": "TASK",
    "quality.scoring.metrics": "METRIC",
    "quality.scoring.extractors": "EXTRACTOR",
    "quality.tasks": "FORMAT",
    "verdict.audits": "AUDIT",
    "verdict.claims.audits": "AUDIT",
    "verdict.gates": "GATE",
    "reports.pages": "PAGE",
    "reports.writers": "WRITER",
    "reports.exports": "EXPORT",
    "api.senders": "SENDER",
    "cli.verbs": "VERB",
    "kinds": "KIND",
}
# Folders whose plug-ins are sorted into subfolders; elsewhere a subfolder is a separate package.
SORTED = frozenset({"metrics", "verdict.audits"})
# Folders in which each file defines a family: a tuple or list of named plug-ins.
FAMILIES = {
    "metrics": "METRICS",
    "verdict.audits": "AUDITS",
    "verdict.claims.audits": "AUDITS",
    "traffic.tasks": "TASKS",
    "quality.scoring.metrics": "METRICS",
    "verdict.gates": "GATES",
    "quality.scoring.extractors": "EXTRACTORS",
    "quality.tasks": "FORMATS",
}
FOLDERS = frozenset({"kinds"})  # a plug-in is a folder, whose `__init__` defines the constant
OF_KINDS = frozenset({"metrics", "verdict.audits", "verdict.gates"})  # the folder of a kind may hold some
HELPERS = "support"  # a subfolder without plug-ins


@cache
def names(package: str) -> tuple[str, ...]:
    """The names of a package's built-in plug-ins. Imports nothing except for families."""
    return tuple(sorted(_members(package) if package in FAMILIES else _modules(package)))


@cache
def third_party(package: str) -> tuple[str, ...]:
    """The names of the plug-ins that other installed distributions provide through entry points."""
    return tuple(sorted(point.name for point in _entry_points(package)))


def module(package: str, name: str) -> str:
    """The module that defines one of a package's built-in plug-ins.

    Raises:
        KeyError: this distribution has no such plug-in.
    """
    return _members(package)[name][0] if package in FAMILIES else _modules(package)[name]


def load(package: str, name: str) -> Any:
    """One plug-in by name.

    Raises:
        EnvironmentLacks: no such plug-in; the message lists the existing ones.
    """
    if package in FAMILIES:
        if name in (every := load_all(package)):
            return every[name]
    elif name in _modules(package):
        return getattr(importlib.import_module(module(package, name)), PLUG_INS[package])
    for point in _entry_points(package):
        if point.name == name:
            return point.load()
    from fireassay.errors import EnvironmentLacks, did_you_mean  # deferred: `assay --help` reads names and must not load dataclasses

    known = (*names(package), *third_party(package))
    sentence = f"there is no {package} plug-in named {name!r}. Available: {', '.join(known)}. {did_you_mean(name, known)}"
    raise EnvironmentLacks(sentence.rstrip())


def part(package: str, name: str, module: str, constant: str, *default: Any) -> Any:
    """A constant from one module of a folder plug-in; the default, if given, where it or the module lacks."""
    from importlib.util import find_spec

    home = _modules(package).get(name) or next(point.module for point in _entry_points(package) if point.name == name)
    if default and find_spec(f"{home}.{module}") is None:
        return default[0]
    return getattr(importlib.import_module(f"{home}.{module}"), constant, *default)


def parts(package: str, module: str, constant: str) -> dict[str, Any]:
    """A constant from the given module of every folder plug-in that has that module, by plug-in name."""
    from importlib.util import find_spec

    homes = _modules(package) | {point.name: point.module for point in _entry_points(package)}
    return {
        name: getattr(importlib.import_module(f"{home}.{module}"), constant)
        for name, home in homes.items()
        if find_spec(f"{home}.{module}") is not None
    }


def load_all(package: str, besides: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Every plug-in of a package, built-in and third-party, by name; `besides`: kinds whose folders are left out.

    Raises:
        EnvironmentLacks: two plug-ins of a family share a name.
    """
    if package not in FAMILIES:
        return {name: load(package, name) for name in (*_modules(package, besides), *third_party(package))}
    plug_ins = {name: plug_in for name, (_, plug_in) in sorted((_members(package, besides) if besides else _members(package)).items())}
    for point in _entry_points(package):
        for plug_in in _several(point.load()):
            if plug_in.name in plug_ins:
                raise _twice(package, plug_in.name, point.value)
            plug_ins[plug_in.name] = plug_in
    return plug_ins


@cache
def _members(package: str, besides: frozenset[str] = frozenset()) -> dict[str, tuple[str, Any]]:
    """Name -> (module, plug-in) for a package of families."""
    members: dict[str, tuple[str, Any]] = {}
    for where in _modules(package, besides).values():
        module = importlib.import_module(where)
        family = getattr(module, FAMILIES[package], None)
        for plug_in in _several(getattr(module, PLUG_INS[package]) if family is None else family):
            if plug_in.name in members:
                raise _twice(package, plug_in.name, where)
            members[plug_in.name] = (where, plug_in)
    return members


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _twice(package: str, name: str, where: str) -> Exception:
    from fireassay.errors import EnvironmentLacks

    return EnvironmentLacks(f"there are two {package} plug-ins named {name!r}, one of them in {where}; rename one")


@cache
def _modules(package: str, besides: frozenset[str] = frozenset()) -> dict[str, str]:
    """Plug-in name -> defining module; none below a folder or file named in `besides`. Imports nothing."""
    home = os.path.dirname(__file__)
    top = os.path.join(home, *package.split("."))
    if package in FOLDERS:
        folders = sorted(entry.name for entry in os.scandir(top) if os.path.isfile(os.path.join(entry.path, "__init__.py")))
        return {name: f"fireassay.{package}.{name}" for name in folders}
    constants = (PLUG_INS[package], FAMILIES.get(package, PLUG_INS[package]))
    paths = [*_files(top, package in SORTED), *(_of_kinds(package.rpartition(".")[2]) if package in OF_KINDS else [])]
    return {
        ".".join(parts) if package in FAMILIES else parts[-1]: ".".join(("fireassay", *parts))
        for path in paths
        if _defines(path, constants)
        for parts in [os.path.relpath(path, home).removesuffix(".py").split(os.sep)]
        if besides.isdisjoint(parts)
    }


def _of_kinds(name: str) -> list[str]:
    """The plug-in files of one sort in the folders of kinds: `kinds/<kind>/metrics.py`, or those of a folder of that name."""
    below = os.path.join(os.path.dirname(__file__), "kinds")
    homes = [os.path.join(entry.path, name) for entry in sorted(os.scandir(below), key=lambda entry: entry.name) if entry.is_dir()]
    alone = [f"{home}.py" for home in homes if os.path.isfile(f"{home}.py")]
    return alone + [path for home in homes if os.path.isdir(home) for path in _files(home, False)]


def _files(folder: str, deep: bool) -> list[str]:
    """The Python files of a folder; with `deep`, also those of its subfolders except the helpers'."""
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    below = [entry.path for entry in entries if deep and entry.is_dir() and entry.name != HELPERS]
    files = [entry.path for entry in entries if entry.name.endswith(".py")]
    return files + [path for part in below for path in _files(part, deep)]


def _defines(path: str, constants: tuple[str, ...]) -> bool:
    with open(path, "rb") as source:
        text = b"\n" + source.read()
    return any(f"\n{name} = ".encode() in text or f"\n{name}: ".encode() in text for name in constants)


@cache
def _entry_points(package: str) -> tuple[EntryPoint, ...]:
    return tuple(_every_entry_point().select(group=f"fireassay.{package}"))


@cache
def _every_entry_point() -> Any:
    """Those of all installed distributions, whose files are read once rather than once per package."""
    # Deferred: importlib.metadata takes longer to load than an empty interpreter takes to start.
    from importlib.metadata import entry_points

    return entry_points()
