"""`assay history` shows what gates kept, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.api.ci.history import keep
from fireassay.cli import main
from tests.verdict.checking.test_kept import MACHINE, one


@pytest.fixture
def kept(tmp_path: Path) -> str:
    """Twelve gates on one machine, of which the last three are slower, and one on another."""
    for day in range(1, 13):
        keep(str(tmp_path), one(day, 1.0 + 0.001 * (day % 3) + 0.5 * (day > 9), digest=f"{day:x}" * 64), tmp_path)
    keep(str(tmp_path), one(13, 3.0, digest="f" * 64, machine={**MACHINE, "cpu.usable": 1}), tmp_path)
    return str(tmp_path)


def test_a_change_of_level_is_named_and_another_machine_is_apart(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", kept]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "rose by 50 %" in shown
    assert "machine 2 differs from machine 1 in cpu.usable: their values are not compared" in shown
    assert "sha256 ffffffffffff" in shown
    assert "3.00 s [2.70, 3.30]" in shown


def test_json_gives_every_line(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", kept, "--json"]) == 0
    gates = json.loads(capsys.readouterr().out)["gates"]
    assert [gate["value"] for gate in gates][-1] == 3.0
    assert len(gates) == 13


def test_a_history_without_a_gate_is_no_error_and_a_foreign_file_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", str(tmp_path)]) == 0
    assert "no series" in capsys.readouterr().out
    (tmp_path / "x.jsonl").write_text("{}\n")
    assert main(["history", str(tmp_path)]) == 6
    assert "x.jsonl, line 1 is not of a kept gate" in " ".join(capsys.readouterr().err.split())
    assert main(["history", "branch:none such"]) == 2
