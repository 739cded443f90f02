"""Which files does a worker of a training need?  All that the probe and the hooks import, also inside functions, and the data beside them.

From them `probe/` builds the distribution fireassay-probe.  Needs the standard library only, as it runs while a wheel is built.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
ROOTS = (
    "fireassay.probe",
    "fireassay.callbacks",
    "fireassay.instruments.attach",
    "fireassay.instruments.injected.sitecustomize",
    *(f"fireassay.instruments.callbacks.{name}" for name in ("accelerate", "hf", "lightning")),
)
DATA = ("py.typed", "*.json")


def files() -> list[Path]:
    """The files, in order."""
    modules = [file for file in map(_file, closure()[0]) if file is not None]
    folders = {file.parent for file in modules}
    return sorted({*modules, *(data for folder in folders for pattern in DATA for data in folder.glob(pattern))})


def closure(roots: tuple[str, ...] = ROOTS) -> tuple[set[str], dict[str, str]]:
    """Our modules that these import, and the others, each with one that imports it."""
    ours: set[str] = set()
    others: dict[str, str] = {}
    waiting = [(root, "") for root in roots]
    while waiting:
        module, by = waiting.pop()
        if module.partition(".")[0] != "fireassay":
            others.setdefault(module.partition(".")[0], by)
        elif module not in ours and (file := _file(module)) is not None:
            ours.add(module)
            if module != "fireassay":  # which loads its names where they are first used
                waiting += [(module.rpartition(".")[0], module), *((name, module) for name in _imported(ast.parse(file.read_text())))]
    return ours, others


def _file(module: str) -> Path | None:
    """The module's file; None if there is none of that name: a class, a function."""
    path = SOURCE / module.replace(".", "/")
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def _imported(node: ast.AST) -> Iterator[str]:
    """What is imported at run time, also inside functions."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from (node.module, *(f"{node.module}.{name.name}" for name in node.names))
    for child in ast.iter_child_nodes(node):
        yield from _imported(child)
