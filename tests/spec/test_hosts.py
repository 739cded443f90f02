"""Can the machines of a job be written down, as a file and as Python, and come back from a record as they were?"""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import to_toml

TEXT = """
name = "two"
[workload]
script = "train.py"
[factor]
levels = [2]
[launcher]
kind = "nodes"
[[launcher.hosts]]
name = "a"
address = "10.0.0.1"
prefix = ["ssh", "a"]
environment = { GLOO_SOCKET_IFNAME = "eth0" }
[[launcher.hosts]]
name = "b"
address = "10.0.0.2"
"""


def data(**changes: Any) -> dict[str, Any]:
    """The file's content, its second host changed."""
    found = tomllib.loads(TEXT)
    found["launcher"]["hosts"][1] |= changes
    return found


def test_hosts_are_read_from_a_file_and_written_again() -> None:
    experiment = Experiment.model_validate(data())
    first, second = experiment.launcher.hosts
    assert (first.prefix, first.environment) == (("ssh", "a"), {"GLOO_SOCKET_IFNAME": "eth0"})
    assert (second.prefix, second.environment) == ((), {})
    assert Experiment.model_validate(tomllib.loads(to_toml(experiment))) == experiment


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"address": ""}, "launcher.hosts[1].address"),
        ({"name": "a b"}, "launcher.hosts[1].name"),
        ({"prefix": "ssh b"}, "launcher.hosts[1].prefix"),
        ({"port": 1}, "launcher.hosts[1].port"),
    ],
)
def test_a_host_that_makes_no_sense_is_refused_with_its_key(wrong: dict[str, Any], where: str) -> None:
    with pytest.raises(SpecError) as caught:
        Experiment.model_validate(data(**wrong))
    assert where in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("4M", ""),
        ("1K", ""),
        ("100", "a size from 1K to 64G"),
        ("large", "a size from 1K to 64G"),
        ("-1", "a size from 1K to 64G"),
        ("100G", "a size from 1K to 64G"),
    ],
)
def test_the_size_of_messages_between_pairs_is_one_that_tells_a_bandwidth(text: str, problem: str) -> None:
    asked = {
        "name": "comm",
        "workload": {"runner": "collectives", "work": "calls"},
        "factor": {"levels": [2]},
        "collectives": {"matrix": text},
    }
    if problem:
        with pytest.raises(SpecError, match=problem):
            Experiment.model_validate(asked)
        return
    found = Experiment.model_validate(asked).collectives
    assert found is not None
    assert found.matrix_size == {"4M": 4 << 20, "1K": 1 << 10}[text]
