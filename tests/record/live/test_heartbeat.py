"""A run on another host is alive if its heartbeat moves, and never because nobody knows better."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import RecordError
from fireassay.record import folder
from fireassay.record.folder import RecordFolder
from fireassay.record.live import heartbeat
from fireassay.record.manifest import effective_state
from fireassay.record.reader import open_record
from tests.launchers.helpers import until
from tests.record.making import unfinished


@pytest.fixture
def record(tmp_path: Path) -> RecordFolder:
    return unfinished(tmp_path)


class Beating(FakeClock):
    """While this clock's owner sleeps, the run does something."""

    def __init__(self, does: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.does = does

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.does()


def beat(record: Path, number: int, utc: str = "2026-01-01T00:00:00+00:00") -> None:
    (record / heartbeat.NAME).write_text(json.dumps({"beat": number, "utc": utc, "pid": 1}))


def elsewhere(record: RecordFolder) -> Path:
    """The record, as if a process on another host wrote it."""
    folder.release(record.path)
    record.note(coordinator={**record.manifest["coordinator"], "host": "elsewhere", "boot_id": "another"})
    return record.path


def test_the_progress_of_a_run_reaches_the_disk_and_stops_with_its_end(record: RecordFolder) -> None:
    record.beat({"done": 3})
    until(lambda: (heartbeat.read(record.path) or {}).get("done") == 3, "a beat")
    assert heartbeat.age_s(record.path) is not None
    record.finish("interrupted", "test")
    last = heartbeat.read(record.path)
    assert last is not None
    assert not heartbeat.moves(record.path, clock=FakeClock())


def test_a_sealed_record_keeps_no_heartbeat(record: RecordFolder) -> None:
    record.beat({"done": 3})
    until(lambda: heartbeat.read(record.path), "a beat")
    record.finish("complete")
    assert not (record.path / "streams").exists()
    assert not record.beat({"done": 4})


def test_a_secret_in_an_engines_words_does_not_reach_the_heartbeat(record: RecordFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "hunter2-hunter2-hunter2")
    record.beat({"waiting": "refused hunter2-hunter2-hunter2"})
    until(lambda: "waiting" in (heartbeat.read(record.path) or {}), "a beat")
    assert "hunter2" not in (record.path / heartbeat.NAME).read_text()
    record.finish("interrupted", "test")


@pytest.mark.parametrize("value", [float("nan"), object()])
def test_what_json_cannot_say_does_not_stop_the_heart(record: RecordFolder, value: object) -> None:
    record.beat({"seconds_left": value})
    until(lambda: (heartbeat.read(record.path) or {}).get("beat", 0) > 1, "two beats")
    record.finish("interrupted", "test")


def test_a_request_to_stop_is_heard_once_and_not_by_the_next_run(record: RecordFolder) -> None:
    assert not record.beat({})
    heartbeat.request_stop(record.path)
    until(lambda: record.beat({}), "the request")
    record.finish("interrupted", "test")
    again = folder.reopen(record.path)
    assert not again.beat({})
    assert not (record.path / heartbeat.STOP).exists()
    again.finish("interrupted", "test")


def test_a_count_that_moves_is_alive_whatever_the_clocks_say(record: RecordFolder) -> None:
    numbers = iter(range(2, 100))
    beat(record.path, 1, "1999-01-01T00:00:00+00:00")
    assert heartbeat.moves(record.path, clock=Beating(lambda: beat(record.path, next(numbers))))
    assert not heartbeat.moves(record.path, clock=Beating())


@pytest.mark.parametrize("content", ["", "{", "[]", '{"beat": "1"}', "\0"])
def test_a_damaged_heartbeat_is_none(record: RecordFolder, content: str) -> None:
    (record.path / heartbeat.NAME).write_text(content)
    assert heartbeat.read(record.path) is None
    assert heartbeat.age_s(record.path) is None


def test_a_heartbeat_that_is_a_link_is_not_followed(record: RecordFolder, tmp_path: Path) -> None:
    (tmp_path / "other").write_text('{"beat": 1}')
    (record.path / heartbeat.NAME).symlink_to(tmp_path / "other")
    assert heartbeat.read(record.path) is None


def test_a_run_on_another_host_counts_as_running_until_its_heartbeat_is_old(record: RecordFolder) -> None:
    path = elsewhere(record)
    assert effective_state(path, record.manifest, sealed=False) == "running"  # none yet
    beat(path, 1, heartbeat.SystemClock().utc().isoformat())
    assert open_record(path).state == "running"
    beat(path, 1, "2026-01-01T00:00:00+00:00")
    assert open_record(path).state == "interrupted"


def test_a_run_on_another_host_is_resumed_only_if_its_heartbeat_stands_still(record: RecordFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = elsewhere(record)
    beat(path, 1, heartbeat.SystemClock().utc().isoformat())
    monkeypatch.setattr(heartbeat, "moves", lambda _: True)
    with pytest.raises(RecordError, match="still being written by process .* on elsewhere"):
        folder.reopen(path)
    monkeypatch.setattr(heartbeat, "moves", lambda _: False)
    folder.reopen(path).finish("interrupted", "test")
