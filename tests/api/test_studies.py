"""Are the calls of `comm`, `fleet`, `profile` and `simulate` the verbs without printing, and is every wrong argument named?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fireassay
from fireassay.api.jobs import studies
from fireassay.cli.verbs.comm import VERB as COMM
from fireassay.cli.verbs.fleet import VERB as FLEET
from fireassay.errors import SpecError
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.comm import experiment_from as comm_from
from fireassay.spec.flags.fleet import experiment_from as fleet_from
from tests.api import user_program

pytestmark = pytest.mark.slow


def requested(monkeypatch: pytest.MonkeyPatch, call: Callable[..., object], *words: str, **flags: object) -> Experiment:
    """The experiment that a call would run."""
    taken: list[Experiment] = []

    def take(experiment: Experiment, *_: object) -> None:
        taken.append(experiment)

    monkeypatch.setattr(studies, "measured", take)
    call(*words, **flags)
    return taken[0]


def parsed(verb: Any, words: list[str]) -> Any:
    from argparse import ArgumentParser

    parser = ArgumentParser()
    verb.add_arguments(parser)
    return parser.parse_args(words)


def test_the_arguments_are_the_flags(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = requested(monkeypatch, fireassay.comm, workers=[2, 4], ops=["all_reduce"], sizes="1K:4K", interface="eth0")
    assert asked == comm_from(parsed(COMM, ["--workers", "2,4", "--ops", "all_reduce", "--sizes", "1K:4K", "--interface", "eth0"]))
    (hosts := tmp_path / "nodes.txt").write_text("a\nb\n")
    asked = requested(monkeypatch, fireassay.fleet, hosts=str(hosts), rounds=3, find=0.1)
    assert asked == fleet_from(parsed(FLEET, ["--hosts", str(hosts), "--rounds", "3", "--find", "10%"]))


def test_a_profiled_script_has_profiled_launches_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("pass\n")
    asked = requested(monkeypatch, fireassay.profile, "train.py", "--lr", "0.1", wait=20, active=2)
    assert asked.profile is not None
    assert (asked.profile.only, asked.profile.wait, asked.profile.active, asked.factor.levels) == (True, 20, 2, (1,))
    assert asked.workload.arguments == ("--lr", "0.1")


def test_a_simulation_returns_its_record_and_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    record = fireassay.simulate(workers=[1, 2], step_time="200ms", launches=3, steps=12, gbps=100, root=tmp_path)
    assert (record.state, record.judge().status, record.path.parent) == ("complete", "INVALID", tmp_path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("call", "words", "flags", "said"),
    [
        (fireassay.comm, (), {"worker": 2}, "Did you mean workers?"),
        (fireassay.fleet, (), {"host": "x"}, "Did you mean hosts?"),
        (fireassay.fleet, (), {"launcher": "slurm", "nodes": "four"}, "nodes: found 'four'"),
        (fireassay.fleet, (), {"rounds": True}, "neither --hosts nor --launcher"),
        (fireassay.profile, (), {}, "othing to run"),
        (
            fireassay.simulate,
            (),
            {"workers": 2, "step_time": 1, "gbps": "fast", "launches": 2.5},
            "gbps: found 'fast'.*launches: found 2.5",
        ),
        (fireassay.simulate, (), {}, "--workers.*--step-time"),
    ],
)
def test_every_wrong_argument_is_named(call: Callable[..., object], words: tuple[str, ...], flags: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=f"(?s){said}"):
        call(*words, **flags)


def test_the_users_program_runs(tmp_path: Path) -> None:
    found = user_program.main(tmp_path)
    assert found["low"] <= found["value"] <= found["high"]
    assert found["rows"] == 3 * 12 * (1 + 2), "launches, steps, ranks"
