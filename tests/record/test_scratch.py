"""Does a temporary folder go, also after a kill, and never under a process that uses it?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.record.scratch import locked, scratch
from tests.limits import PROCESS_S

KILLED = """\
import os, signal
from fireassay.record.scratch import scratch
with scratch() as folder:
    (folder / "half").mkdir()
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_lasts_as_long_as_the_body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch() as folder:
        (folder / "a").write_text("x")
        assert folder.parent == tmp_path
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_goes_with_the_next_and_what_is_in_use_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", KILLED], env=environment, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    left = Path(done.stdout.strip())
    assert (left / "half").is_dir(), done.stderr
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch() as first, scratch() as second:
        assert not left.exists()
        assert first.exists()
        assert second.exists()


def test_a_folder_is_removed_once(tmp_path: Path) -> None:
    folder = locked(tmp_path, "x-")
    folder.remove()
    with open(tmp_path / "other", "w") as other:  # the descriptor's number is free again
        folder.remove()
        other.write("still open")
    assert (tmp_path / "other").read_text() == "still open"
