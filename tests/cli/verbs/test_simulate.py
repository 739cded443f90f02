"""`assay simulate`: the answer in closed form first, then a record that is invalid by design; wrong flags are told together."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path

import pytest

from fireassay.api.jobs.cluster import cluster_of, seconds, worker_counts
from fireassay.cli import main
from fireassay.cli.verbs.simulate import VERB

FLAGS = (
    "--step-time",
    "1.0",
    "--serial",
    "0.03",
    "--alpha",
    "20us",
    "--gbps",
    "10",
    "--gradient",
    "1e8",
    "--steps",
    "5",
    "--launches",
    "2",
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_it_answers_and_writes_an_invalid_record(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T(2) = 0.03 + 0.97/2 + 0.08004 = 0.59504 s; the least T at sqrt((0.97 - 0.16) / 4e-5) = 142 workers."""
    code = main(["simulate", "--workers", "1,2,4", *FLAGS, "--jitter", "0"])
    told = capsys.readouterr().out
    assert code == 0
    assert told.startswith("SIMULATED, not measured.")
    assert "0.595 s" in told
    assert "The step is shortest with 142 workers" in told
    assert "INVALID" in told
    assert "simulated, not measured" in told
    assert len(list((here / "records").iterdir())) == 1


def test_json_is_json_and_the_answer_goes_to_stderr(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--workers", "1,2", *FLAGS, "--weak", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["verdict"]["status"] == "INVALID"
    assert "no worker count has the shortest step" in told.err


def test_weak_scaling_loses_what_is_serial(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Gustafson: 8 - s 7 on 8 workers, so 7.3 for a tenth and 4.5 for a half, in the answer as in the record."""
    free = ("--gradient", "1", "--alpha", "1ns", "--jitter", "0", "--noise", "0", "--launches", "2", "--steps", "5", "--weak", "--json")
    for serial, speedup in (("0", "8"), ("0.1", "7.3"), ("0.5", "4.5")):
        assert main(["simulate", "--workers", "1,8", "--step-time", "1", "--serial", serial, *free]) == 0
        told = capsys.readouterr()
        lines = [line.split() for line in told.err.splitlines()]
        assert [line[-2] for line in lines if line[:2] == ["8", "1"]] == [speedup]
        (recorded,) = [
            row["value"] for row in json.loads(told.out)["metrics"] if row["metric"] == "speedup" and "8" in row["configuration"]
        ]
        assert f"{recorded:.3g}" == speedup


def test_wrong_flags_are_told_together(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["simulate", "--workers", "1,two", "--step-time", "soon", "--alpha", "-1", "--gbps", "0"])
    told = capsys.readouterr().err
    assert code == 2
    assert all(flag in told for flag in ("--workers", "--step-time", "--alpha", "--gbps"))
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("--serial", "2"),
        ("--serial", "nan"),
        ("--jitter", "-1"),
        ("--jitter", "nan"),
        ("--gradient", "inf"),
        ("--gradient", "-1"),
        ("--buckets", "0"),
        ("--overlap", "2"),
        ("--noise", "nan"),
        ("--stragglers", "2"),
        ("--steps", "0"),
        ("--steps", "10000001"),
        ("--launches", "0"),
        ("--seed", "-1"),
        ("--name", "a/b"),
        ("--step-time", "inf"),
        ("--gbps", "1e-9"),
        ("--workers", "0"),
        ("--workers", "1,1000000"),
        ("--workers", "90000,99999,99998,99997,99996,99995,99994,99993,99992,99991,99990,99989"),
        ("--workers", "1,100000000"),
        ("--workers", "2,4,...,3"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused_under_its_flag_and_nothing_is_answered(
    here: Path, capsys: pytest.CaptureFixture[str], flag: str, text: str
) -> None:
    assert main(["simulate", "--workers", "1,2", *FLAGS, flag, text]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"{flag}: found" in told.err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("stragglers", [(), ("--stragglers", "0")])
def test_a_slowdown_of_no_worker_is_refused(here: Path, capsys: pytest.CaptureFixture[str], stragglers: tuple[str, ...]) -> None:
    """It was left out without a word, and the answer was that of an even cluster."""
    assert main(["simulate", "--workers", "1,2", *FLAGS, "--slowdown", "2", *stragglers]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "--slowdown: found 2 and no slow workers; allowed: only with --stragglers" in told.err


@pytest.mark.parametrize(("words", "factor"), [((), 1.5), (("--slowdown", "2"), 2.0)])
def test_slow_workers_are_slower_by_what_is_asked_or_half_again(words: tuple[str, ...], factor: float) -> None:
    parser = ArgumentParser()
    VERB.add_arguments(parser)
    cluster, _ = cluster_of(parser.parse_args(["--workers", "1,2", *FLAGS, "--stragglers", "0.5", *words]))
    assert cluster.slowdown == factor


def test_rows_that_no_memory_holds_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows are counted before any is made: what the help gives as an example, with more steps, is too many to judge in memory."""
    assert main(["simulate", "--workers", "1,10000", *FLAGS, "--launches", "5", "--steps", "20"]) == 2
    assert "--steps: found 20; allowed: at most 19 with 5 launches of 10001 workers: 1,000,100 rows" in capsys.readouterr().err
    assert main(["simulate", "--workers", "1,100000", *FLAGS, "--launches", "900", "--steps", "1"]) == 2
    assert "--launches: found 900; allowed: at most 9 with 100001 workers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("1,2,4", (1, 2, 4)),
        ("1,2,4,...,64", (1, 2, 4, 8, 16, 32, 64)),
        ("1,10,...,10000", (1, 10, 100, 1000, 10000)),
        ("1,2,4,...,10", (1, 2, 4, 8, 10)),
    ],
)
def test_worker_counts_go_on_by_their_factor(text: str, counts: tuple[int, ...]) -> None:
    assert worker_counts(text) == counts


@pytest.mark.parametrize("text", ["1,...,4", "1,2,...", "4,2,...,64", "x", "1,2,...,4,8"])
def test_counts_that_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        worker_counts(text)


@pytest.mark.parametrize(("text", "value"), [("20us", 2e-5), ("1.5", 1.5), ("250ms", 0.25), ("5ns", 5e-9), ("2s", 2.0)])
def test_times_have_units(text: str, value: float) -> None:
    assert seconds(text) == pytest.approx(value)
