"""Is everything that a verb does one call that returns values, and does nothing below the command line print or exit?"""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

from fireassay import catalog

pytestmark = pytest.mark.slow

ONLY_OF_THE_COMMAND_LINE = {"completion", "config"}  # of the shell, and of its defaults
SHARED = ("fireassay.api.", "fireassay.importers.", "fireassay.record.", "fireassay.runners.", "fireassay.spec.load", "fireassay.verdict.")
# Programs in processes of their own; the remark that the command line sees as a line and a program as a warning; the script's own process.
MAY_PRINT = ("cli/", "demo/", "instruments/", "launchers/", "quality/sandbox/inside/", "traffic/client/process.py", "traffic/proxy.py")
MAY_PRINT += ("printable.py", "record/writer.py", "runners/evaluating/forced_process.py", "quality/scoring/scoring.py", "__main__.py")
CALLS = {"print", "say", "exit", "quit", "sys.exit", "os._exit"}


def resolved(name: str) -> Any:
    """The object of a dotted name."""
    package, _, last = name.rpartition(".")
    return getattr(importlib.import_module(package), last)


def imported(file: Path) -> set[str]:
    """The modules and names that a file imports, also inside functions."""
    nodes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom) and node.module]
    return {name for node in nodes for alias in node.names for name in (str(node.module), f"{node.module}.{alias.name}")}


def file_of(source: Path, module: str) -> Path:
    path = source.parent / module.replace(".", "/")
    return path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"


def reached(source: Path, file: Path) -> set[str]:
    """What a verb's file imports, itself or through the command line's own modules."""
    found, waiting = set[str](), [file]
    seen = {file}
    while waiting:
        for name in imported(waiting.pop()):
            found.add(name)
            own = file_of(source, name)
            if name.startswith("fireassay.cli.") and own.is_file() and own not in seen:
                seen.add(own)
                waiting.append(own)
    return found


@pytest.mark.parametrize("name", catalog.names("cli.verbs"))
def test_a_verb_names_its_call_and_uses_what_that_is_made_of(name: str, repository: Path) -> None:
    verb, source = catalog.load("cli.verbs", name), repository / "src" / "fireassay"
    if name in ONLY_OF_THE_COMMAND_LINE:
        assert verb.call == ""
        return
    call = resolved(verb.call)
    assert callable(call)
    assert inspect.getdoc(call), "documented"
    function = call.run if inspect.isclass(call) else call
    assert "return" in function.__annotations__, "typed"
    assert function.__annotations__["return"] not in ("None", "int"), "returns values, no exit code"
    home = inspect.getmodule(call)
    assert home is not None
    made_of = {home.__name__, *imported(Path(inspect.getfile(home)))}
    common = {one for one in reached(source, source / "cli" / "verbs" / f"{name}.py") & made_of if one.startswith(SHARED)}
    assert common, "one implementation"


def prints(text: str) -> list[str]:
    """The calls in a source text that print or exit."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS]
    return [f"line {node.lineno}: {ast.unparse(node.func)}" for node in calls]


def test_nothing_below_the_command_line_prints_or_exits(repository: Path) -> None:
    source = repository / "src" / "fireassay"
    files = {file.relative_to(source).as_posix(): file for file in sorted(source.rglob("*.py"))}
    found = {name: prints(file.read_text()) for name, file in files.items() if not name.startswith(MAY_PRINT)}
    assert {name: calls for name, calls in found.items() if calls} == {}


@pytest.mark.parametrize("line", ["print(1)", "sys.exit(2)", "say('x')"])
def test_a_planted_print_is_caught(line: str) -> None:
    assert prints(f"def late():\n    {line}\n") == [f"line 2: {line.partition('(')[0]}"]
