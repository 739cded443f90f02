"""`assay comm --net`: which flags go together with it, and what is told without looking at anything."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from assay import catalog, cli
from assay.cli.networking import ROUNDS, experiment_from
from assay.errors import SpecError


def parsed(*words: str) -> argparse.Namespace:
    return cli.parser(catalog.load("cli", "comm")).parse_args(words)


def test_hosts_become_a_look_of_several_rounds() -> None:
    found = experiment_from(parsed("--net", "a", "b:7000"))
    assert found.workload.runner == "network"
    assert found.workload.arguments == ("a", "b:7000")
    assert found.launches.per_configuration == ROUNDS


def test_the_flags_that_have_a_meaning_are_taken() -> None:
    found = experiment_from(
        parsed("--net", "a", "--launches", "3", "--seconds", "5", "--name", "rack", "--confidence", "0.9")
    )
    assert (found.name, found.launches.per_configuration, found.launches.confidence) == ("rack", 3, 0.9)
    assert found.workload.arguments == ("a", "seconds=5")


@pytest.mark.parametrize(
    "words",
    [("--ops", "all_reduce"), ("--workers", "2"), ("--matrix",), ("--launches", "many"), ("--confidence", "high")],
)
def test_flags_of_collectives_are_refused_beside_it(words: tuple[str, ...]) -> None:
    with pytest.raises(SpecError, match=words[0]):
        experiment_from(parsed("--net", "a", *words))


def test_a_dry_run_says_what_would_be_done_and_does_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["comm", "--net", "a", "b", "--dry-run", "--root", str(tmp_path)]) == 0
    assert "5 rounds; in each, of a, b: echoes, a transfer of 2 s there and one back" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
