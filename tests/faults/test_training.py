"""Real processes, struck in every way: where did the rank-seconds go, against what was done to them?"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.faults import slow
from fireassay.frames.record_data import RecordData, from_record
from fireassay.frames.training.rank_time import CATEGORIES, partition
from fireassay.frames.training.recovery import recoveries
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.runners.training import check
from fireassay.spec.load import from_mapping
from fireassay.spec.plan import plan

COUPLED = Path(__file__).with_name("coupled.py")
STOPPED_S, SLOWED_S, SHARE, LOAD_S = 0.7, 1.0, 0.02, 0.5
ADDED_S = 1.5  # by a busy machine, between two processes that note the same moment


@cache
def can_be_slowed() -> bool:
    try:
        slow.check_training(slow.Keys(kind="slow"))
    except EnvironmentLacks:
        return False
    return True


@pytest.fixture(scope="module")
def struck(tmp_path_factory: pytest.TempPathFactory) -> RecordData:
    folder = tmp_path_factory.mktemp("struck")
    faults: list[dict[str, Any]] = [
        {"kind": "stop", "at_step": 15, "rank": 1, "for_s": STOPPED_S},
        {"kind": "kill", "during": "checkpoint", "after_checkpoints": 1},
        {"kind": "kill", "after_checkpoints": 1, "within_steps": 5, "rank": 1, "times": 2},
    ]
    if can_be_slowed():
        faults.append({"kind": "slow", "at_step": 15, "rank": 1, "for_s": SLOWED_S, "share": SHARE})
    asked = from_mapping(
        {
            "name": "struck",
            "workload": {"script": str(COUPLED), "arguments": [str(folder / "notes"), "32", "5", "200", str(LOAD_S)]},
            "factor": {"levels": [2]},
            "launches": {"per_configuration": 1},
            "launcher": {"kind": "plain"},
            "faults": faults,
            "limits": {"grace_s": 1.0, "launch_timeout_s": 120.0},
        }
    )
    return from_record(open_record(run(asked, folder=folder, root=folder / "records")))


def of_kind(measured: RecordData, kind: str, place: int = 0) -> tuple[dict[str, Any], pl.DataFrame]:
    """The fault event of the place-th launch with such a fault, and its partition in seconds."""
    events = measured.table("events").filter(pl.col("kind") == "fault").sort("launch")
    found = [row for row in events.to_dicts() if f'"fault": "{kind}"' in row["detail"]][place]
    launches = measured.table("launches").filter(launch=found["launch"])
    return found, partition(measured, launches).with_columns(pl.col(list(CATEGORIES)) / 1e9)


@pytest.mark.survival
def test_every_launch_went_to_its_end_and_every_rank_second_has_one_category(struck: RecordData) -> None:
    launches = struck.table("launches")
    assert launches.select("status", "reason").unique().rows() == [("ok", "")]
    parts = partition(struck, launches)
    assert parts.select((pl.sum_horizontal(*CATEGORIES) == pl.col("wall_ns")).all()).item()
    assert parts.select(pl.min_horizontal(*CATEGORIES).min()).item() >= 0
    # What nothing explains: here the probe's own end, and what the script does after its last step.
    assert parts.select((pl.col("unknown") / pl.col("wall_ns")).max()).item() < 0.25


@pytest.mark.survival
def test_a_stop_is_idle_for_its_victim_and_waiting_for_the_other(struck: RecordData) -> None:
    found, parts = of_kind(struck, "stop")
    assert (found["step"], found["rank"]) == (pytest.approx(15, abs=3), 1)
    victim, other = parts.filter(rank=1).row(0, named=True), parts.filter(rank=0).row(0, named=True)
    assert victim["idle"] >= STOPPED_S - 0.05
    assert STOPPED_S - 0.1 <= other["straggler_wait"] <= STOPPED_S + ADDED_S
    assert victim["recompute"] == victim["restart"] == 0.0
    [end] = struck.table("events").filter((pl.col("kind") == "fault_end") & (pl.col("launch") == found["launch"])).to_dicts()
    assert STOPPED_S <= (end["ns"] - found["ns"]) / 1e9 <= STOPPED_S + ADDED_S


@pytest.mark.survival
@pytest.mark.skipif(not can_be_slowed(), reason="no control group may be made here")
def test_a_slowed_rank_holds_the_other_up(struck: RecordData) -> None:
    _, parts = of_kind(struck, "slow")
    # A fiftieth of a processor is left to the victim for 1.5 s: a step of 10 ms takes half a second, whatever else the machine does.
    assert parts.filter(rank=1)["idle"].item() > 0.3
    assert parts.filter(rank=0)["straggler_wait"].item() > 0.3
    assert parts["recompute"].to_list() == [0.0, 0.0]


@pytest.mark.survival
def test_a_worker_killed_while_it_saves_loses_the_steps_since_the_checkpoint_before(struck: RecordData) -> None:
    found, parts = of_kind(struck, "kill", 0)
    assert found["rank"] == 0  # the one that saves
    [recovery] = [one for one in recoveries(struck) if one.launch == found["launch"]]
    # Steps 10 to 19: the checkpoint after 20 was never there. The victim is inside of step 19, which the other may have finished.
    assert recovery.steps_lost in (9, 10)
    assert (parts["recompute"] > 9 * 0.005).all()


@pytest.mark.survival
def test_a_worker_killed_twice_is_struck_once_in_each_incarnation_at_the_step_that_was_drawn(struck: RecordData) -> None:
    found, _ = of_kind(struck, "kill", 1)
    [drawn] = [one.fault for one in plan(struck.experiment) if one.fault is not None and one.fault.times == 2]
    assert 1 <= drawn.delay_steps <= 5
    [launch] = struck.table("launches").filter(launch=found["launch"]).to_dicts()
    assert launch["restarts"] == 2
    events = struck.table("events").filter(launch=found["launch"]).sort("ns")
    strikes = events.filter(kind="fault").to_dicts()
    assert [(one["rank"], one["incarnation"]) for one in strikes] == [(1, 0), (1, 1)]
    # Checkpoints are saved after steps 10 and 20; the fault comes that many steps later, or as soon as that is seen.
    assert strikes[0]["step"] >= 10 + drawn.delay_steps
    assert strikes[1]["step"] >= 20 + drawn.delay_steps
    gone = {(row["rank"], row["incarnation"]): row for row in events.filter(kind="worker_gone").to_dicts()}
    assert set(gone) == {(rank, incarnation) for rank in (0, 1) for incarnation in (0, 1, 2)}
    starts = events.filter(kind="worker_start")
    for strike in strikes:
        victim, other = gone[1, strike["incarnation"]], gone[0, strike["incarnation"]]
        assert json.loads(victim["detail"])["pid"] == json.loads(strike["detail"])["pid"]
        assert strike["ns"] < victim["ns"] <= other["ns"]
        again = starts.filter(incarnation=strike["incarnation"] + 1)["ns"].to_list()
        assert len(again) == 2
        assert min(again) > victim["ns"]


@pytest.mark.survival
def test_each_part_of_a_recovery_is_what_the_script_noted_itself(struck: RecordData) -> None:
    found, parts = of_kind(struck, "kill", 1)
    folder = Path(struck.experiment.workload.arguments[0]) / str(found["launch"])
    asked, begin, first = (noted(folder, what) for what in ("asked", "begin", "first"))
    both = [one for one in recoveries(struck) if one.launch == found["launch"]]
    other = parts.filter(rank=0).row(0, named=True)
    assert other["detect"] == pytest.approx(sum(asked[0, i] - both[i].fault_ns for i in (0, 1)) / 1e9, abs=ADDED_S)
    # Between the beginning of a process and the script's first line lies the start of Python: seconds of it on a busy machine, of the
    # reload.
    assert other["restart"] <= sum(begin[0, i + 1] - asked[0, i] for i in (0, 1)) / 1e9 + ADDED_S
    assert other["restart"] + other["reload"] == pytest.approx(sum(first[0, i + 1] - asked[0, i] for i in (0, 1)) / 1e9, abs=ADDED_S)
    assert other["reload"] >= 2 * LOAD_S
    for incarnation, recovery in enumerate(both, start=1):
        assert recovery.resumed_ns is not None
        assert recovery.resumed_ns == pytest.approx(min(first[0, incarnation], first[1, incarnation]), abs=ADDED_S * 1e9)


def noted(folder: Path, what: str) -> dict[tuple[int, int], int]:
    """(rank, incarnation) -> the first moment, monotonic ns, at which the script noted this."""
    lines = [line.split() for line in (folder / "truth").read_text().splitlines()]
    return {(int(rank), int(incarnation)): int(ns) for word, rank, incarnation, ns in reversed(lines) if word == what}


# ---- bad input


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            {"kind": "reset"},
            r"faults\[0\].kind: found 'reset'; allowed: a kind that strikes a training: command, kill, slow, stop, throttle",
        ),
        ({"kind": "kill", "rank": 2}, r"faults\[0\].rank: found 2; allowed: 0 to 1, for 2 workers"),
        ({"kind": "command"}, r"faults\[0\].command: found nothing"),
        ({"kind": "throttle"}, r"faults\[\].interface: found nothing.*This machine has:"),
    ],
)
def test_a_fault_that_cannot_strike_a_training_is_refused_before_anything_starts(fault: dict[str, Any], words: str) -> None:
    data = {"name": "x", "workload": {"script": str(COUPLED)}, "factor": {"levels": [2]}, "launcher": {"kind": "plain"}, "faults": [fault]}
    with pytest.raises(SpecError, match=words):
        check(from_mapping(data), COUPLED.parent)
