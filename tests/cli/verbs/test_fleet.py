"""`assay fleet`: which files name nodes, and what does it plan?"""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path

import pytest

from fireassay import catalog, cli
from fireassay.errors import SpecError
from fireassay.spec.flags.fleet import ROUNDS, experiment_from
from fireassay.spec.hosts_file import hosts_in
from fireassay.spec.load import from_mapping
from fireassay.spec.sections.workload import Kubernetes, Launcher


def parsed(*words: str) -> argparse.Namespace:
    return cli.parser(catalog.load("cli.verbs", "fleet")).parse_args(words)


@pytest.fixture
def names(tmp_path: Path) -> Path:
    path = tmp_path / "nodes.txt"
    path.write_text("# rack = 1\na\n\nb  # left\n")
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


def test_a_second_column_is_the_switch(tmp_path: Path) -> None:
    (path := tmp_path / "nodes").write_text("a s1\nb\n")
    assert [host.get("switch") for host in hosts_in(path)] == ["s1", None]
    path.write_text("a s1 too many\n")
    with pytest.raises(SpecError, match="a name per line"):
        hosts_in(path)


def test_a_user_is_of_ssh_and_not_of_the_address(tmp_path: Path) -> None:
    (path := tmp_path / "nodes").write_text("lab@a\n")
    assert hosts_in(path) == [{"name": "a", "address": "a", "prefix": ["ssh", "lab@a"]}]


def test_links_are_planned_with_their_number_of_pairs(names: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("fleet", "--hosts", str(names), "--tests", "latency,disk", "--pairs", "all", "--dry-run")
    assert cli.main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 1
    assert cli.main([*words]) == 0
    assert capsys.readouterr().out == "7 rounds; in each, disk on every one of a, b; latency over tcp on 1 pair, one after the other\n"


PODS = 'kind = "kubernetes"\nworkers_per_node = 4\nkubernetes = { image = "lab/train:3" }\n'


@pytest.mark.parametrize("head", ["", "[launcher]\n"])
def test_a_file_says_what_is_asked_of_the_engine(tmp_path: Path, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The flags of `run`, `comm` and `load` read it too; other flags go before what it says."""
    (path := tmp_path / "pods.toml").write_text(head + PODS)
    made = experiment_from(parsed("--launcher", str(path), "--nodes", "2"))
    assert made.launcher == Launcher(kind="kubernetes", workers_per_node=1, kubernetes=Kubernetes(image="lab/train:3"))
    for words in (["comm", "--workers", "8", "--threads", "2"], ["load", "http://h:1", "--processes", "8"]):
        assert cli.main([*words, "--launcher", str(path), "--toml"]) == 0
        made = from_mapping(tomllib.loads(capsys.readouterr().out))
        assert (made.launcher.kind, made.launcher.workers_per_node, made.launcher.kubernetes) == (
            "kubernetes",
            4,
            Kubernetes(image="lab/train:3"),
        )
        assert made.launcher.threads_per_worker == (2 if words[0] == "comm" else 1)


@pytest.mark.parametrize(
    ("text", "why"), [(None, "No such file"), ("kind = [", "x.toml"), ("x = 1", "names no engine"), ("kind = 3", "names no engine")]
)
def test_a_file_that_names_no_engine_is_refused(tmp_path: Path, text: str | None, why: str) -> None:
    if text is not None:
        (tmp_path / "x.toml").write_text(text)
    with pytest.raises(SpecError, match=why):
        experiment_from(parsed("--launcher", str(tmp_path / "x.toml"), "--nodes", "2"))


def test_lent_nodes_are_asked_of_their_engine() -> None:
    made = experiment_from(parsed("--launcher", "slurm", "--nodes", "8"))
    assert (made.launcher.kind, made.launcher.workers_per_node, made.factor.levels) == ("slurm", 1, (8,))


@pytest.mark.parametrize(
    ("words", "where"), [((), "--hosts"), (("--launcher", "slurm"), "--nodes"), (("--launcher", "slurm", "--nodes", "0"), "--nodes")]
)
def test_nodes_come_from_one_place(words: tuple[str, ...], where: str) -> None:
    with pytest.raises(SpecError) as caught:
        experiment_from(parsed(*words))
    assert [problem.where for problem in caught.value.problems] == [where]


def test_both_places_are_too_many(names: Path) -> None:
    with pytest.raises(SpecError, match="both --hosts and --launcher"):
        experiment_from(parsed("--hosts", str(names), "--launcher", "slurm", "--nodes", "2"))
    with pytest.raises(SpecError, match="2, with --hosts"):
        experiment_from(parsed("--hosts", str(names), "--nodes", "2"))


@pytest.mark.slow
def test_a_whole_fleet_that_became_slower_is_found_in_its_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes whose rates are known: six records alike, then one 10 % slower. Drain list and exit codes come along."""
    answer = tmp_path / "answer.sh"
    hosts = ", ".join(f'{{ name = "n{number}", address = "x", prefix = ["{answer}", "{number}"] }}' for number in range(4))
    (path := tmp_path / "nodes.toml").write_text(f"hosts = [{hosts}]\n")
    words = ["fleet", "--hosts", str(path), "--tests", "memory", "--rounds", "3", "--root", str(tmp_path / "records"), "--quiet"]
    codes = []
    for speed in (1000, 1003, 998, 1001, 999, 1002, 900):
        answer.write_text(f'#!/bin/sh\necho "{{\\"memory\\": {{\\"rate\\": {speed}.$1$$}}}}"\n')
        answer.chmod(0o755)
        code = cli.main([*words, "--history", str(tmp_path / "records"), "--drain-list", str(tmp_path / "drain.txt")])
        codes.append(code)
    said = capsys.readouterr().out
    assert codes == [4] * 5 + [0, 4]
    assert "no earlier record comparable" in said
    assert "suspected to be worse" in said.rpartition("history: ")[2]
    assert (tmp_path / "drain.txt").read_text() == ""


@pytest.mark.parametrize("words", [("--tests", "disks"), ("--rounds", "0"), ("--name", "a/b"), ("--pairs", "2"), ("--transport", "ib")])
def test_wrong_flags_are_refused_under_their_own_names(names: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(SpecError) as caught:
        experiment_from(parsed("--hosts", str(names), *(("--tests", "latency") if words[0] in ("--pairs", "--transport") else ()), *words))
    assert [problem.where for problem in caught.value.problems] == [words[0]]


def test_a_file_that_names_a_node_twice_is_refused_before_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nodes").write_text("a\nb\na\n")
    assert cli.main(["fleet", "--hosts", str(tmp_path / "nodes"), "--dry-run"]) == 2
    assert "which names a more than once" in " ".join(capsys.readouterr().err.split())


def test_no_node_is_not_the_number_nought(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fleet", "--launcher", "slurm", "--nodes", "0", "--dry-run"]) == 2
    assert "--nodes: found 0;" in capsys.readouterr().err
