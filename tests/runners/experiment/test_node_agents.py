"""Is each node read where it is, and a node that does not answer named with the reason?"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fireassay.runners.experiment import node_agents
from fireassay.runners.experiment.node_agents import KEYS, Agent, NodeAgents, metered_by
from fireassay.spec.sections.workload import Host, Launcher
from tests.launchers.helpers import many_files, until
from tests.limits import PROCESS_S

BANNER = (sys.executable, "-c", "import subprocess, sys; print('welcome', flush=True); sys.exit(subprocess.call(sys.argv[1:]))")


@contextmanager
def agents_of(*hosts: Host) -> Iterator[tuple[NodeAgents, list[Agent]]]:
    agents = NodeAgents(hosts)
    try:
        yield agents, agents.of(Launcher(kind="nodes", hosts=hosts))
    finally:
        agents.close()


def host(name: str, prefix: tuple[str, ...] = ()) -> Host:
    return Host(name=name, address="10.0.0.1", prefix=prefix)


def test_every_node_is_read_through_its_prefix() -> None:
    with agents_of(host("a", BANNER), host("b")) as (agents, both):
        assert list(agents.facts) == ["a", "b"]
        assert [tuple(facts) for facts in agents.facts.values()] == [KEYS, KEYS]
        assert {facts["host.kernel"] for facts in agents.facts.values()} == {platform.release()}
        assert metered_by(both) == {"a": "a", "b": "a"}  # one machine, one clock


def test_the_agents_of_a_thousand_nodes_can_be_asked() -> None:
    """Each node takes three files."""
    with many_files(), agents_of(host("a")) as (_, [agent]):
        assert agent.ask({"do": "ping"}) is not None, agent.trouble


def test_a_node_that_does_not_answer_says_why() -> None:
    refused = (sys.executable, "-c", "import sys; sys.exit('Connection refused')")
    with agents_of(host("a", refused), host("b", ("no-such-program",))) as (agents, both):
        assert agents.facts["a"] == {"absent": "the node answered nothing (exit code 1: Connection refused)"}
        assert "no-such-program" in agents.facts["b"]["absent"]
        assert [agent.ask({"do": "ping"}) for agent in both] == [None, None]


def test_a_wait_for_silent_nodes_names_them_and_can_be_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_agents, "QUIET_S", 0.0)
    told: list[str] = []

    def waiting(words: str) -> bool:
        told.append(words)
        return True

    sleeps = (sys.executable, "-c", "import time; time.sleep(1000)")
    agents = NodeAgents([host(name, sleeps) for name in "abcde"], waiting)
    try:
        assert told == ["an answer of a, b, c and 2 more, at most 60 s"]
        assert {facts["absent"] for facts in agents.facts.values()} == {"no answer within 0 s"}
    finally:
        agents.close()


def test_an_agent_is_silent_while_stopped_and_answers_the_current_question_afterwards() -> None:
    with agents_of(host("a")) as (_, [agent]):
        pid = agent.process_id
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        assert agent.ask({"do": "ping"}, 0.05) is None
        os.kill(pid, signal.SIGCONT)
        answer = agent.ask({"do": "calibrate", "seconds": 0.001})
        assert answer is not None
        assert answer["rounds"] > 0
        assert not agent.trouble


def test_an_agent_that_died_is_started_again_for_the_next_launch() -> None:
    with agents_of(host("a")) as (agents, [agent]):
        assert agent.process_id is not None
        os.kill(agent.process_id, signal.SIGKILL)
        until(lambda: agent.trouble, "its end")
        assert agent.ask({"do": "ping"}) is None
        [again] = agents.revive([agent])
        answer = again.ask({"do": "ping"})
        assert answer is not None
        assert answer["sent"] < answer["heard"] <= answer["answered"] < answer["received"]


def test_an_error_on_the_node_is_an_answer() -> None:
    with agents_of(host("a")) as (_, [agent]):
        answer = agent.ask({"do": "sentinel"})
        assert answer is not None
        assert answer["error"] == "KeyError: 'rounds'"


def test_an_order_longer_than_a_pipe_arrives_whole_and_a_part_of_one_ends_the_agents_service() -> None:
    with agents_of(host("a")) as (_, [agent]):
        long = {"do": "nothing", "names": "x" * 300_000}
        answer = agent.ask(long)
        assert answer is not None
        assert "do_nothing" in answer["error"]
        assert agent.process_id is not None
        os.kill(agent.process_id, signal.SIGSTOP)
        assert agent.ask(long, 0.05) is None
        assert agent.trouble == "its agent took a part of an order only"
        os.kill(agent.process_id, signal.SIGCONT)


def test_no_agent_outlives_its_coordinator() -> None:
    """By the end of its input, also where its prefix does not end it."""
    with agents_of(host("a", BANNER)) as (_, [agent]):
        pid = agent.remote_id
    until(lambda: not Path(f"/proc/{pid}").exists(), "the end of the agent")


def test_an_agent_hears_of_its_coordinator_without_being_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(node_agents, "ALIVE_S", 0.05)
    heard = tmp_path / "heard"
    with agents_of(host("a", ("sh", "-c", f'tee {heard} | "$@"', "sh"))) as (_, [agent]):
        until(lambda: heard.read_bytes().startswith(b"\n\n"), "two signs of life")
        assert agent.ask({"do": "ping"}) is not None


def test_an_agent_whose_input_is_held_open_ends_by_itself() -> None:
    """As slurmstepd holds it while slurmd is dead."""
    source = "from fireassay.launchers.support import node_agent as n; n.SILENT_S = 0.2; n.main([])"
    with subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            assert process.wait(PROCESS_S) == 0
        finally:
            process.kill()
