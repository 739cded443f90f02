"""`export` in the user's own file exports every record that a verb sealed; what fails is said, and changes neither record nor exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.record.seal import verify
from tests.importers.timings.made import FILES

pytestmark = pytest.mark.slow

ASKED = ("csv=out/{record}", "assay-score=scores", "nothing=x", "prometheus=http://user:hidden@127.0.0.1:1", "prometheus=a.prom")
TIME = ["time", "--launches", "1", "--round", "0.01", "--quiet", "--root", "records", "--", "true"]


def asks(folder: Path, monkeypatch: pytest.MonkeyPatch, *asked: str) -> None:
    monkeypatch.chdir(folder)
    (folder / "own.toml").write_text(f"export = {list(asked)}\n")
    monkeypatch.setenv("FIREASSAY_CONFIG", "own.toml")


def test_each_is_tried_and_the_exit_code_is_that_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asks(tmp_path, monkeypatch, *ASKED)
    assert main(TIME) == 0
    said = capsys.readouterr()
    (record,) = (tmp_path / "records").glob("true-*")
    assert verify(record) == ()
    assert (tmp_path / "out" / record.name / "values.csv").is_file()
    assert (tmp_path / "a.prom").read_text().endswith("# EOF\n")
    parts = (
        "not exported to assay-score",
        "not exported to nothing",
        "http://127.0.0.1:1/metrics",
        "cannot be reached",
        "the record is kept",
        "exported: a.prom",
    )
    assert [part for part in parts if part not in said.err] == []
    assert "hidden" not in said.out + said.err
    main(["report", str(record)])
    assert "exported" not in capsys.readouterr().err, "nothing was sealed"


def test_an_import_is_exported_from_where_it_lies_at_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asks(tmp_path, monkeypatch, "csv=out/{record}")
    assert main(["import", str(FILES / "hyperfine.json"), "--root", "records"]) == 0
    records = {path.name for path in (tmp_path / "records").iterdir()}
    assert {path.parent.name for path in (tmp_path / "out").glob("*/values.csv")} == records != set()


@pytest.mark.parametrize("value", ['"csv=out"', "[1]", '["=out"]', "true"])
def test_a_wrong_list_is_refused_with_what_is_allowed(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.toml").write_text(f"export = {value}\n")
    monkeypatch.setenv("FIREASSAY_CONFIG", str(tmp_path / "own.toml"))
    assert main(["list", "--root", str(tmp_path)]) == 2
    assert 'a list of texts "NAME=DEST"' in " ".join(capsys.readouterr().err.split())
