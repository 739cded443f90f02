"""Does judging keep its hands off files and off randomness that nobody passed in?

The import contracts forbid the modules; this looks for the built-in and the numpy ways round them.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


JUDGING = ("stats", "metrics", "verdict", "reports")
FILE_CALLS = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "read_parquet", "write_parquet", "read_csv"}
NUMPY_GLOBAL = {"rand", "randn", "randint", "random", "seed", "choice", "shuffle", "permutation", "normal", "uniform"}


def calls(tree: ast.AST) -> list[tuple[str, ast.Call]]:
    """Every call with its dotted name, as far as it is a name."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [(ast.unparse(node.func), node) for node in found]


def impurities(source: str) -> list[str]:
    """The calls in a source text that open files or draw random numbers on their own."""
    problems = []
    for name, call in calls(ast.parse(source)):
        last = name.rsplit(".", 1)[-1]
        if last in FILE_CALLS:
            problems.append(f"line {call.lineno}: {name}")
        if last == "default_rng" and not call.args and not call.keywords:
            problems.append(f"line {call.lineno}: {name} without a seed")
        if name.startswith(("np.random.", "numpy.random.")) and last in NUMPY_GLOBAL:
            problems.append(f"line {call.lineno}: {name}")
    return problems


@pytest.mark.parametrize("package", JUDGING)
def test_judging_opens_no_file_and_draws_no_random_number(repository: Path, package: str) -> None:
    files = sorted((repository / "src" / "fireassay" / package).rglob("*.py"))
    assert files
    found = {file.name: impurities(file.read_text()) for file in files}
    assert {name: problems for name, problems in found.items() if problems} == {}


@pytest.mark.parametrize("line", ["open('x')", "Path('x').read_text()", "np.random.default_rng()", "numpy.random.normal(0, 1)"])
def test_a_planted_impurity_is_caught(line: str) -> None:
    assert impurities(f"def late():\n    {line}\n")
