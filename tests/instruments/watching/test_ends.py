"""Does the job go on, and is no process left, however the watch or the job ends?"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fireassay.api.jobs.watching import Wanted, watch
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from tests.launchers.helpers import is_gone, until, wait_until_gone

WORKER = "print(flush=True)\nwhile True:\n    sum(range(10000))\n"
HANGS = '#!/bin/sh\necho $$ > "$PIDS.new"\nmv "$PIDS.new" "$PIDS"\nexec sleep 600\n'
SAMPLER = """import sys
from fireassay.instruments.watching.processes import workers_below
from fireassay.instruments.watching.sampler import Sampler
Sampler(workers_below([int(sys.argv[1])], "here"), py_spy=sys.argv[2]).run(600)
"""


@contextmanager
def workers(number: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Busy ranks, each of which has begun."""
    with ExitStack() as stack:
        found = []
        for rank in range(number):
            variables = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(number)}
            worker = stack.enter_context(subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, env=variables))
            stack.callback(worker.kill)
            assert worker.stdout is not None
            worker.stdout.readline()
            found.append(worker)
        yield found


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def looking_at(pids: set[str]) -> list[int]:
    """Processes other than the workers that have the number of one of them in their command."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and entry.name not in pids:
            try:
                words = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            except OSError:
                continue
            if "dump" in words and pids & set(words):
                found.append(int(entry.name))
    return found


@pytest.fixture(autouse=True)
def no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)


def hanging(folder: Path, name: str) -> tuple[Path, Path]:
    """A program that never ends, and the file that has its number once it runs."""
    program = folder / name
    program.write_text(HANGS)
    program.chmod(0o755)
    return program, folder / f"{name}.pid"


def test_a_dump_that_hangs_ends_with_the_sampler_that_was_killed(tmp_path: Path) -> None:
    program, pids = hanging(tmp_path, "py-spy")
    with workers(1) as (worker,):
        words = [sys.executable, "-c", SAMPLER, str(worker.pid), str(program)]
        with subprocess.Popen(words, env={**os.environ, "PIDS": str(pids)}) as sampler:
            until(pids.exists, "a dump")
            sampler.kill()
        wait_until_gone([int(pids.read_text())])
        assert state(worker.pid) in "RS"


def test_srun_ends_with_the_watch_that_was_killed(tmp_path: Path) -> None:
    """Else its samplers would look at the job for as long as --for says, a day at most."""
    _, pids = hanging(tmp_path, "srun")
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\necho 1\n")
    squeue.chmod(0o755)
    variables = {**os.environ, "PIDS": str(pids), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    words = [sys.executable, "-m", "fireassay", "watch", "--slurm-job", "7", "--for", "600s", "--no-record"]
    with subprocess.Popen(words, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as watching:
        until(pids.exists, "srun")
        watching.kill()
    wait_until_gone([int(pids.read_text())])


def test_a_watch_that_is_killed_stops_no_worker_and_leaves_no_dump_but_what_it_saw(tmp_path: Path) -> None:
    with workers(2) as job:
        pids = {str(worker.pid) for worker in job}
        terminal, theirs = os.openpty()  # on a terminal it says when it has begun
        words = [
            sys.executable,
            "-m",
            "fireassay",
            "watch",
            "--pid",
            str(os.getpid()),
            "--for",
            "600s",
            "--root",
            str(tmp_path / "records"),
        ]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=theirs) as watching:
            os.close(theirs)
            seen = b""
            while b"watching" not in seen:
                seen += os.read(terminal, 1000)
            watching.kill()
        os.close(terminal)
        until(lambda: not looking_at(pids), "the end of py-spy")
        assert all(worker.poll() is None and state(worker.pid) in "RS" for worker in job)
    [record] = (tmp_path / "records").iterdir()
    assert open_record(record).state == "interrupted"


def test_a_worker_that_is_killed_ends_the_watch_and_what_was_seen_is_kept(tmp_path: Path) -> None:
    with workers(2) as job:
        ticks: list[str] = []

        def kill(words: str) -> None:
            ticks.append(words)
            if len(ticks) == 4:  # some six seconds
                job[1].kill()

        document = watch(Wanted(pid=os.getpid(), seconds=600, root=tmp_path / "records"), kill)
        assert is_gone(job[1].pid)
        assert job[0].poll() is None
        assert state(job[0].pid) in "RS"
        assert looking_at({str(worker.pid) for worker in job}) == []
    assert (document["ended"], document["finding"]) == (True, "none")
    assert [rank["rank"] for rank in document["ranks"]] == [0, 1]
    assert 4 < document["seconds"] < 600
    verify(Path(document["record"]))
