"""Are MBPP's problems read, and do their asserts become a check?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.quality.sandbox.check import check_program, program
from fireassay.quality.sandbox.tiers import Limits
from fireassay.quality.tasks.programs import MBPP
from tests.quality.sandbox.available import tier

ROW: dict[str, Any] = {
    "task_id": 3,
    "text": "Write a function to find shared elements.",
    "code": "def helper(a):\n    return set(a)\ndef similar(a, b):\n    return tuple(helper(a) & helper(b))\n",
    "test_list": ["assert set(similar((3, 4), (5, 4))) == {4}", "assert similar((1,),\n  (2,)) == ()"],
    "test_setup_code": "",
}


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "mbpp.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_problem_is_an_item_with_a_check(tmp_path: Path) -> None:
    (task,) = MBPP.read(written(tmp_path, ROW, {**ROW, "task_id": 4, "prompt": "Other words."}), MBPP.options)
    first, second = task.items
    assert (first.id, first.entry_point) == ("3", "similar")
    assert first.prompt == (
        "You are an expert Python programmer, and here is your task: Write a function to find shared elements. Your code should pass these "
        "tests:\n\nassert set(similar((3, 4), (5, 4))) == {4}\nassert similar((1,),\n  (2,)) == ()\n[BEGIN]\n"
    )
    assert "Other words." in second.prompt
    assert task.stop == ("[DONE]",)


@pytest.mark.parametrize(("answer", "outcome"), [(ROW["code"], "passed"), ("def similar(a, b):\n    return ()\n", "failed")])
def test_the_asserts_decide(tmp_path: Path, answer: str, outcome: str) -> None:
    (task,) = MBPP.read(written(tmp_path, ROW), MBPP.options)
    assert check_program(program(task.items[0], answer), Limits(), tier("unshare")).outcome == outcome


def test_the_asserts_may_use_what_the_official_solution_imports_and_defines(tmp_path: Path) -> None:
    code = "import math\nprint('never')\ndef twice(x):\n    return 2 * x\ndef similar(a):\n    return math.pi * twice(a)\n"
    row = {**ROW, "code": code, "test_list": ["assert math.isclose(similar(1), math.pi * twice(1))"]}
    (task,) = MBPP.read(written(tmp_path, row), MBPP.options)
    assert (
        check_program(program(task.items[0], "def similar(a):\n    return 6.283185307179586 * a\n"), Limits(), tier("unshare")).outcome
        == "passed"
    )


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array_is_read_as_lines_are(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "sanitized.json"
    path.write_text(json.dumps([ROW, {**ROW, "task_id": 4}], indent=indent))
    assert [item.id for item in MBPP.read(path, MBPP.options)[0].items] == ["3", "4"]
    path.write_text(json.dumps([ROW, 5], indent=indent))
    with pytest.raises(SpecError, match=r"sanitized.json, item 2: found 5; allowed: one JSON object"):
        MBPP.read(path, MBPP.options)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"test_list": []}, r"\[\] in 'test_list'"),
        ({"test_list": ["assert ("]}, "no Python in 'test_list'"),
        ({"test_list": ["assert other(1) == 2"]}, r"asserts that do not all call one function of 'code' \(helper, similar\)"),
        ({"code": "x ="}, "no Python in 'code'"),
        ({"task_id": None}, "null in 'task_id'"),
        ({"text": []}, r"\[\] in 'text'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, change: dict[str, Any], found: str) -> None:
    with pytest.raises(SpecError, match=f"mbpp.jsonl, line 1: found {found}"):
        MBPP.read(written(tmp_path, {**ROW, **change}), MBPP.options)
