"""Do imports point downwards, do measuring and judging stay apart, and would a violation be caught?"""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.architecture.conftest import Run

pytestmark = pytest.mark.slow


PARTS = {
    "fireassay.instruments.hooks.passes": "fireassay.instruments.hooks.steps",
    "fireassay.instruments.hooks.updates": "fireassay.instruments.hooks.steps",
    "fireassay.instruments.hooks.step_contents": "fireassay.instruments.hooks.steps",
    "fireassay.instruments.hooks.stuck_ranks": "fireassay.instruments.hooks.steps",
    "fireassay.steps.evaluations": "fireassay.steps.reading",
}
RULES = ("fireassay.spec.rules.", "fireassay.spec.rules.experiment", "fireassay.spec.sections.tune")  # what the experiment runs on itself
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])"


PLANTED = (  # file, what is added to it, the contract that this breaks
    ("record/tables.py", "import fireassay.metrics.metric", "Imports point downwards"),
    ("spec/plan.py", "def late():\n    from fireassay.record import tables", "Imports point downwards"),
    ("api/record.py", "def late():\n    import fireassay.cli.support.output", "Imports point downwards"),
    ("metrics/metric.py", "import time", "Judging looks at no clock"),
    ("metrics/results.py", "def late():\n    import time", "Judging looks at no clock"),
    ("stats/intervals/intervals.py", "def late():\n    from subprocess import run", "Judging looks at no clock"),
    ("verdict/types.py", "def late():\n    import fireassay.launchers", "Judging does not see measuring"),
    ("launchers/support/base.py", "def late():\n    import fireassay.verdict.types", "Measuring does not see judging"),
    ("metrics/metric.py", "def late():\n    import torch", "Only the instruments import torch"),
)


def test_the_contracts_hold(repository: Path, python: Run) -> None:
    result = python(LINT, repository)
    assert result.returncode == 0, result.stdout


def test_each_planted_violation_is_caught(package_copy: Path, python: Run) -> None:
    for file, line, _ in PLANTED:
        path = package_copy / "src" / "fireassay" / file
        path.write_text(f"{path.read_text()}\n{line}\n")
    result = python(LINT, package_copy)
    assert result.returncode == 1
    broken = [row for row in result.stdout.splitlines() if "BROKEN" in row]
    assert [contract for _, _, contract in PLANTED if not any(row.startswith(contract) for row in broken)] == []
    said = " ".join(result.stdout.split())
    assert [edge for file, line, _ in PLANTED if (edge := f" {importer(file)} -> {imported(line)} (l.") not in said] == []


def importer(file: str) -> str:
    return f"fireassay.{file.removesuffix('.py').replace('/', '.')}"


def imported(line: str) -> str:
    """The module that a line imports: `from fireassay.record import tables` is fireassay.record.tables, one of others its root."""
    words = line.splitlines()[-1].split()
    return ".".join(words[1::2]) if words[1].startswith("fireassay") else words[1]


@pytest.mark.parametrize("at_run_time_only", [True, False])
def test_no_import_cycles(at_run_time_only: bool) -> None:
    """Neither at run time nor by what only type checkers read; imports inside of functions count too.

    A rule is annotated with the experiment that it checks, and the experiment runs its rules: to type checkers they are one module. So are
    the hooks with their parts (passes, updates, contents, stuck ranks), and the reader of steps with its evaluations.
    """
    graph = grimp.build_graph("fireassay", cache_dir=None, exclude_type_checking_imports=at_run_time_only)
    # The root's lazy names (`from fireassay import run`) are resolved at run time and are no dependency of the package.
    edges = {
        module: {target for target in graph.find_modules_directly_imported_by(module) if target != "fireassay"}
        for module in graph.modules - {"fireassay"}
    }
    if not at_run_time_only:
        for rules in (module for module in edges if module.startswith(RULES)):
            edges[rules].discard("fireassay.spec.experiment")
        for part, whole in PARTS.items():
            edges[part].discard(whole)
    TopologicalSorter(edges).prepare()  # raises CycleError, which names the cycle
