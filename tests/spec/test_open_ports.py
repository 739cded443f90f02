"""A run whose workers meet over ports that others reach says so before it begins."""

from __future__ import annotations

from datetime import date

import pytest

from fireassay.spec.experiment import Experiment, Factor
from fireassay.spec.rules.experiment import notes
from fireassay.spec.sections.workload import Host, Launcher, Workload

DAY = date(2026, 1, 1)


def said(levels: tuple[int, ...] = (1, 2), *, attach: bool = True, launcher: Launcher | None = None) -> list[str]:
    experiment = Experiment(
        name="x", workload=Workload(script="train.py", attach=attach), factor=Factor(levels=levels), launcher=launcher or Launcher()
    )
    return [note for note in notes(experiment, DAY) if "open to the" in note]


@pytest.mark.parametrize(
    "launcher",
    [
        Launcher(nodes=2, rendezvous_endpoint="10.0.0.1:1", rendezvous_id="x"),
        Launcher(kind="nodes", hosts=(Host(name="a", address="10.0.0.1"), Host(name="b", address="10.0.0.2"))),
    ],
    ids=["nodes", "hosts"],
)
def test_several_machines_meet_over_open_ports(launcher: Launcher) -> None:
    (note,) = said(levels=(2,), launcher=launcher)
    assert "trust" in note


def test_workers_of_one_machine_do_not() -> None:
    assert said() == []


def test_what_is_not_attached_to_cannot_be_kept_here() -> None:
    (note,) = said(attach=False)
    assert "workload.attach is false" in note
    assert said(levels=(1,), attach=False) == []
