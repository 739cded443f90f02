"""Is a new metric or report one new file, and is every plug-in named after its file and tested?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay import catalog
from tests.architecture.conftest import Run
from tests.docs.blocks import blocks

PLUG_INS = [(package, name) for package in catalog.PLUG_INS for name in catalog.names(package)]
JUDGE_AND_RENDER = """
import json
from assay import catalog
from assay.reports import view
from assay.reports.documents import record as document
from assay.verdict.judge import judge
from tests.builders import measured
record = measured()
tree = view.build(record, judge(record))
written = {"json": document.render(tree)}
for page, writer in (("record", "markdown"), ("sentence", "markdown"), ("record", "outline")):
    made = catalog.load("reports.pages", page).page(tree)
    written[f"{page} {writer}"] = catalog.load("reports.writers", writer).write(made)
print(json.dumps(written))
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
    folder = catalog.module(package, name).split(".")[1:-1]
    assert repository.joinpath("tests", *folder, f"test_{name}.py").is_file()


def plant(package_copy: Path, page: Path, *packages: str) -> None:
    """The files of a page of the docs, in their order, each into its folder."""
    files = [block for block in blocks(page) if block.file]
    for block, package in zip(files, packages, strict=True):
        assert block.file
        (package_copy / "src" / "assay" / package / block.file).write_text(block.text)


def test_a_metric_a_page_and_a_writer_are_each_added_by_one_file(package_copy: Path, python: Run, repository: Path) -> None:
    how_to = repository / "docs" / "how-to"
    plant(package_copy, how_to / "add-a-metric.md", "metrics")
    plant(package_copy, how_to / "add-a-report.md", "reports/pages", "reports/writers")
    (package_copy / "tests").symlink_to(repository / "tests")

    result = python(JUDGE_AND_RENDER, package_copy)
    assert result.returncode == 0, result.stderr
    shown = json.loads(result.stdout)

    rows = [row for row in json.loads(shown["json"])["metrics"] if row["metric"] == "longest_step"]
    assert [row["configuration"] for row in rows] == ["workers=1", "workers=2", "workers=4"]
    # tests/builders.py: a steady step of one worker takes 100 ms, blocks differ by 4 % either way, ripple at most 1 %.
    assert 0.0995 < rows[0]["value"] < 0.1015
    assert "Longest step" in shown["record markdown"]
    assert shown["sentence markdown"].count("\n") == 1
    assert "# " not in shown["sentence markdown"]
    assert shown["record outline"].splitlines()[:2] == ["synthetic", "Four dimensions"]


@pytest.mark.parametrize(("verb", "flags"), [("report", ("--sentence", "--outline")), ("compare", ("--outline",))])
def test_what_is_planted_is_a_flag_of_the_command_line(
    verb: str, flags: tuple[str, ...], package_copy: Path, python: Run, repository: Path
) -> None:
    plant(package_copy, repository / "docs" / "how-to" / "add-a-report.md", "reports/pages", "reports/writers")
    code = f"import sys\nfrom assay.cli import main\nsys.exit(main(['{verb}', '--help']))"
    result = python(code, package_copy)
    assert all(flag in result.stdout for flag in flags)
    assert result.returncode == 0


def test_no_plug_in_is_found_under_two_names() -> None:
    for package in catalog.PLUG_INS:
        found = catalog.load_all(package)
        assert len({plug_in.name for plug_in in found.values()}) == len(found)
