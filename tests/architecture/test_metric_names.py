"""Is a metric named where it is declared, and nowhere else?

What a metric needs and whether it decides, it declares itself; `reports.metric_tables` lists the columns of tables; code that needs one
certain metric imports it.  A list of names kept by hand in a second place rots.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay import catalog

pytestmark = pytest.mark.slow


NAMES = frozenset(catalog.names("metrics"))
FEW = 2  # names in one literal that are no list yet
# Words that are metrics' names and other things too: dimensions, sections of an experiment, counters of an engine, symbols of a law.
WORDS = frozenset({"cost", "energy", "quality", "throughput", "speedup", "efficiency", "goodput", "overlap", "alpha", "beta", "restarts"})
# Importers name the metric that a program's number is like, for measuring does not see metrics (import contracts); exporters write
# numbers under another program's names; claims and tables
# from elsewhere have words of their own.
# A family of scores declares its members, and a task names the scores that decide it.
OF_OTHERS = (
    "metrics",
    "importers",
    "reports/exports",
    "quality/scoring/metrics",
    "quality/tasks",
    "verdict/claims/stated",
    "kinds/evaluation/diverging.py",
    "reports/metric_tables.py",
)


def literals(tree: ast.AST) -> Iterator[ast.expr]:
    """The outermost tuples, lists, sets and dicts."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            yield node
        else:
            yield from literals(node)


def listed(path: Path) -> set[str]:
    """The metrics' names in the literal that holds most of them; a file with few of them anywhere is not parsed."""
    text = path.read_text()
    if len((NAMES - WORDS).intersection(re.findall(r"\w+", text))) <= FEW:
        return set()
    held = (
        {node.value for node in ast.walk(literal) if isinstance(node, ast.Constant) and isinstance(node.value, str)} & (NAMES - WORDS)
        for literal in literals(ast.parse(text))
    )
    return max(held, key=len, default=set())


def test_no_list_of_metrics_is_kept_outside_of_them(repository: Path) -> None:
    package = repository / "src" / "fireassay"
    lists = {
        str(path.relative_to(package)): names
        for path in sorted(package.rglob("*.py"))
        if not any(path.is_relative_to(package / folder) for folder in OF_OTHERS) and len(names := listed(path)) > FEW
    }
    assert not lists
