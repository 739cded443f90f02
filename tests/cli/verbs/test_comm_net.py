"""`assay comm --net`: which flags go together with it, and what is told without looking at anything."""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path

import pytest

from fireassay import catalog, cli
from fireassay.cli.verbs.comm import ROUNDS, probe_from
from fireassay.errors import SpecError
from fireassay.runners.network import hosts_and_seconds
from fireassay.spec.load import from_mapping


def parsed(*words: str) -> argparse.Namespace:
    return cli.parser(catalog.load("cli.verbs", "comm")).parse_args(words)


def test_hosts_become_a_look_of_several_rounds() -> None:
    found = probe_from(parsed("--net", "a", "b:7000"))
    assert found.workload.runner == "network"
    assert found.workload.arguments == ("a", "b:7000")
    assert found.launches.per_configuration == ROUNDS


def test_the_flags_that_have_a_meaning_are_taken() -> None:
    found = probe_from(parsed("--net", "a", "--launches", "3", "--seconds", "5", "--name", "rack", "--confidence", "0.9"))
    assert (found.name, found.launches.per_configuration, found.launches.confidence) == ("rack", 3, 0.9)
    assert found.workload.arguments == ("a", "seconds=5")


@pytest.mark.parametrize(
    "words",
    [
        ("--ops", "all_reduce"),
        ("--workers", "2"),
        ("--matrix",),
        ("--interface", "eth0"),
        ("--launches", "many"),
        ("--launches", "0"),
        ("--confidence", "high"),
        ("--name", "a/b"),
    ],
)
def test_flags_of_collectives_and_wrong_ones_are_refused_under_their_own_names(words: tuple[str, ...]) -> None:
    with pytest.raises(SpecError) as caught:
        probe_from(parsed("--net", "a", *words))
    assert [problem.where for problem in caught.value.problems] == [words[0]]


def test_seconds_that_are_none_are_told_as_such() -> None:
    with pytest.raises(SpecError) as caught:
        hosts_and_seconds(probe_from(parsed("--net", "a", "--seconds", "nan")))
    assert [problem.where for problem in caught.value.problems] == ["--seconds"]


def test_it_can_be_printed_as_a_file_and_its_plan_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["comm", "--net", "a", "--launches", "2", "--root", str(tmp_path)]
    assert cli.main([*words, "--toml"]) == 0
    assert from_mapping(tomllib.loads(capsys.readouterr().out)) == probe_from(parsed(*words[1:]))
    assert cli.main([*words, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rounds": 2, "hosts": ["a"], "seconds": 2.0}
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_says_what_would_be_done_and_does_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["comm", "--net", "a", "b", "--dry-run", "--root", str(tmp_path)]) == 0
    assert "5 rounds; in each, of a, b: echoes, a transfer of 2 s there and one back" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
