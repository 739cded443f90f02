"""Exposed communication against an injected truth: hidden behind the computing, in part, and not at all; by every way there is."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from statistics import median
from typing import Any

import pytest

from tests.instruments.known_communication import (
    DATA_S,
    FORWARD_S,
    LAYERS,
    OPTIMIZER_S,
    REGIMES,
    by_step,
    record,
    right,
    steps_of,
    told,
    truth,
    truth_ms,
    unknown_share,
)
from tests.limits import PROCESS_S

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.deep]
EXACT = ("unsynchronised", "group", "engine")
DRAWN = {f"drawn {n}": (round(random.Random(n).uniform(1, 30), 3), round(random.Random(n + 9).uniform(1, 30), 3)) for n in range(4)}
MADE = {**REGIMES, **DRAWN}


def trained(clock: str, regimes: dict[str, tuple[float, float]]) -> dict[str, dict[str, Any]]:
    """Every regime, in one process: importing torch is half of its time."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.instruments.known_communication",
            clock,
            "3",
            *(f"{a},{b}" for a, b in regimes.values()),
        ],
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(regimes, json.loads(done.stdout.splitlines()[-1]), strict=True))


@pytest.fixture(scope="module")
def made() -> dict[str, dict[str, Any]]:
    """On a clock that is moved on by those who work."""
    return trained("made", MADE)


def test_the_truth_worked_out_by_hand() -> None:
    """Layers of 8 ms: an all_reduce of 2 ms ends 2 ms after the last. Of 6 and 8: the fourth ends at 6 + 4 x 8 = 38, 14 after the last
    gradient. Of 2 and 15: at 2 + 4 x 15 = 62, 54 after."""
    assert [truth(*times) for times in REGIMES.values()] == [2.0, 14.0, 54.0]


@pytest.mark.parametrize("regime", MADE)
def test_what_is_exposed_is_what_was_made_to_be(made: dict[str, dict[str, Any]], regime: str) -> None:
    """To the nanosecond: by steps with and without synchronising in turn, by the hooks, by the engine's own callback."""
    values, true = told(made[regime]), truth(*MADE[regime])
    for way in EXACT:
        assert truth_ms(made[regime], way) == pytest.approx(true, abs=1e-5)
    assert {way: values[way] for way in EXACT} == pytest.approx(dict.fromkeys(EXACT, true), abs=1e-5)


@pytest.mark.parametrize("regime", MADE)
def test_phases_make_the_step_and_exposed_communication_lies_in_the_backward_pass(made: dict[str, dict[str, Any]], regime: str) -> None:
    compute, true = MADE[regime][0], truth(*MADE[regime])
    for row in steps_of(made[regime]):
        found = {phase: row[f"{phase}_ns"] / 1e6 for phase in ("data", "forward", "backward", "optimizer")}
        assert found == pytest.approx(
            {
                "data": DATA_S * 1e3,
                "forward": LAYERS * FORWARD_S * 1e3,
                "backward": LAYERS * compute + true,
                "optimizer": OPTIMIZER_S * 1e3,
            },
            abs=1e-5,
        )
        assert abs(unknown_share(row)) <= 0.01
        assert row["exposed_comm_ns"] / 1e6 == pytest.approx(true, abs=1e-5)


@pytest.mark.parametrize("regime", MADE)
def test_steps_in_turn_are_told_before_all_others_and_nothing_is_more_than_the_total(made: dict[str, dict[str, Any]], regime: str) -> None:
    """The total is four all_reduces, one after the other."""
    found = record(made[regime]).communicated
    assert found.best("workers=2") == "unsynchronised"
    for way in EXACT:
        [row] = found.ways.filter(method=way).rows(named=True)
        assert row["total_s"] * 1e3 == pytest.approx(LAYERS * MADE[regime][1], abs=1e-5)
        assert 0.0 <= row["exposed_s"] <= row["total_s"] + 1e-8


def test_ddp_tells_the_same_by_the_machines_clock() -> None:
    """Within 10 % or 2 ms of what those who made it noted, in the median of the steps; the sleeps themselves are as long as they are."""
    found = trained("real", {"partial": REGIMES["partial"]})["partial"]
    for way, seen in (("ddp_logging", 6), ("group", 9)):  # of its own log each of the first ten steps is read, then every eighth
        off = [value - found["truth_ms"][0][step][0] for step, value in by_step(found, way).items()]
        assert len(off) >= seen
        assert right(truth_ms(found) + median(map(abs, off)), truth_ms(found)), (way, off, found["truth_ms"][0])
