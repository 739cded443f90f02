"""Is it said which node did not answer, and does nothing stay behind?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.runners.launching.link_group import run_group
from fireassay.spec.sections.workload import Host
from tests.launchers.helpers import many_files, until

pytestmark = pytest.mark.slow
ALONE = """
import sys
from fireassay.runners.launching.link_group import run_group
from fireassay.spec.sections.workload import Host
hosts = [Host(name=name, address="127.0.0.1", prefix=("env", "MARKED_BY=" + sys.argv[1])) for name in "ab"]
while True:
    run_group(hosts, "tcp", ["bandwidth"], lambda: False)
"""


def host(name: str, *prefix: str, **environment: str) -> Host:
    return Host(name=name, address="127.0.0.1", prefix=prefix, environment=environment)


def test_two_nodes_tell_their_results() -> None:
    with many_files():  # as many pairs at once have
        told = run_group([host("a"), host("b", "sh", "-c", 'echo Welcome; exec "$@"', "sh")], "tcp", ["latency"], lambda: False)
    assert (told.why, told.culprit) == ("", "")
    assert told.results["latency"]["value"] > 0.0


@pytest.mark.parametrize(
    ("first", "second", "culprit", "why"),
    [
        (("false",), (), "a", "a: exit code 1: no output"),
        ((), ("sh", "-c", "echo No route to host >&2; exit 255"), "b", "b: exit code 255: No route to host"),
        ((), ("/nowhere/ssh",), "b", "b: No such file or directory"),
    ],
)
def test_the_node_that_does_not_answer_is_named(first: tuple[str, ...], second: tuple[str, ...], culprit: str, why: str) -> None:
    told = run_group([host("a", *first), host("b", *second)], "tcp", ["latency"], lambda: False)
    assert (told.results, told.culprit, told.why) == ({}, culprit, why)


def test_a_stop_ends_it_and_accuses_nobody() -> None:
    told = run_group([host("a"), host("b")], "tcp", ["bandwidth"], lambda: True)
    assert (told.results, told.why, told.culprit) == ({}, "", "")


def _marked(mark: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"MARKED_BY={mark}".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_nothing_stays_when_assay_is_killed() -> None:
    mark = f"links-{os.getpid()}"
    process = subprocess.Popen([sys.executable, "-c", ALONE, mark])
    try:
        until(lambda: len(_marked(mark)) == 2, "both nodes' programs")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: not _marked(mark), "the end of both")
