"""`assay verify` names each damaged file and returns 0 or 6."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.cli import main
from tests.record.making import sealed, unfinished


def test_an_intact_record_returns_0_and_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sealed(tmp_path)
    assert main(["verify", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: intact\n"


def test_a_damaged_record_returns_6_and_names_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sealed(tmp_path)
    (path / "logs/launch=0000.log").write_text("other")
    (path / "tables/steps/launch=0001/part-0.parquet").unlink()
    assert main(["verify", str(path)]) == 6
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == f"{path}: 2 problems"
    assert [line.split(":")[0] for line in lines] == [
        "  logs/launch=0000.log",
        "  tables/steps/launch=0001/part-0.parquet",
    ]


def test_an_unsealed_record_returns_6_and_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = unfinished(tmp_path).path
    assert main(["verify", str(path)]) == 6
    assert "`assay resume" in capsys.readouterr().out


def test_without_an_argument_the_latest_record_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sealed(tmp_path / "records")
    monkeypatch.chdir(tmp_path)
    assert main(["verify"]) == 0
    assert capsys.readouterr().out == f"records/{path.name}: intact\n"


def test_a_record_below_another_root_is_found_by_the_beginning_of_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sealed(tmp_path)
    assert main(["verify", "digits", "--root", str(tmp_path)]) == 0
    assert path.name in capsys.readouterr().out


def test_no_record_at_all_is_one_sentence_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path / "nothing")]) == 6
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("assay: ")
    assert "does not exist" in said.err
    assert said.err.count("\n") == 1
