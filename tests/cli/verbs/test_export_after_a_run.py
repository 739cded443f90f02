"""`export` in the user's own file exports after every run; what fails is said, and changes neither the record nor the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.record.lookup import record_folders
from fireassay.record.seal import verify

pytestmark = pytest.mark.slow


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    asked = '["csv=out/{record}", "assay-score=scores", "nothing=x", "prometheus=http://user:hidden@127.0.0.1:1", "prometheus=a.prom"]'
    (tmp_path / "own.toml").write_text(f"export = {asked}\n")
    monkeypatch.setenv("FIREASSAY_CONFIG", str(tmp_path / "own.toml"))
    return tmp_path


def test_each_is_tried_and_the_exit_code_is_that_of_the_run(
    configured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["time", "--launches", "3", "--", "true"])
    said = capsys.readouterr()
    (record,) = record_folders(configured / "records")
    assert not verify(record)
    assert (configured / "out" / record.name / "values.csv").is_file()
    assert (configured / "a.prom").read_text().endswith("# EOF\n")
    for part in (
        "not exported to assay-score",
        "not exported to nothing",
        "no push gateway answers at 127.0.0.1:1",
        f"assay export records/{record.name}",
    ):
        assert part in said.err
    assert "hidden" not in said.out + said.err
    monkeypatch.setenv("FIREASSAY_CONFIG", "")
    assert main(["report", str(record)]) == code


@pytest.mark.parametrize("value", ['"csv=out"', "[1]", '["=out"]', "true"])
def test_a_wrong_list_is_refused_with_what_is_allowed(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.toml").write_text(f"export = {value}\n")
    monkeypatch.setenv("FIREASSAY_CONFIG", str(tmp_path / "own.toml"))
    assert main(["list", "--root", str(tmp_path)]) == 2
    assert 'a list of texts "NAME=DEST"' in " ".join(capsys.readouterr().err.split())
