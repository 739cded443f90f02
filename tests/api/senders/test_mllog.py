"""`--to mllog` writes the lines of `assay mlperf export`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.cli import main
from tests.record.making import sealed

pytestmark = pytest.mark.slow


def test_the_files_are_those_of_assay_mlperf_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = sealed(tmp_path / "a")
    assert main(["mlperf", "export", str(record), "--output", str(tmp_path / "b")]) == 0
    for _ in range(2):  # the second time changes nothing
        assert main(["export", str(record), "--to", "mllog", "--out", str(tmp_path / "c")]) == 0
    assert "nothing was changed" in capsys.readouterr().err
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "bc"]
    assert files[0] == files[1] != {}
