"""A verb's result goes out in every format, where a flag or a file's name says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.cli import main
from fireassay.cli.support.output import UNFLAGGED

FORMATS = [name for name in catalog.names("reports.writers") if name not in ("terminal", *UNFLAGGED)]
STREAMS = {"json": "{", "markdown": "### "}  # what goes to stdout by itself, and how it begins


@pytest.fixture
def table(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(repository / "examples" / "rubric" / "scaling.csv")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_written_to_a_file_that_is_then_named(name: str, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rubric", table, f"--{name}", "--output", "folder/out"]) == 0
    assert capsys.readouterr().out == "folder/out\n"
    assert Path("folder/out").stat().st_size > 100


@pytest.mark.parametrize("name", [*FORMATS, "json"])
def test_without_a_file_text_is_printed_and_a_page_or_a_workbook_is_written_here(
    name: str, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rubric", table, f"--{name}"]) == 0
    out = capsys.readouterr().out
    if name in STREAMS:
        assert out.startswith(STREAMS[name])
        assert list(Path().iterdir()) == []
    else:
        (path,) = Path().iterdir()
        assert out == f"{path}\n" == f"rubric{catalog.load('reports.writers', name).suffix}\n"


@pytest.mark.parametrize(
    ("file", "begin"),
    [
        ("a.md", b"### "),
        ("a.html", b"<!doctype"),
        ("a.json", b"{"),
        ("a.xlsx", b"PK"),
        ("a.tex", b"% "),
        ("a.log", b"RECOMMENDED"),
        ("a.svg", b"<svg "),
    ],
)
def test_the_name_of_the_file_says_the_format_where_no_flag_does(file: str, begin: bytes, table: str) -> None:
    assert main(["rubric", table, "--output", file]) == 0
    assert Path(file).read_bytes().lstrip().startswith(begin)


def test_a_dash_is_stdout(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rubric", table, "--html", "--output", "-"]) == 0
    assert capsys.readouterr().out.lstrip().startswith("<!doctype html>")


def test_two_formats_at_once_and_an_unknown_one_are_refused(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["rubric", table, "--html", "--json"])
    assert "not allowed with" in capsys.readouterr().err
    assert main(["rubric", table, "--format", "nothing"]) != 0
    assert "--format: found 'nothing'; allowed: json, badge, excel," in capsys.readouterr().err
