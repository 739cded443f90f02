"""Which problems does a file in MBPP's layout hold?

One JSON object a line, also compressed (.gz): task_id, text or prompt, code, test_list, and test_setup_code or test_imports.  The asserts become a
check(candidate); the function is the one that `code` defines and every assert calls.  The prompt is the paper's, without examples
(Austin et al., arXiv:2108.07732, figure 1).
Cannot tell: problems whose asserts build objects of the answer's own classes; their arguments cannot cross, so they have no verdict.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fireassay.scoring.items import Format, Item, Task
from fireassay.tasks.support.code_lines import compiled, rows, sha256, text, texts, unique, wrong

TEMPLATE = "You are an expert Python programmer, and here is your task: {text} Your code should pass these tests:\n\n{tests}\n[BEGIN]\n"
STOPS = ("[DONE]",)


def read(path: Path, options: Mapping[str, str | int | float | bool]) -> tuple[Task, ...]:
    """The file's problems as one task.

    Raises:
        SpecError: the file cannot be read, or a line is no problem.
    """
    items = unique(path.name, [(number, _item(f"{path.name}, line {number}", row)) for number, row in rows(path)])
    return (
        Task(
            name="mbpp",
            items=items,
            metrics=("pass_at_1",),
            method="code",
            extractor="code",
            stop=STOPS,
            max_tokens=int(options["max_tokens"]),
            template=TEMPLATE,
            files={path.name: sha256(path)},
            options=dict(options),
        ),
    )


def _item(where: str, row: Mapping[str, Any]) -> Item:
    asserts, code = texts(where, row, "test_list"), text(where, row, "code")
    for source in (*asserts, code):
        compiled(where, "test_list" if source in asserts else "code", source)
    task_id = row.get("task_id")
    if isinstance(task_id, bool) or not isinstance(task_id, int | str):
        raise wrong(where, "no id in 'task_id'", "a number or a text")
    return Item(
        id=str(task_id),
        prompt=TEMPLATE.format(text=text(where, row, "prompt" if "prompt" in row else "text").strip(), tests="\n".join(asserts)),
        references=(code,),
        entry_point=_entry_point(where, asserts, code),
        test=_test(where, row, asserts),
    )


def _test(where: str, row: Mapping[str, Any], asserts: Sequence[str]) -> str:
    setup = row.get("test_setup_code") or "\n".join(row.get("test_imports") or ())
    body = "\n".join(f"    {line}" for one in asserts for line in one.splitlines())
    test = f"{setup}\ndef check(candidate):\n{body}\n"
    compiled(where, "test_list", test)
    return test


def _entry_point(where: str, asserts: Sequence[str], code: str) -> str:
    defined = [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    called = [
        {node.func.id for node in ast.walk(ast.parse(one)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        for one in asserts
    ]
    for name in reversed(defined):
        if all(name in names for names in called):
            return name
    raise wrong(
        where,
        f"asserts that do not all call one function of 'code' ({', '.join(defined) or 'it defines none'})",
        "one function in every assert",
    )


FORMAT = Format(
    name="mbpp",
    title="MBPP",
    layout="JSON lines, also .gz: task_id, text or prompt, code, test_list, test_setup_code or test_imports",
    read=read,
    options={"max_tokens": 512},
)
