"""Is what a run does, or how it ended, said from anywhere?  Of runs that go on: `test_attach.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.api.jobs import running
from fireassay.cli import main
from fireassay.record.live import heartbeat
from tests.record.live.test_heartbeat import beat, elsewhere
from tests.record.making import unfinished

STORED = Path(__file__).parents[2] / "records/before"


def test_a_sealed_record_is_complete_and_what_is_next_is_its_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", str(STORED)]) == 0
    assert capsys.readouterr().out.startswith("COMPLETE")
    assert main(["status", str(STORED), "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert (seen["schema"], seen["state"], seen["done"], seen["planned"]) == ("assay-status/1", "complete", 8, 8)


def test_without_a_record_the_way_to_one_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--root", str(tmp_path)]) == 6
    assert "assay run" in capsys.readouterr().err


def test_a_run_on_another_host_without_a_heartbeat_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = elsewhere(unfinished(tmp_path / "records"))
    beat(path, 1, heartbeat.SystemClock().utc().isoformat())
    monkeypatch.setattr(heartbeat, "moves", lambda _, clock: False)
    assert running.look(path)[0].state == "silent"
    monkeypatch.setattr(heartbeat, "moves", lambda _, clock: True)
    assert running.look(path)[0].state == "running"
