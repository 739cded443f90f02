"""A worker that is a fork of a process with torch imported is what `python -u script.py` would be."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.instruments import injected
from fireassay.launchers import local
from fireassay.launchers.support import fork_client
from fireassay.launchers.support.base import Request, worker_environment
from fireassay.spec.load import from_mapping
from fireassay.spec.sections.workload import Launcher
from tests.launchers.helpers import is_gone, request, run, until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(local.no_fork()), reason=local.no_fork() or "possible")]

SEEN = """
import json, os, random, signal, sys
import numpy
seen = {
    "torch": "torch" in sys.modules,
    "argv": sys.argv, "first": sys.path[0], "main": __name__, "file": __file__, "spec": __spec__,
    "path": sys.path[1:], "cwd": os.getcwd(), "variables": dict(os.environ), "session": os.getsid(0) == os.getpid(),
    "signals": [str(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)],
    "files": len(os.listdir("/proc/self/fd")), "threads": len(os.listdir("/proc/self/task")),
    "random": [random.random(), numpy.random.random()], "unbuffered": sys.stdout.write_through,
    "is_main": sys.modules["__main__"].__dict__ is globals(),
}
open(f"seen{os.environ['RANK']}", "w").write(json.dumps(seen))
sys.stdout.write(f"said {os.environ['RANK']}\\n")  # in one piece, which print is not where nothing is buffered
"""


@pytest.fixture(scope="module", autouse=True)
def cwd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working folder for all: launches that share it share a server, which imports torch for 2.5 s. None is left at the end."""
    yield tmp_path_factory.mktemp("cwd")
    fork_client.end()


def forked(folder: Path, source: str, **changes: object) -> Request:
    settings = Launcher(start="fork")
    environment = worker_environment(os.environ, settings, {})
    return request(folder, source, **{"settings": settings, "environment": environment, "session": "a", **changes})


def test_a_forked_worker_is_as_one_that_was_started_anew(tmp_path: Path) -> None:
    """Two workers, so that random states which an import drew are seen to differ."""
    looks: dict[str, list[dict[str, object]]] = {}
    for start in ("exec", "fork"):
        (tmp_path / start).mkdir()
        asked = forked(tmp_path / start, SEEN, workers=2, arguments=("--a", "b c"))
        asked = replace(asked, settings=Launcher(start=start))
        assert run(local, asked).exit_code == 0
        assert sorted(asked.log.read_text().split("\n")) == ["", "said 0", "said 1"]
        looks[start] = [json.loads((tmp_path / start / f"seen{rank}").read_text()) for rank in (0, 1)]
    for rank in (0, 1):
        anew, fork = (
            {
                name: json.loads(json.dumps(value).replace(str(tmp_path / start), "HERE"))
                for name, value in looks[start][rank].items()
                if name not in ("variables", "random", "torch")
            }
            for start in ("exec", "fork")
        )
        assert fork == anew
        variables = [set(looks[start][rank]["variables"]) for start in ("exec", "fork")]  # type: ignore[call-overload]
        assert variables[1] - {"FIREASSAY_FORK"} == variables[0]
    assert [look["torch"] for look in looks["fork"]] == [True, True]
    first, second = (look["random"] for look in looks["fork"])
    assert first[0] != second[0]  # type: ignore[index]
    assert first[1] != second[1]  # type: ignore[index]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("source", "code", "told"),
    [
        ("import sys; sys.exit(3)", 1, "exitcode  : 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 1, "Signal 9 (SIGKILL)"),
        ("def f():\n    return 1 / 0\nf()", 1, "ZeroDivisionError: division by zero"),
        ("import atexit; atexit.register(print, 'at the end')", 0, "at the end"),
        ("import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print('later'))).start()", 0, "later"),
    ],
)
def test_it_ends_as_python_ends(tmp_path: Path, cwd: Path, source: str, code: int, told: str) -> None:
    asked = forked(tmp_path, source, cwd=cwd)
    assert run(local, asked).exit_code == code
    log = asked.log.read_text()
    assert told in log
    assert "fork_server.py" not in log  # no line of assay in a traceback


@pytest.mark.deep
def test_workers_that_fail_are_restarted(tmp_path: Path, cwd: Path) -> None:
    again = "os.environ['TORCHELASTIC_RESTART_COUNT']"
    source = f"import os, sys; sys.stdout.write('incarnation ' + {again} + '\\n'); sys.exit({again} == '0')"  # in one piece, as above
    asked = forked(tmp_path, source, workers=2, max_restarts=1, cwd=cwd)
    assert run(local, asked).exit_code == 0
    assert asked.log.read_text().count("incarnation 1") == 2


SLEEPS = "import os, sys, time; open(f'{sys.path[0]}/pid{os.environ[\"RANK\"]}', 'w').write(str(os.getpid())); time.sleep(600)"


def workers_of(folder: Path, count: int) -> list[int]:
    files = [folder / f"pid{rank}" for rank in range(count)]
    until(lambda: all(file.exists() and file.read_text() for file in files), "the workers")
    return [int(file.read_text()) for file in files]


@pytest.mark.deep
def test_nothing_is_left_when_the_launch_is_killed(tmp_path: Path, cwd: Path) -> None:
    asked = forked(tmp_path, SLEEPS, workers=2, cwd=cwd)
    handle = local.start(asked)
    workers = workers_of(tmp_path, 2)
    assert set(workers) <= set(handle.pids())
    handle.close()
    assert all(is_gone(pid) for pid in workers)


@pytest.mark.deep
def test_nothing_is_left_when_the_supervisor_is_killed(tmp_path: Path, cwd: Path) -> None:
    """It is found by its mark, which a fork carries as a new process would."""
    asked = forked(tmp_path, SLEEPS, workers=2, cwd=cwd)
    handle = local.start(asked)
    workers = workers_of(tmp_path, 2)
    os.kill(handle.pids()[0], signal.SIGKILL)
    until(handle.poll, "the end")
    handle.close()
    assert all(is_gone(pid) for pid in workers)


@pytest.mark.deep
def test_the_hooks_are_armed_in_an_unmodified_script(tmp_path: Path) -> None:
    source = "import sys; print('hooked', sys.modules['fireassay.instruments.attach'].current() is not None)"
    asked = forked(tmp_path, source)
    variables = {"FIREASSAY_LAUNCH_DIR": str(tmp_path), "FIREASSAY_LAUNCH": "0"}
    asked = replace(asked, environment=injected.into({**asked.environment, **variables}))
    assert run(local, asked).exit_code == 0
    assert "hooked True" in asked.log.read_text()


@pytest.mark.deep
def test_a_server_serves_one_block_and_one_environment(tmp_path: Path) -> None:
    servers = []
    for session, value in (("a", "1"), ("a", "1"), ("b", "1"), ("b", "2")):
        asked = forked(tmp_path, "", session=session)
        fork_client.prepare(
            replace(asked, environment={**asked.environment, "READ_AT_IMPORT": value, "FIREASSAY_LAUNCH": str(len(servers))})
        )
        assert fork_client._server is not None
        servers.append(fork_client._server.process.pid)
    assert servers[0] == servers[1]
    assert len(set(servers)) == 3


@pytest.mark.deep
def test_a_torch_that_cannot_be_imported_is_said_before_the_launch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise RuntimeError('no such library')")
    asked = forked(tmp_path, "")
    with pytest.raises(EnvironmentLacks, match=r'start = "fork" is not possible here: RuntimeError: no such library\. Set'):
        fork_client.prepare(replace(asked, environment={**asked.environment, "PYTHONPATH": str(tmp_path)}))


def test_an_accelerator_is_no_machine_for_it(tmp_path: Path) -> None:
    (tmp_path / "nvidiactl").touch()
    assert local.no_fork(tmp_path) == "/dev/nvidiactl exists, and an accelerator's driver does not survive a fork"


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("launcher", "kind", "plain"),
        ("launcher", "nodes", 2),
        ("launcher", "threads_per_worker", 2),
        ("launcher", "pin", "spread"),
        ("scaling", "time", "wall"),
    ],
)
def test_what_a_fork_would_change_is_refused(section: str, key: str, value: object) -> None:
    data: dict[str, Any] = {"name": "x", "workload": {"script": "x.py"}, "factor": {"levels": [1]}, "launcher": {"start": "fork"}}
    from_mapping(data)
    data.setdefault(section, {})[key] = value
    with pytest.raises(SpecError, match=f"{section}.{key}"):
        from_mapping(data)


def test_a_server_that_has_ended_is_replaced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[int | None] = [None, 7, None, None]
    made: list[object] = []

    class Ended:
        def fork(self, *_: object) -> int | None:
            return answers.pop(0)

        def close(self) -> None:
            made.remove(self)

    def prepared(_: Request) -> None:
        made.append(Ended())
        monkeypatch.setattr(fork_client, "_server", made[-1])

    monkeypatch.setattr(fork_client, "prepare", prepared)
    assert fork_client._forked(forked(tmp_path, ""), []) == 7
    with pytest.raises(EnvironmentLacks, match="ended twice"):
        fork_client._forked(forked(tmp_path, ""), [])
    assert len(made) == 1


def test_a_server_that_is_gone_forks_nothing() -> None:
    server = object.__new__(fork_client.Server)
    server.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    assert server.fork("mark", []) is None
    server.socket.close()
