"""`assay fleet`: which files name nodes, and what does it plan?"""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path

import pytest

from fireassay import catalog, cli
from fireassay.cli.verbs.fleet import ROUNDS, experiment_from
from fireassay.errors import SpecError
from fireassay.spec.hosts_file import hosts_in
from fireassay.spec.load import from_mapping


def parsed(*words: str) -> argparse.Namespace:
    return cli.parser(catalog.load("cli.verbs", "fleet")).parse_args(words)


@pytest.fixture
def names(tmp_path: Path) -> Path:
    path = tmp_path / "nodes.txt"
    path.write_text("# rack 1\na\n\nb  # left\n")
    return path


def test_names_are_reached_by_ssh(names: Path) -> None:
    assert [(host["name"], host["prefix"]) for host in hosts_in(names)] == [("a", ["ssh", "a"]), ("b", ["ssh", "b"])]


@pytest.mark.parametrize("head", ["", "[launcher]\n"])
def test_a_table_gives_prefixes(tmp_path: Path, head: str) -> None:
    (path := tmp_path / "nodes.toml").write_text(
        f'{head}hosts = [{{ name = "a", address = "x", prefix = ["ip", "netns", "exec", "a"] }}]\n'
    )
    assert hosts_in(path) == [{"name": "a", "address": "x", "prefix": ["ip", "netns", "exec", "a"]}]


@pytest.mark.parametrize(
    ("text", "why"), [("", "names no node"), ("hosts = [", "nodes"), ("hosts = 3", "names no node"), ("x = 1", "names no node")]
)
def test_a_file_without_nodes_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (path := tmp_path / "nodes").write_text(text)
    with pytest.raises(SpecError, match=why):
        hosts_in(path)
    with pytest.raises(SpecError, match="No such file"):
        hosts_in(tmp_path / "none")


def test_the_flags_become_an_experiment_that_a_file_can_hold(names: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--hosts", str(names), "--tests", "disk,matrix", "--find", "3%", "--confidence", "0.99")
    made = experiment_from(parsed(*words))
    assert (made.workload.arguments, made.launches.per_configuration) == (("disk", "matrix", "find=0.03"), ROUNDS)
    assert cli.main(["fleet", *words, "--toml"]) == 0
    assert from_mapping(tomllib.loads(capsys.readouterr().out)) == made
    assert cli.main(["fleet", *words, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"nodes": ["a", "b"], "tests": ["disk", "matrix"], "rounds": ROUNDS}


@pytest.mark.parametrize("words", [("--tests", "disks"), ("--rounds", "0"), ("--name", "a/b")])
def test_wrong_flags_are_refused_under_their_own_names(names: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(SpecError) as caught:
        experiment_from(parsed("--hosts", str(names), *words))
    assert [problem.where for problem in caught.value.problems] == [words[0]]
