"""Are files and functions small enough to be read at once?"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay import catalog

pytestmark = pytest.mark.slow


MAX_LINES = 500  # of a file
MAX_PARAMETERS = 8  # of a function, without self, cls, *arguments and **words
HEAD = re.compile(r"^[ \t]*(?:async )?def \w+(?:\[[^\n]*?\])?\((.*?)\)(?: ->|:$)", re.DOTALL | re.MULTILINE)
MAX_MODULES = 25  # of a folder, without its `__init__`


@pytest.fixture(scope="module")
def files(repository: Path) -> list[Path]:
    return sorted((repository / "src" / "fireassay").rglob("*.py"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Those of a file in which any head has commas enough; most files need not be parsed."""
    text = path.read_text()
    if all(head.count(",") < MAX_PARAMETERS for head in HEAD.findall(text)):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def test_no_file_is_longer_than_500_lines(files: list[Path], repository: Path) -> None:
    lines = {path.relative_to(repository / "src" / "fireassay").as_posix(): len(path.read_text().splitlines()) for path in files}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_no_function_has_more_than_8_parameters(files: list[Path]) -> None:
    """More of them are a value that has no name yet: group them into a frozen dataclass."""
    many = {
        f"{path.name}:{function.lineno} {function.name}": parameters(function)
        for path in files
        for function in functions(path)
        if parameters(function) > MAX_PARAMETERS
    }
    assert many == {}


def test_no_folder_has_more_than_25_modules(files: list[Path], repository: Path) -> None:
    """More of them answer several questions: one folder for each.  A folder of plug-ins answers one, once for each."""
    plugs = {repository.joinpath("src", "fireassay", *package.split(".")) for package in catalog.PLUG_INS}
    modules = Counter(path.parent for path in files if path.name != "__init__.py" and path.parent not in plugs)
    assert {folder.name: count for folder, count in modules.items() if count > MAX_MODULES} == {}
