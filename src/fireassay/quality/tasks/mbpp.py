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

from fireassay.quality.scoring.items import Format, Item, Task
from fireassay.quality.tasks.support import files, programs

TEMPLATE = "You are an expert Python programmer, and here is your task: {text} Your code should pass these tests:\n\n{tests}\n[BEGIN]\n"
STOPS = ("[DONE]",)


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    return (programs.task("mbpp", path, given, _item, stop=STOPS, template=TEMPLATE),)


def _item(row: files.SourceRow) -> Item:
    asserts = [programs.python(row, "test_list", one) for one in files.texts_of(row, "test_list")]
    code = programs.python(row, "code", files.text_of(row, "code"))
    text = files.text_of(row, "prompt" if "prompt" in row.values else "text").strip()
    return Item(
        id=files.text_of(row, "task_id"),
        prompt=TEMPLATE.format(text=text, tests="\n".join(asserts)),
        references=(code,),
        entry_point=_entry_point(row.where, asserts, code),
        test=_test(row, asserts),
    )


def _test(row: files.SourceRow, asserts: Sequence[str]) -> str:
    setup = row.values.get("test_setup_code") or "\n".join(row.values.get("test_imports") or ())
    body = "\n".join(f"    {line}" for one in asserts for line in one.splitlines())
    return programs.python(row, "test_list", f"{setup}\ndef check(candidate):\n{body}\n")


def _entry_point(where: str, asserts: Sequence[str], code: str) -> str:
    defined = [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    called = [
        {node.func.id for node in ast.walk(ast.parse(one)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        for one in asserts
    ]
    for name in reversed(defined):
        if all(name in names for names in called):
            return name
    raise files.wrong(
        where,
        f"asserts that do not all call one function of 'code' ({', '.join(defined) or 'it defines none'})",
        "one function in every assert",
    )


FORMAT = Format(
    name="mbpp",
    title="MBPP",
    layout="JSON lines, also .gz: task_id, text or prompt, code, test_list, test_setup_code or test_imports",
    read=read,
    options=programs.OPTIONS,
)
