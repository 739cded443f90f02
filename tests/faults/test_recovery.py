"""A fault launch of real processes: the victim is killed after its checkpoint, all workers start again, the record tells when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.record.reader import open_record
from assay.runners.base import run
from assay.spec.load import from_mapping
from tests.survival import harness


@pytest.mark.survival
def test_a_killed_worker_is_seen_to_go_and_all_workers_start_again(tmp_path: Path) -> None:
    setting = harness.Setting(folder=tmp_path, steps=60, step_ms=10.0, launches=1)
    setting.notes.mkdir()
    asked: dict[str, Any] = {
        **setting.experiment,
        "faults": [{"kind": "kill", "after_checkpoints": 2, "within_steps": 5}],
    }
    record = open_record(run(from_mapping(asked), folder=tmp_path, root=tmp_path / "records"))

    timed, fault = record.table("launches").to_dicts()
    assert (timed["role"], timed["status"], timed["restarts"]) == ("timed", "ok", 0)
    assert (fault["role"], fault["status"], fault["reason"], fault["restarts"]) == ("fault", "ok", "", 1)

    events = [row for row in record.table("events").to_dicts() if row["launch"] == fault["launch"]]
    [strike] = [row for row in events if row["kind"] == "fault"]
    # The second checkpoint is saved after 20 steps; the fault comes 1 to 5 steps later, or as soon as that is seen.
    assert strike["step"] > 20
    assert strike["incarnation"] == 0
    gone = {(row["rank"], row["incarnation"]): row for row in events if row["kind"] == "worker_gone"}
    assert set(gone) == {(rank, incarnation) for rank in (0, 1) for incarnation in (0, 1)}
    victim = gone[strike["rank"], 0]
    assert json.loads(victim["detail"])["pid"] == json.loads(strike["detail"])["pid"]
    assert strike["ns"] < victim["ns"] <= gone[1 - strike["rank"], 0]["ns"]
    starts = [row["ns"] for row in events if row["kind"] == "worker_start" and row["incarnation"] == 1]
    assert len(starts) == 2
    assert min(starts) > victim["ns"]
