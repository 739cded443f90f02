"""Does the product use every public function of `fireassay.stats`?  What only tests call is no product, and nobody would notice if it were
wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


Name = tuple[str, str]  # module of fireassay.stats, function or class


def test_every_public_function_of_stats_is_reached_from_the_product(repository: Path) -> None:
    source = repository / "src" / "fireassay"
    files = {path for path in (source / "stats").rglob("*.py") if path.stem != "__init__"}
    stats = {path.stem: ast.parse(path.read_text()) for path in files}
    assert len(stats) == len(files), "two modules of stats share a name"
    texts = [path.read_text() for path in source.rglob("*.py") if path not in files]
    others = [ast.parse(text) for text in texts if "fireassay.stats" in text]
    defined = {
        (module, node.name): node
        for module, tree in stats.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    reached = {name for tree in others for name in (*imported(tree).values(), *named([tree], "", tree)) if name in defined}
    reached |= {name for module, tree in stats.items() for name in named(outside(tree), module, tree) if name in defined}
    waiting = list(reached)
    while waiting:
        name = waiting.pop()
        found = named([defined[name]], name[0], stats[name[0]]) & defined.keys() - reached
        reached |= found
        waiting += found
    assert sorted(".".join(name) for name in defined.keys() - reached if not name[1].startswith("_")) == []


def imported(tree: ast.Module) -> dict[str, Name]:
    """Local name -> what it is, for everything taken from fireassay.stats, also inside functions."""
    return {
        alias.asname or alias.name: (node.module.rpartition(".")[2], alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fireassay.stats.")
        for alias in node.names
    }


def named(nodes: Sequence[ast.AST], module: str, tree: ast.Module) -> set[Name]:
    """What the nodes name, of this module and of those that it imports."""
    taken = imported(tree)
    parts = [part for node in nodes for part in ast.walk(node)]
    plain = {taken.get(part.id, (module, part.id)) for part in parts if isinstance(part, ast.Name)}
    return plain | {(part.value.id, part.attr) for part in parts if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)}


def outside(tree: ast.Module) -> list[ast.stmt]:
    """The statements of a module that run when it is imported."""
    return [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
