"""Does one folder add a kind of record to every verb and format, and does nothing else decide what kind a record is?"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.conftest import Run

pytestmark = pytest.mark.slow


QUESTIONS = ("subject", "is_timing")  # how a record's kind was asked before it was declared
ASKED = re.compile(rf"kind\s*\.\s*name|{'|'.join(QUESTIONS)}")  # a file without any of these words asks nothing: it is not parsed
FILES = {
    "__init__": '''"""How long does it take to brew?"""

from fireassay.spec.kind import Kind

KIND = Kind(
    name="brewing",
    title="brewing",
    precedence=50,
    applies=lambda experiment: experiment.name == "tea",
    chooses=False,
    label="a pot",
    about=frozenset({"calls"}),
)
''',
    "metrics": '''"""How long does a pot take?"""

from fireassay.frames.per_launch import from_frame
from fireassay.frames.training.work import wall_seconds
from fireassay.metrics.metric import Metric


def compute(measured, results):
    return from_frame(
        measured, wall_seconds(measured), unit="s", name="brewing_time", missing="no pot", trials="", aggregate="whole launch"
    )


METRICS = (
    Metric(
        name="brewing_time", title="Time of a pot", unit="s", kind="cost", better="lower", dimension="performance", formula="end - begin",
        compute=compute, about=("brewing",), primary=True, question="How long does a pot take?", rank=1, decides=1,
    ),
)
''',
    "judging": '''"""Is the tea ready?"""

from fireassay.verdict.judging import Judging, nothing_to_pick
from fireassay.verdict.types import DimensionResult

READY = DimensionResult(status="PASS", sentence="the pot is full")

JUDGING = Judging(
    dimensions=lambda evidence: {
        name: dict.fromkeys(("correctness", "performance", "cost", "reliability"), READY) for name in evidence.data.configurations
    },
    recommend=nothing_to_pick("there is one pot"),
    status=lambda evidence, picks: "PASS",
    sentence=lambda evidence, verdict: "tea: the tea is ready.",
)
''',
    "show": '''"""What is shown of a pot?"""

from fireassay.reports.page import Prose, Section
from fireassay.reports.pages import record


def page(view):
    return (Section(key="pot", title="The pot", content=(Prose(text="It is full."),)), record.dimensions(view), record.numbers(view))


def charts(view):
    return ()
''',
}
MAKE = ["time", "--name", "tea", "--launches", "3", "--round", "0.01", "--quiet", "--root", "records", "--", "true"]
MAKE_AND_SHOW = """
import contextlib, io, json, os, sys
from fireassay.cli import main
make, shows = map(json.loads, sys.argv[1:])
def said(words):
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), write_through=True)) as out:
        code = main(words)
    return code, out.buffer.getvalue().decode()
made = [said(make)[0] for _ in range(2)]
before, latest = sorted(name for name in os.listdir("records") if name.startswith("tea"))
printed = {}
for words in shows:
    asked = words.replace("BEFORE", before) + ("" if words.startswith("list") else f" {latest}")
    printed[words] = said(asked.split())[1]
print(json.dumps([made, printed]))
"""
SHOWS = (  # what each verb and format says of the record
    ("report", "It is full."),
    ("report --markdown", "It is full."),
    ("report --html --output -", "It is full."),
    ("report --json", '"brewing_time"'),
    ("report --excel", "report.xlsx"),
    ("report --latex", "report.tex"),
    ("verify", "INTACT"),
    ("audit", "tea"),
    ("list", "tea"),
    ("compare BEFORE", "ime of a pot"),
    ("check --against BEFORE", "time of a pot"),
    ("check --against BEFORE --full", "brewing"),
    ("check --history records --json", "tea"),
)


def test_no_file_outside_kinds_decides_what_kind_a_record_is(repository: Path) -> None:
    source = repository / "src" / "fireassay"
    files = [path for path in source.rglob("*.py") if "kinds" not in path.parts]
    assert {str(path.relative_to(source)): lines for path in files if (lines := list(decisions(path)))} == {}


def decisions(path: Path) -> Iterator[str]:
    """Comparisons of a kind's name with a literal, and the questions that the declaration replaced."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if ASKED.search(text) else ():
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("kind.name"):
            named = [part for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            yield from (f"line {node.lineno}: {ast.unparse(node)}" for _ in named[:1])
        elif (isinstance(node, ast.Attribute) and node.attr in QUESTIONS and "measured" in ast.unparse(node.value)) or (
            isinstance(node, ast.Call) and ast.unparse(node.func) in QUESTIONS
        ):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def test_a_kind_is_one_folder(package_copy: Path, python: Run) -> None:
    folder = package_copy / "src" / "fireassay" / "kinds" / "brewing"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text)
    done = python(MAKE_AND_SHOW, package_copy, json.dumps(MAKE), json.dumps([words for words, _ in SHOWS]))
    assert done.returncode == 0, done.stderr
    made, printed = json.loads(done.stdout)
    assert made == [0, 0]
    assert {words: printed[words] for words, said in SHOWS if said not in printed[words]} == {}
