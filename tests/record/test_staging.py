"""Do staged records appear whole or not at all, also after a kill?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.record import origin
from fireassay.record.staging import staged
from tests.limits import PROCESS_S

KILLED = """\
import os, signal, sys
from pathlib import Path
from fireassay.record.staging import staged
with staged(Path(sys.argv[1])) as folder:
    (folder / "half").mkdir()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_records_are_moved_when_all_are_whole(tmp_path: Path) -> None:
    root = tmp_path / "records"
    with staged(root) as folder:
        (folder / "a").mkdir()
        (folder / "b").mkdir()
        assert not {"a", "b"} & set(names(root))
    assert names(root) == ["a", "b"]


def test_the_mark_of_a_staged_record_is_that_of_its_place(tmp_path: Path) -> None:
    manifest: dict[str, str] = {}
    with staged(tmp_path / "records") as folder:
        (folder / "a").mkdir()
        (folder / "a" / "experiment.toml").write_text("")
        manifest["origin"] = origin.mark(folder / "a", manifest)
    assert origin.is_own(tmp_path / "records" / "a", manifest)


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with staged(tmp_path / "records") as folder:
            (folder / "half").mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not (tmp_path / "records").exists()


def test_the_rest_of_a_killed_process_is_removed_and_that_of_a_running_one_kept(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], timeout=PROCESS_S, check=False)
    assert len(names(tmp_path)) == 1
    with staged(tmp_path) as first:
        assert names(tmp_path) == [first.name]
        (first / "a").mkdir()
        with staged(tmp_path) as second:
            (second / "b").mkdir()
        assert first.exists()
    assert names(tmp_path) == ["a", "b"]
