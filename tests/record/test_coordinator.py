"""Who counts as alive: a process number alone never does."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from fireassay.record import manifest


def record(path: Path) -> Path:
    (path / "streams").mkdir()
    return path


def test_this_process_is_alive(tmp_path: Path) -> None:
    assert manifest.is_alive(manifest.myself(), tmp_path)


def test_a_process_number_that_was_used_again_is_dead(tmp_path: Path) -> None:
    earlier = manifest.myself() | {"create_time": psutil.Process().create_time() - 3600}
    assert not manifest.is_alive(earlier, tmp_path)


def test_a_process_that_was_reaped_is_dead_and_so_is_one_that_was_not_yet(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # it has ended and is a zombie until it is reaped
    named = manifest.myself() | {"pid": child, "create_time": psutil.Process(child).create_time()}
    assert not manifest.is_alive(named, tmp_path)
    os.waitpid(child, 0)
    assert not manifest.is_alive(named, tmp_path)


def test_in_another_container_of_this_kernel_the_lock_decides(tmp_path: Path) -> None:
    path = record(tmp_path)
    elsewhere = manifest.myself() | {"host": "another-container", "pid": 1}
    assert not manifest.is_alive(elsewhere, path), "nobody ever held the lock"
    assert manifest.hold(path)
    assert manifest.is_alive(elsewhere, path)
    manifest.release(path)
    assert not manifest.is_alive(elsewhere, path)


def test_a_coordinator_on_another_machine_counts_as_alive(tmp_path: Path) -> None:
    assert manifest.is_alive(manifest.myself() | {"host": "another", "boot_id": "other-kernel"}, record(tmp_path))
    assert manifest.is_alive(manifest.myself() | {"host": "another", "boot_id": ""}, tmp_path)


def test_a_lock_that_this_process_holds_is_held_again_without_harm(tmp_path: Path) -> None:
    path = record(tmp_path)
    assert manifest.hold(path)
    assert manifest.hold(path)
    manifest.release(path)
    manifest.release(path)
