"""`assay import` of traces: the shares at once, the same page from the record, and captures that nsys exports."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from fireassay.cli import main
from tests.frames.training.communication.test_kernel_trace import GEMM, kernel, trace
from tests.importers.profiles.test_chrome_trace import of_rank, written
from tests.importers.profiles.test_nsys import GEMM as MATMUL
from tests.importers.profiles.test_nsys import export


def test_shares_of_every_rank_are_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    for rank in (0, 1):
        written(tmp_path, f"r{rank}.pt.trace.json.gz", of_rank(rank))
    assert main(["import", "r0.pt.trace.json.gz", "r1.pt.trace.json.gz", "--name", "job"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "computing takes 40 % of a step of 100 µs at workers=2, rank 0 (1 step)" in shown
    assert "workers=2 1 100 40 30 15 15" in shown
    assert "2 files (torch.profiler): r0.pt.trace.json.gz, r1.pt.trace.json.gz; not kept in the record" in shown
    assert main(["report", "job"]) == 0
    again = " ".join(capsys.readouterr().out.split())
    assert "computing takes 40 % of a step of 100 µs at workers=2, rank 0 (1 step)" in again
    assert "no timed launch, so nothing is judged" in again


def test_json_has_the_record_as_of_every_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "trace.json", trace([kernel(GEMM, 10, 50)]))
    assert main(["import", "trace.json", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)["records"]
    assert (record["tool"], record["title"], record["requests"], record["unit"]) == ("chrome_trace", "torch.profiler", 1, "traces")
    assert main(["report", record["path"], "--json"]) == 0
    (profile,) = json.loads(capsys.readouterr().out)["profiles"]
    assert profile["ranks"][0]["whole"]["compute_ns"] == 40_000
    assert (profile["imported"], profile["notes"]) == ("torch.profiler", [])


def test_a_list_shows_the_largest_part_of_an_imported_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "trace.json", trace([kernel(GEMM, 10, 50)]))
    assert main(["import", "trace.json", "--name", "job"]) == 0
    capsys.readouterr()
    assert main(["list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed["headline"].startswith("computing takes 100 % of the trace of 40 µs")
    assert main(["reproduce", "job"]) == 6
    assert "`assay profile`" in capsys.readouterr().err


def two_profiles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Imported as `old` and `new`: the same shares of a step."""
    for name in ("old", "new"):
        written(folder, f"{name}.pt.trace.json", of_rank(0))
        assert main(["import", f"{name}.pt.trace.json", "--name", name]) == 0
    capsys.readouterr()


def test_profiles_are_compared_by_their_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    two_profiles(tmp_path, capsys)
    assert main(["compare", "old", "new"]) == 5
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("PROFILED new over old: no launch was timed, so no change is judged; the profiles side by side at workers=2")
    assert "exposed communication 30.0 µs 30.0 µs" in shown
    assert "device busy, by the 85.0 % 85.0 % profiler" in shown
    assert not any(word in shown for word in ("doctor", "interleaved", "interval"))


def test_a_check_of_profiles_names_the_comparison_of_their_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    two_profiles(tmp_path, capsys)
    assert main(["check", "new", "--against", "old"]) == 5
    shown = " ".join(capsys.readouterr().out.split())
    assert "only profiles: no launch was timed. Its shares next to another's: assay compare" in shown
    assert not any(word in shown for word in ("has no successful launch", "code"))


def test_what_cannot_be_run_here_is_not_advised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    two_profiles(tmp_path, capsys)
    assert main(["report", "new", "--full"]) == 0
    assert "use `assay run`" not in capsys.readouterr().out
    assert main(["resume", "new"]) == 6
    assert "assay run" not in capsys.readouterr().err
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert "PROFILED" in shown
    assert "MEASURED" not in shown


def fake_nsys(folder: Path, script: str) -> None:
    program = folder / "bin" / "nsys"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_a_capture_is_exported_where_nsys_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """nsys export --type sqlite --output TARGET CAPTURE: this one copies a database that was made before."""
    monkeypatch.chdir(tmp_path)
    export(tmp_path / "made.sqlite", [(0, 30, MATMUL, 0, 1), (70, 100, MATMUL, 0, 2)])
    (tmp_path / "train.nsys-rep").write_bytes(b"QDRep")
    fake_nsys(tmp_path, f'test "$1 $2 $3 $4" = "export --type sqlite --output" && cp "{tmp_path}/made.sqlite" "$5"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert main(["import", "train.nsys-rep"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "computing takes 60 % of the trace of 100 ms at workers=1, rank 0 (no step marked)" in shown
    assert "1 file (Nsight Systems): train.sqlite" in shown


def test_a_capture_that_nsys_cannot_export_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.nsys-rep").write_bytes(b"QDRep")
    assert main(["import", "train.nsys-rep"]) == 2
    assert "nsys export --type sqlite --output train.sqlite train.nsys-rep" in " ".join(capsys.readouterr().err.split())
    fake_nsys(tmp_path, "echo the report is of a newer version >&2; exit 3")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert main(["import", "train.nsys-rep"]) == 2
    assert "exit code 3: the report is of a newer version" in " ".join(capsys.readouterr().err.split())


def test_flags_of_a_harness_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "trace.json", trace([kernel(GEMM, 10, 50)]))
    assert main(["import", "trace.json", "--margin", "0.1"]) == 2
    assert "--margin" in capsys.readouterr().err
