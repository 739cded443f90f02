"""What communication takes of a rank's thread: told apart by hand, and a slow rank named in a real training over gloo."""

from __future__ import annotations

import runpy
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.hooks.communication_waits import Waits
from tests.launched import environment
from tests.limits import PROCESS_S


class Rig:
    """A clock that is set by hand, and a phase that is."""

    def __init__(self) -> None:
        self.ns, self.phase = 0, "backward"
        self.waits = Waits(lambda: self.ns, lambda: self.phase or None)

    def taken(self) -> dict[str, tuple[int, int]]:
        return {phase: (asking, waiting) for phase, asking, waiting in self.waits.taken()}


def test_asking_is_the_time_of_the_call_without_its_wait() -> None:
    """A call of 100 ns that waits 70 of them inside."""
    rig = Rig()
    rig.waits.begin_request()
    rig.ns = 100
    rig.waits.waited(70)
    rig.waits.end_request()
    assert rig.taken() == {"backward": (30, 70)}
    assert rig.taken() == {}, "a step's times are taken once"


def test_a_call_inside_of_a_call_is_a_part_of_it() -> None:
    """A comm hook that asks a function that asks a group: 50 ns, once."""
    rig = Rig()
    for ns in (0, 10, 20):
        rig.ns = ns
        rig.waits.begin_request()
    for ns in (30, 40, 50):
        rig.ns = ns
        rig.waits.end_request()
    assert rig.taken() == {"backward": (50, 0)}


def test_a_wait_outside_of_a_call_and_the_end_of_a_phase_are_waiting() -> None:
    rig = Rig()
    rig.phase = "forward"
    rig.waits.waited(5)
    rig.waits.ended("backward", 11)
    assert rig.taken() == {"forward": (0, 5), "backward": (0, 11)}


def test_in_no_phase_nothing_is_told() -> None:
    """After the last gradient, which is told as a whole, and in an evaluation."""
    rig = Rig()
    rig.phase = ""
    rig.waits.begin_request()
    rig.ns = 9
    rig.waits.waited(4)
    rig.waits.end_request()
    assert rig.taken() == {}


def test_other_threads_are_not_looked_at() -> None:
    rig = Rig()

    def ask() -> None:
        rig.waits.begin_request()
        rig.ns = 100
        rig.waits.end_request()

    other = threading.Thread(target=ask)
    other.start()
    other.join()
    assert rig.taken() == {}


@pytest.mark.deep
@pytest.mark.torch
@pytest.mark.slow
def test_a_rank_that_sleeps_in_a_real_training_is_named_with_its_phase(tmp_path: Path, repository: Path) -> None:
    """40 ms where both ranks' backward passes last as long (traceml #252), also in a script that marks its own steps, and in a comm hook.

    On a machine whose other programs take as much from a step nobody is named, and nobody else ever is; there 400 ms must be seen."""
    truth = {"backward": (0, "backward"), "communication": (0, "communication"), "marked-backward": (0, "backward")}
    for delay_ms in (40, 400):
        told = trained(repository / "benchmarks" / "straggler_truth.py", tmp_path / str(delay_ms), delay_ms, tuple(truth))
        found = {one["case"]: [found[:2] for found in one["found"]] for one in told}
        assert found.keys() == truth.keys()
        assert {case: names for case, names in found.items() if not set(names) <= {truth[case]}} == {}
        (walls,) = (one["backward_ms"] for one in told if one["case"] == "backward")
        assert min(walls) >= delay_ms, "both last as long as the slow one"
        if all(found.values()):
            return
    pytest.fail(f"not named, although it sleeps for {delay_ms} ms in every step: {found}")


def trained(script: Path, folder: Path, delay_ms: int, cases: tuple[str, ...]) -> list[dict[str, Any]]:
    """Of a launch that never gets steady half of the steps count: 60 leave enough."""
    asked = ["--steps", "60", "--workers", "2", "--seeds", "1", "--delay-ms", str(delay_ms), "--cases", ",".join(cases)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), *asked, "--keep", str(folder)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return list(runpy.run_path(str(script))["judged"](folder / "workers=2", 2))
