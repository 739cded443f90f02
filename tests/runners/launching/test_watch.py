"""The coordinator knows how far the workers are, and sees each of them vanish once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fireassay.runners.launching import watch as watch_module
from fireassay.runners.launching.watch import Watch, Worker
from tests.limits import PROCESS_S
from tests.runners.making import worker

S = 1_000_000_000


def test_nothing_is_known_before_the_workers_start(tmp_path: Path) -> None:
    watch = Watch(tmp_path, 2)
    watch.poll()
    assert (watch.ranks, watch.steps, watch.incarnation, watch.vanished()) == ({}, 0, 0, [])


def test_a_step_counts_when_every_rank_has_finished_it(tmp_path: Path) -> None:
    watch = Watch(tmp_path, 2)
    worker(tmp_path, 0, pid=os.getpid()).step(7, 0)
    worker(tmp_path, 1, pid=os.getpid()).step(5, 0)
    watch.poll()
    assert watch.steps == 5
    watch.close()


def test_the_rate_is_taken_over_the_last_seconds(tmp_path: Path) -> None:
    watch = Watch(tmp_path, 1)
    rank = worker(tmp_path, 0, pid=os.getpid())
    for steps, second in ((1, 0), (11, 1), (31, 2)):
        rank.step(steps, 0)
        watch.poll()
        rate = watch.steps_per_s(second * S)
    assert rate == pytest.approx(15.0)  # 30 steps in 2 s
    watch.close()


def test_the_highest_incarnation_counts_the_restarts(tmp_path: Path) -> None:
    watch = Watch(tmp_path, 2)
    worker(tmp_path, 0, pid=os.getpid())
    watch.poll()
    worker(tmp_path, 0, pid=os.getpid(), incarnation=1)
    watch.poll()
    assert watch.incarnation == 1
    watch.close()


def test_the_end_of_another_machines_process_is_not_guessed_from_its_number(tmp_path: Path) -> None:
    watch = Watch(tmp_path, 1, lambda _: False)
    worker(tmp_path, 0, pid=2**22 - 1).step(3, 0)  # nobody here has that number
    watch.poll()
    assert watch.steps == 3
    assert watch.vanished() == []
    watch.close()


@pytest.mark.parametrize("with_pidfd", [True, False])
def test_a_process_that_ends_is_told_once_even_as_a_zombie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_pidfd: bool) -> None:
    if not with_pidfd:
        monkeypatch.setattr(watch_module, "_pidfd", lambda _: None)
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    watch = Watch(tmp_path, 1)
    worker(tmp_path, 0, pid=process.pid)
    watch.poll()
    assert watch.vanished() == []
    process.kill()  # and not waited for: it stays a zombie
    gone: list[Worker] = []
    deadline = time.monotonic() + PROCESS_S
    while not gone and time.monotonic() < deadline:
        gone = watch.vanished()
    assert gone == [Worker(rank=0, incarnation=0, pid=process.pid)]
    watch.poll()
    assert watch.vanished() == []
    process.communicate()
