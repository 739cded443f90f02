"""Are replicas started, told apart, broken, started again and ended, without secrets and with nothing left behind?"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.errors import Interrupted, WorkloadError
from fireassay.launchers.support import servers, supervisor
from fireassay.launchers.support.servers import Replicas, ServerSettings
from fireassay.spec.sections.serving import Target
from tests.launchers.helpers import is_gone, until, wait_until_gone
from tests.limits import PROCESS_S

SERVER = Path(__file__).parents[1] / "tiny_server.py"
COMMAND = (sys.executable, "-S", str(SERVER), "{port}")


@dataclass
class Heard:
    """What was emitted."""

    rows: list[tuple[str, int, int | None, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, kind: str, ns: int, replica: int | None, detail: dict[str, object]) -> None:
        self.rows.append((kind, ns, replica, json.loads(json.dumps(detail))))

    def kinds(self, replica: int | None) -> list[str]:
        return [row[0] for row in self.rows if row[2] == replica]


def mark_of(folder: Path) -> str:
    return f"test.{os.getpid()}.{folder.name}."


@contextmanager
def replicas(folder: Path, *words: str, heard: Heard | None = None, **changes: Any) -> Iterator[Replicas]:
    """Replicas that are not started yet; nothing of them is left afterwards."""
    own = {key: changes.pop(key) for key in ("secrets", "grace_s", "log_bytes") if key in changes}
    stopped = {key: changes.pop(key) for key in ("stopped",) if key in changes}
    target = Target.model_validate({"command": [*COMMAND, *words], "ready_timeout_s": 30.0, **changes})
    mark = mark_of(folder)
    settings = ServerSettings(folder=folder, log_folder=folder / "logs", mark=mark, **{"grace_s": 1.0, "log_bytes": 1 << 20, **own})
    one = Replicas(target, settings, serving_model="tiny", emit=heard or Heard(), **stopped)
    try:
        with one:
            yield one
    finally:
        assert supervisor.marked(mark) == []


def pid_at(url: str) -> int:
    with urllib.request.urlopen(f"{url}/x", timeout=PROCESS_S) as answer:
        return int(answer.read())


def test_every_replica_answers_at_its_own_url_once_started(tmp_path: Path) -> None:
    heard = Heard()
    with replicas(tmp_path, heard=heard, replicas=2) as two:
        two.start()
        found = [pid_at(url) for url in two.urls]
        assert len(set(found)) == 2
        assert [two.pids(replica) for replica in (0, 1)] == [(found[0],), (found[1],)]
    assert all(is_gone(pid) for pid in found)
    for replica in (0, 1):
        assert heard.kinds(replica) == ["server_start", "server_ready", "server_exit"]
    assert [row[3]["asked"] for row in heard.rows if row[0] == "server_exit"] == [True, True]


def test_placeholders_are_replaced_and_other_braces_stay(tmp_path: Path) -> None:
    words = ('say={model}/{replica}/{folder}/{"a":1}',)
    with replicas(tmp_path, *words, model="mine") as one:
        one.start()
    log = (tmp_path / "logs" / "server-server-0.log").read_text()
    assert f'mine/0/{tmp_path.resolve()}/{{"a":1}}' in log


def test_placeholders_are_replaced_in_variables_too(tmp_path: Path) -> None:
    with replicas(tmp_path, "variable=DEVICES", replicas=2, environment={"DEVICES": "gpu-{replica}"}) as two:
        two.start()
    assert [f"gpu-{n}" in (tmp_path / "logs" / f"server-server-{n}.log").read_text() for n in (0, 1)] == [True, True]


def test_it_is_not_ready_before_the_ready_path_answers_200(tmp_path: Path) -> None:
    heard = Heard()
    with replicas(tmp_path, "ready_after=0.4", heard=heard) as one:
        one.start()
    (ready,) = [row for row in heard.rows if row[0] == "server_ready"]
    assert ready[3]["after_s"] >= 0.4
    (start,) = [row for row in heard.rows if row[0] == "server_start"]
    assert start[1] < ready[3]["started_ns"] < ready[1] - 400_000_000  # the supervisor's own start is before it


def test_a_server_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    with replicas(tmp_path, "say=no such model", "die=3") as one, pytest.raises(WorkloadError) as caught:
        one.start()
    assert "exit code 3 before it was ready" in str(caught.value)
    assert "no such model" in str(caught.value)


def test_a_server_that_never_gets_ready_is_told_with_what_it_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is over as soon as it has answered, however long it took to start."""
    late: list[float] = []

    def now() -> float:
        if not late and any("503" in server.trouble for server in one._servers):
            late.append(1000.0)
        return time.monotonic() + sum(late)

    clock = SimpleNamespace(monotonic=now, monotonic_ns=time.monotonic_ns, sleep=time.sleep)
    monkeypatch.setattr(servers, "time", clock)
    with (
        replicas(tmp_path, "ready_after=1000", ready_timeout_s=60.0) as one,
        pytest.raises(WorkloadError, match="not ready within ready_timeout_s = 60 s.*503"),
    ):
        one.start()


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    with replicas(tmp_path, command=["/nowhere/engine"]) as one, pytest.raises(WorkloadError, match="could not be started"):
        one.start()


def test_a_stop_asked_for_while_starting_ends_everything(tmp_path: Path) -> None:
    with replicas(tmp_path, "ready_after=1000", stopped=lambda: True) as one, pytest.raises(Interrupted):
        one.start()


def test_a_killed_replica_takes_its_family_along_and_comes_back_on_its_port(tmp_path: Path) -> None:
    heard = Heard()
    with replicas(tmp_path, "children=2", heard=heard, replicas=2) as two:
        two.start()
        until(lambda: len(two.pids(0)) == 3, "the children")
        family, other = two.pids(0), two.pids(1)
        assert set(two.kill(0)) >= set(family)
        wait_until_gone(family)
        assert not any(is_gone(pid) for pid in other)
        until(lambda: two.state(0) == "exited", "the exit")
        port = two.port(0)
        two.restart(0)
        until(lambda: two.state(0) == "ready", "the replica")
        assert two.port(0) == port
        assert pid_at(two.urls[0]) not in family
    assert heard.kinds(0) == ["server_start", "server_ready", "server_exit", "server_start", "server_ready", "server_exit"]
    (first, _) = [row for row in heard.rows if row[0] == "server_exit" and row[2] == 0]
    assert first[3]["signal"] == signal.SIGKILL
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == [
        "server-server-0.1.log",
        "server-server-0.log",
        "server-server-1.log",
    ]


def test_a_replica_that_dies_by_itself_is_told_as_not_asked_for(tmp_path: Path) -> None:
    heard = Heard()
    with replicas(tmp_path, heard=heard) as one:
        one.start()
        os.kill(one.pids(0)[0], signal.SIGKILL)
        until(lambda: "server_exit" in heard.kinds(0), "the event")
        with pytest.raises(ProcessLookupError):
            one.kill(0)
    (ended,) = [row for row in heard.rows if row[0] == "server_exit"]
    assert ended[3]["asked"] is False


def test_a_server_that_wants_its_port_for_itself_gets_it(tmp_path: Path) -> None:
    source = (
        "import socket, sys, http.server as h\n"
        "class S(h.HTTPServer): allow_reuse_address = False\n"
        "class A(h.BaseHTTPRequestHandler):\n"
        "    def do_GET(self): self.send_response(200); self.end_headers()\n"
        "S(('127.0.0.1', int(sys.argv[1])), A).serve_forever()\n"
    )
    with replicas(tmp_path, command=[sys.executable, "-c", source, "{port}"]) as one:
        one.start()
        assert one.state(0) == "ready"


def test_secrets_reach_neither_the_logs_nor_the_errors_nor_the_guards_command_line(tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    environment = {"ENGINE_API_KEY": secret}
    with replicas(tmp_path, "variable=ENGINE_API_KEY", environment=environment) as one:
        one.start()
        commands = b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in one.pids())
        assert secret.encode() not in commands
        assert secret not in json.dumps(one.described())
    assert "[redacted]" in (tmp_path / "logs" / "server-server-0.log").read_text()
    with replicas(tmp_path, "variable=ENGINE_API_KEY", "die=1", environment=environment) as one, pytest.raises(WorkloadError) as caught:
        one.start()
    assert secret not in str(caught.value)
    assert all(secret not in path.read_text() for path in (tmp_path / "logs").iterdir())


def test_the_router_comes_last_and_knows_the_replicas_ports(tmp_path: Path) -> None:
    heard = Heard()
    router = [*COMMAND, "say=before {ports}"]
    with replicas(tmp_path, heard=heard, replicas=2, router=router) as two:
        two.start()
        assert len(two.urls) == 1
        assert two.urls[0] not in two.replica_urls
        assert pid_at(two.urls[0]) not in (*two.pids(0), *two.pids(1))
        ports = ",".join(str(two.port(replica)) for replica in (0, 1))
    assert f"before {ports}" in (tmp_path / "logs" / "server-server-router.log").read_text()
    kinds = [(row[0], row[2]) for row in heard.rows]
    assert kinds.index(("server_start", None)) > max(kinds.index(("server_ready", replica)) for replica in (0, 1))


@pytest.mark.deep
def test_the_servers_end_when_their_coordinator_is_killed(tmp_path: Path) -> None:
    mark = mark_of(tmp_path)
    coordinator = (
        "import time\nfrom pathlib import Path\nfrom fireassay.launchers.support.servers import Replicas, ServerSettings\n"
        "from fireassay.spec.sections.serving import Target\n"
        f"target = Target(command={[*COMMAND, 'children=1']!r}, replicas=2)\nfolder = Path({str(tmp_path)!r})\n"
        f"settings = ServerSettings(folder=folder, log_folder=folder, mark={mark!r}, grace_s=0.2, log_bytes=1000)\n"
        "one = Replicas(target, settings, serving_model='', emit=lambda *_: None)\none.start()\n"
        "print(*one.pids(), flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", coordinator], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = [int(word) for word in process.stdout.readline().split()]
        process.kill()
    assert len(found) >= 4
    until(lambda: not supervisor.marked(mark), "the end of the orphaned servers")
    wait_until_gone(found)


def test_a_connection_to_a_replica_that_is_down_is_refused(tmp_path: Path) -> None:
    with replicas(tmp_path) as one:
        one.start()
        one.kill(0)
        connection = http.client.HTTPConnection("127.0.0.1", one.port(0), timeout=PROCESS_S)
        with pytest.raises(ConnectionRefusedError):
            connection.connect()
