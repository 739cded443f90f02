"""`export` in the user's own file exports after every run; what fails is said, and changes neither the record nor the exit code."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.cli.support.judged import judge_and_show
from fireassay.cli.support.settings import USED, Settings
from fireassay.record.seal import verify
from tests.record.making import sealed

pytestmark = pytest.mark.slow


ASKED = ("csv=out/{record}", "assay-score=scores", "nothing=x", "prometheus=http://user:hidden@127.0.0.1:1", "prometheus=a.prom")


def test_each_is_tried_and_the_exit_code_is_that_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = sealed(tmp_path / "records")
    monkeypatch.chdir(tmp_path)
    shown = Namespace(form="terminal", output=None, full=False)
    code = judge_and_show(record, shown)
    token = USED.set(Settings(export=ASKED))
    try:
        assert judge_and_show(record, shown) == code
    finally:
        USED.reset(token)
    said = capsys.readouterr()
    assert verify(record) == ()
    assert (tmp_path / "out" / record.name / "values.csv").is_file()
    assert (tmp_path / "a.prom").read_text().endswith("# EOF\n")
    parts = (
        "not exported to assay-score",
        "not exported to nothing",
        "http://127.0.0.1:1/metrics",
        "cannot be reached",
        "the record is kept",
    )
    assert [part for part in parts if part not in said.err] == []
    assert "hidden" not in said.out + said.err


@pytest.mark.parametrize("value", ['"csv=out"', "[1]", '["=out"]', "true"])
def test_a_wrong_list_is_refused_with_what_is_allowed(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.toml").write_text(f"export = {value}\n")
    monkeypatch.setenv("FIREASSAY_CONFIG", str(tmp_path / "own.toml"))
    assert main(["list", "--root", str(tmp_path)]) == 2
    assert 'a list of texts "NAME=DEST"' in " ".join(capsys.readouterr().err.split())
