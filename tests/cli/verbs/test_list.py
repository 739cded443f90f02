"""`assay list` shows every record of a folder, including damaged ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.clock import FakeClock
from fireassay.record.folder import create
from tests.limits import PROCESS_S
from tests.record.making import experiment, launch_row, sealed

pytestmark = pytest.mark.slow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A complete record, a later interrupted one with one aborted launch, a damaged one, and a folder without a record."""
    sealed(tmp_path, launches=4, name="complete")
    later = create(tmp_path, experiment("interrupted"), "", clock=FakeClock(ns=60 * 10**9))
    later.writer(0).append("launches", launch_row(0, status="failed"))
    later.writer(1).append("launches", launch_row(1, status="aborted"))
    later.finish("interrupted", "Ctrl-C")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    (tmp_path / "no-record").mkdir()
    return tmp_path


def shown(root: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    assert main(["list", str(root), *flags]) == 0
    return capsys.readouterr().out


def table(out: str) -> list[str]:
    """The lines of the table, its head first."""
    head, _, *lines = out[out.index(" Name ") :].splitlines()
    return [head, *lines[: lines.index("")]] if "" in lines else [head, *lines]


def test_the_newest_comes_first_with_state_and_launches(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = table(shown(root, capsys))
    assert lines[0].split() == ["Name", "ID", "Date", "(UTC)", "State", "Launches", "Size"]
    name, identifier, day, time, state, launches, _size, _unit = lines[1].split()
    assert (name, day, time, state) == ("interrupted", "2026-01-01", "00:01:00", "interrupted")
    assert len(identifier) == 6
    assert launches == "1/4", "the failed launch has ended; the aborted one is to be tried again"
    assert lines[2].split()[:1] + lines[2].split()[2:6] == ["complete", "2026-01-01", "00:00:00", "complete", "4/4"]


def test_a_skipped_launch_does_not_count_as_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = create(tmp_path, experiment("stopped"), "", clock=FakeClock())
    for number, status in enumerate(("failed", "timeout", "skipped", "skipped")):
        record.writer(number).append("launches", launch_row(number, status=status))
    record.finish("failed", "no launch succeeded")
    assert table(shown(tmp_path, capsys))[1].split()[5] == "2/4"


def test_a_damaged_record_is_shown_with_its_problem_and_hides_no_other(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(root, capsys)
    assert table(out)[3].split()[:4] == ["broken", "-", "-", "damaged"]
    assert f"-broken:{root}/broken/manifest.jsonisdamagedorforeign:itisnotJSON" in "".join(out.split())
    assert "no-record" not in out
    assert 'tests="3" failures="1"' in shown(root, capsys, "--junit", "--output", "-")


def test_json_holds_the_same_with_exact_numbers(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(shown(root, capsys, "--json"))
    assert [one["state"] for one in found] == ["interrupted", "complete", "damaged"]
    complete = found[1]
    files = [file for file in Path(complete["folder"]).rglob("*") if file.is_file()]
    assert complete["bytes"] == sum(file.stat().st_size for file in files)
    assert (complete["launches_done"], complete["launches_planned"], complete["name"]) == (4, 4, "complete")
    assert found[0]["reason"] == "Ctrl-C"


def test_columns_are_aligned(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = table(shown(root, capsys))
    at = head.index("State")
    assert [row[at - 2 : at] for row in rows] == ["  "] * 3
    assert [row[at:].split()[0] for row in rows] == ["interrupted", "complete", "damaged"]
    assert len({len(line) for line in (head, *rows)}) == 1


def test_an_empty_folder_says_how_to_make_a_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["list"]) == 0
    assert "`assay run` makes a record" in capsys.readouterr().out
    assert main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(tmp_path / "typo")]) == 6
    assert "typo does not exist" in capsys.readouterr().err


def test_a_pipe_gets_plain_text(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fireassay", "list", str(root)],
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        env=os.environ | {"FORCE_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("verb", ["list", "verify"])
def test_listing_and_verifying_import_neither_torch_nor_scipy_nor_polars(root: Path, verb: str) -> None:
    code = f"""
import sys
from fireassay.cli import main
main([{verb!r}, {str(root)!r} if {verb!r} == "list" else {str(root)!r} + "/" + {_complete(root)!r}])
assert not set(sys.modules) & {{"torch", "scipy", "polars", "pandas", "altair"}}, sorted(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PROCESS_S)
    assert done.returncode == 0, done.stderr


def _complete(root: Path) -> str:
    return next(path.name for path in root.iterdir() if path.name.startswith("complete"))


def test_a_store_is_listed_from_its_manifests(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fireassay.record.store import Store

    store = tmp_path / "store"
    Store(str(store)).push(root / _complete(root))
    assert main(["list", "--store", str(store), "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| Name | ID | Date (UTC) | State | Plan | Folder |" in lines
    assert lines[-1].startswith("| complete |")
    assert main(["list", "--store", str(store), "--json"]) == 0
    assert [one["state"] for one in json.loads(capsys.readouterr().out)] == ["complete"]
    assert main(["list", "--store", str(tmp_path / "nothing")]) == 0
    assert "`assay check --push` adds records" in capsys.readouterr().out


def test_an_address_with_a_password_is_refused_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--store", "ftp://me:hunter22@host/records"]) == 2
    assert "hunter22" not in capsys.readouterr().err
