"""Is a new metric or report one new file, and is every plug-in named after its file and tested?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from assay import catalog
from assay.metrics.base import LAST, Metric
from tests.architecture.conftest import Run
from tests.docs.blocks import blocks

PLUG_INS = [(package, name) for package in catalog.PLUG_INS for name in catalog.names(package)]
METRICS: Mapping[str, Metric] = catalog.load_all("metrics")
JUDGE_AND_RENDER = """
import json
from collections.abc import Mapping
from assay import catalog
from assay.metrics.base import LAST, Metric
from assay.reports import view
from assay.verdict.judge import judge
from tests.builders import measured
record = measured()
tree = view.build(record, judge(record))
print(json.dumps({name: catalog.load("reports", name).render(tree) for name in ("json", "markdown", "sentence")}))
"""


@pytest.mark.parametrize(("package", "name"), PLUG_INS)
def test_a_plug_in_is_named_after_its_file(package: str, name: str) -> None:
    assert catalog.load(package, name).name == name


@pytest.mark.parametrize(("package", "name"), PLUG_INS)
def test_a_plug_in_opens_with_its_question(package: str, name: str, repository: Path) -> None:
    source = repository.joinpath("src", *catalog.module(package, name).split(".")).with_suffix(".py").read_text()
    first = source.splitlines()[0]
    assert first.startswith('"""')
    assert "?" in source.split('"""')[1], "the docstring asks no question"


@pytest.mark.parametrize(("package", "name"), PLUG_INS)
def test_a_plug_in_has_a_test_file(package: str, name: str, repository: Path) -> None:
    """A metric's is that of its family."""
    *folder, module = catalog.module(package, name).split(".")[1:]
    assert repository.joinpath("tests", *folder, f"test_{module}.py").is_file()


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_a_metric_asks_its_question_and_has_its_place(metric: Metric) -> None:
    assert metric.question.endswith("?")
    assert 0 < metric.rank < LAST
    assert not metric.caveat or metric.caveat.endswith((".", ")"))


def test_no_two_metrics_stand_in_the_same_place() -> None:
    ranks = [metric.rank for metric in METRICS.values() if metric.rank != LAST]
    assert len(set(ranks)) == len(ranks)
    places = [(place.table, place.position) for metric in METRICS.values() for place in metric.shown]
    assert len(set(places)) == len(places)


def plant(package_copy: Path, page: Path, package: str) -> None:
    (block,) = [block for block in blocks(page) if block.file]
    assert block.file
    (package_copy / "src" / "assay" / package / block.file).write_text(block.text)


def test_a_metric_and_a_report_are_each_added_by_one_file(package_copy: Path, python: Run, repository: Path) -> None:
    how_to = repository / "docs" / "how-to"
    plant(package_copy, how_to / "add-a-metric.md", "metrics")
    plant(package_copy, how_to / "add-a-report.md", "reports")
    (package_copy / "tests").symlink_to(repository / "tests")

    result = python(JUDGE_AND_RENDER, package_copy)
    assert result.returncode == 0, result.stderr
    shown = json.loads(result.stdout)

    rows = [row for row in json.loads(shown["json"])["metrics"] if row["metric"] == "longest_step"]
    assert [row["configuration"] for row in rows] == ["workers=1", "workers=2", "workers=4"]
    # tests/builders.py: a steady step of one worker takes 100 ms, blocks differ by 4 % either way, ripple at most 1 %.
    assert 0.0995 < rows[0]["value"] < 0.1015
    assert "Longest step" in shown["markdown"]
    assert shown["sentence"].count("\n") == 1
    assert json.loads(shown["json"])["verdict"]["sentence"] in shown["sentence"]


def test_a_planted_report_is_a_flag_of_the_command_line(package_copy: Path, python: Run, repository: Path) -> None:
    plant(package_copy, repository / "docs" / "how-to" / "add-a-report.md", "reports")
    code = "import sys\nfrom assay.cli import main\nsys.exit(main(['report', '--help']))"
    result = python(code, package_copy)
    assert "--sentence" in result.stdout
    assert result.returncode == 0


def test_no_plug_in_is_found_under_two_names() -> None:
    for package in catalog.PLUG_INS:
        found = catalog.load_all(package)
        assert len({plug_in.name for plug_in in found.values()}) == len(found)
