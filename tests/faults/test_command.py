"""The fault `command` runs a line for the shell and the line that undoes it, and leaves nothing of them behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.faults import command
from fireassay.faults.support.base import Struck
from fireassay.launchers.support import supervisor
from fireassay.spec.sections.serving import Target
from tests.faults.loaded import at_once, kinds, one_replica, row, struck_at
from tests.launchers.helpers import until
from tests.launchers.support.test_servers import Heard

STRUCK = Struck(replica=3, url="http://example.test:8001/v1", target=Target())


def test_placeholders_are_replaced_in_both_lines(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with one_replica(tmp_path) as (one, heard):
        line = f"echo {{replica}} {{port}} {{pid}} {{url}} >> {out}"
        with at_once("command", struck_at(one), heard, command=line, undo=f"echo back {{replica}} >> {out}", for_s=0.0) as strike:
            until(strike.done.is_set, "the end")
        url = one.replica_urls[0]
        assert out.read_text() == f"0 {one.port(0)} {one.pids(0)[0]} {url}\nback 0\n"
    assert kinds(heard) == ["fault", "fault_end"]


def test_the_port_of_somebody_elses_server_comes_from_its_url() -> None:
    assert command.filled("{replica} {port}", STRUCK) == "3 8001"
    with pytest.raises(ProcessLookupError):
        command.filled("kill {pid}", STRUCK)


def test_a_line_that_fails_is_a_fault_that_was_missed() -> None:
    heard = Heard()
    with at_once("command", STRUCK, heard, command="echo no such pod >&2; exit 4") as strike:
        until(strike.done.is_set, "the end")
    assert "code 4" in row(heard, "fault_missed")[3]["why"]
    assert "no such pod" in strike.missed


def test_a_line_that_does_not_end_is_killed_with_its_children() -> None:
    mark = f"test.{os.getpid()}.late."
    struck = Struck(replica=0, url="http://127.0.0.1:1", target=Target(), mark=mark)
    with pytest.raises(OSError, match=r"did not end within 0\.1 s"):
        command.run("sleep 600 & sleep 600", struck, longest_s=0.1)
    until(lambda: not supervisor.marked(mark), "the end of what was killed")  # by nobody waited for: killed is not yet gone


def test_what_it_leaves_in_the_background_goes_on_until_the_fault_is_over() -> None:
    mark = f"test.{os.getpid()}.left."
    struck = Struck(replica=0, url="http://127.0.0.1:1", target=Target(), mark=mark)
    strike = at_once("command", struck, Heard(), command="sleep 600 & true")
    until(lambda: supervisor.marked(mark), "the background process")
    strike.close()
    assert supervisor.marked(mark) == []


def test_much_output_is_kept_in_part_and_secrets_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTER_TOKEN", "correct-horse-battery")
    log = tmp_path / "logs" / "fault.log"
    struck = Struck(replica=0, url="http://127.0.0.1:1", target=Target(), log=log)
    begin = time.monotonic()
    command.run("yes | head -c 5000000; echo $CLUSTER_TOKEN", struck)
    assert time.monotonic() - begin < command.MAX_S
    assert len(log.read_text()) < 2 * command.MAX_SAID
    assert log.read_text().endswith("[redacted]\n")


@pytest.mark.parametrize("asked", [{}, {"command": " "}])
def test_a_line_is_needed(asked: dict[str, str]) -> None:
    (problem,) = command.rule(command.Keys.model_validate(asked))
    assert (problem.where, problem.found) == ("command", "nothing")
    assert "line for the shell" in problem.allowed


def test_a_line_that_needs_a_process_that_assay_did_not_start_is_refused() -> None:
    with pytest.raises(SpecError, match="assay does not start"):
        command.check(command.Keys(kind="command", command="kill {pid}"), Target(urls=("http://127.0.0.1:1",)))
