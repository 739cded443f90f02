"""Starts small scripts under a guard and waits for their end."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from fireassay.launchers import local
from fireassay.launchers.support import fork_client, supervisor
from fireassay.launchers.support.base import Ending, Handle, Request, worker_environment
from fireassay.runners.experiment.run import run as run_experiment
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Launcher as Settings
from tests.limits import PROCESS_S

DEADLINE_S = PROCESS_S


@contextmanager
def many_files() -> Iterator[None]:
    """This process has so many files open that those opened meanwhile have numbers above 1023, which select() does not know."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 2_000:
        pytest.skip(f"this system allows a process {before[1]} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2_000), before[1]))
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
    try:
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def recorded(experiment: Experiment, *, folder: Path, root: Path) -> Path:
    """Its record, made of forked launches where they are possible: for tests of what a launch does, not of how it starts."""
    launcher = experiment.launcher.model_copy(update={"start": "exec" if local.no_fork() else "fork"})
    try:
        return run_experiment(experiment.model_copy(update={"launcher": launcher}), folder=folder, root=root)
    finally:
        fork_client.end()


def request(folder: Path, source: str, **changes: object) -> Request:
    """A request for a script of this source; every test has a mark of its own."""
    script = folder / "script.py"
    script.write_text(source)
    settings = Settings()
    values: dict[str, object] = {
        "script": script,
        "arguments": (),
        "workers": 1,
        "environment": worker_environment(os.environ, settings, {}),
        "cwd": folder,
        "log": folder / "log",
        "log_bytes": 1 << 20,
        "secrets": (),
        "mark": f"test.{os.getpid()}.{folder.name}.",
        "max_restarts": 0,
        "grace_s": 1.0,
        "settings": settings,
    }
    return Request(**{**values, **changes})  # type: ignore[arg-type]


def until(look: Callable[[], object], what: str) -> object:
    """Poll until something is true."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := look()):
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.005)
    return found


def is_gone(pid: int) -> bool:
    """Whether a process has ended, though perhaps nobody has waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until_gone(pids: Iterable[int]) -> None:
    """Wait for the end of processes. One that ends has no environment any more a moment before it is gone, so that
    `guard.marked` does not find it while /proc still calls it running."""
    left = list(pids)
    until(lambda: all(is_gone(pid) for pid in left), f"the end of {left}")


def ending_of(handle: Handle, mark: str) -> Ending:
    """Wait for the end; nothing of the launch may be left then."""
    try:
        until(handle.poll, "the end")
    finally:
        handle.close()
    ending = handle.poll()
    assert ending is not None
    assert supervisor.marked(mark) == []
    return ending


def run(launcher: ModuleType, asked: Request) -> Ending:
    """Start it and wait for its end."""
    return ending_of(launcher.start(asked), asked.mark)
