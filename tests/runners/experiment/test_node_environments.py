"""Is each node read where it is, and a node that does not answer named with the reason?"""

from __future__ import annotations

import platform
import sys

from fireassay.runners.experiment.node_environments import KEYS, captured
from fireassay.spec.sections.workload import Host


def test_every_node_is_read_through_its_prefix() -> None:
    banner = (sys.executable, "-c", "import subprocess, sys; print('welcome', flush=True); sys.exit(subprocess.call(sys.argv[1:]))")
    found = captured([Host(name="a", address="10.0.0.1", prefix=banner), Host(name="b", address="10.0.0.2")])
    assert list(found) == ["a", "b"]
    assert [tuple(facts) for facts in found.values()] == [KEYS, KEYS]
    assert {facts["host.kernel"] for facts in found.values()} == {platform.release()}


def test_a_node_that_does_not_answer_says_why() -> None:
    refused = (sys.executable, "-c", "import sys; sys.exit('Connection refused')")
    found = captured([Host(name="a", address="10.0.0.1", prefix=refused), Host(name="b", address="10.0.0.2", prefix=("no-such-program",))])
    assert found["a"] == {"absent": "the node answered nothing (exit code 1: Connection refused)"}
    assert "no-such-program" in found["b"]["absent"]
