"""Does what a client process noted outlive it, however it ends, and whatever room the disk has?"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fireassay.traffic.client import due

KILLED = """
import os, signal, sys
from pathlib import Path
from fireassay.traffic.client import due as due_journal
noted = due_journal.opened(Path(sys.argv[1]), 5)
noted[0], noted[3] = 10**18, 7
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_noted_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / due.name(2)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    found = due.read(path, 5)
    assert found is not None
    assert found.tolist() == [10**18, 0, 0, 7, 0, 0]
    assert due.trouble(path) == 0


def test_the_last_number_says_why_nothing_could_be_written(tmp_path: Path) -> None:
    noted = due.opened(tmp_path / "x", 1)
    noted[-1] = errno.ENOSPC
    assert due.trouble(tmp_path / "x") == errno.ENOSPC


def test_without_a_file_nothing_is_known(tmp_path: Path) -> None:
    assert due.read(tmp_path / "x", 5) is None
    assert due.trouble(tmp_path / "x") == 0
    (tmp_path / "x").write_bytes(b"")  # as a full disk leaves it
    assert due.read(tmp_path / "x", 5) is None
    assert due.trouble(tmp_path / "x") == 0


def test_where_there_is_no_room_memory_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "posix_fallocate", full)
    noted = due.opened(tmp_path / "x", 3)
    noted[2] = 5
    assert noted.tolist() == [0, 0, 5, 0]
    assert due.read(tmp_path / "x", 3) is None
    assert due.opened(tmp_path / "no folder" / "x", 3).tolist() == [0, 0, 0, 0]


def test_the_room_is_taken_before_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is no posix_fallocate: a page that cannot be had later would be a SIGBUS."""
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    requests = 200_000
    due.opened(tmp_path / "x", requests)
    state = (tmp_path / "x").stat()
    assert state.st_size == (requests + 1) * 8
    assert state.st_blocks * 512 >= state.st_size
    assert np.count_nonzero(due.read(tmp_path / "x", requests)) == 0
