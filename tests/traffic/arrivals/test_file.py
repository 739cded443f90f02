"""Is a schedule kept as it is, and named by everything in it?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fireassay.record.arrow_schemas import arrow_schema
from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals import schedule as schedules
from fireassay.traffic.arrivals.schedule import TYPES, Schedule, chosen, joined, rows


def small() -> Schedule:
    """A cold request, two of a stream, two of a conversation, one of its own."""
    return replace(
        rows(
            6,
            phase=np.array([0, 2, 2, 1, 2, 2]),
            kind=np.array([0, 0, 1, 0, 0, 4]),
            stream=np.array([-1, 1, 1, -1, -1, -1]),
            session=np.array([-1, -1, -1, 7, 7, -1]),
            turn=np.array([-1, -1, -1, 0, 1, -1]),
            due_ns=np.array([-1, 0, -1, 5, -1, 9]),
            pause_ns=np.array([0, 0, 0, 0, 30, 0]),
            pause_kind=np.array([0, 0, 0, 0, 2, 0]),
            tokens_in=100,
            seed=np.arange(6),
            replica=np.array([0, -1, -1, -1, -1, 1]),
            example=np.array([-1, -1, -1, -1, -1, 12]),
        ),
        expected={2: "nonce", 5: "Straße"},
        blocks={1: (0, 7), 3: (0,)},
        together=3,
    )


def equal(one: Schedule, other: Schedule) -> bool:
    same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in TYPES)
    known = dict(one.expected) == dict(other.expected) and dict(one.blocks) == dict(other.blocks)
    return same and known and one.together == other.together


def test_a_schedule_is_read_as_it_was_written(tmp_path: Path) -> None:
    make.write(small(), tmp_path / "schedule.arrow")
    found = make.read(tmp_path / "schedule.arrow")
    assert equal(found, small())
    assert {name: getattr(found, name).dtype.type for name in TYPES} == TYPES


def test_what_prompts_share_is_kept_and_recorded_and_does_not_change_what_is_sent(tmp_path: Path) -> None:
    shared = replace(small(), cluster={2: "passage 1", 5: "passage 1"})
    make.write(shared, tmp_path / "schedule.arrow")
    assert make.read(tmp_path / "schedule.arrow").cluster == {2: "passage 1", 5: "passage 1"}
    assert [row["cluster"] for row in make.batch(shared, 0).to_pylist()] == [None, None, "passage 1", None, None, "passage 1"]
    assert make.digest(shared) == make.digest(small())


def test_requests_that_are_put_in_another_order_keep_what_they_share() -> None:
    shared = replace(small(), cluster={2: "a", 5: "b"})
    assert chosen(shared, np.array([5, 0, 2])).cluster == {0: "b", 2: "a"}
    assert joined([small(), shared]).cluster == {8: "a", 11: "b"}


def test_what_was_read_cannot_be_changed(tmp_path: Path) -> None:
    make.write(small(), tmp_path / "schedule.arrow")
    with pytest.raises(ValueError, match="read-only"):
        make.read(tmp_path / "schedule.arrow").due_ns[0] = 1


def test_equal_files_have_equal_bytes(tmp_path: Path) -> None:
    for name in "ab":
        make.write(small(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_digest_covers_every_column_and_what_is_expected() -> None:
    one = small()
    changed = [replace(one, **{name: getattr(one, name) + 1}) for name in TYPES]
    changed += [replace(one, expected={2: "nonce"}), replace(one, expected={2: "nonce", 5: "strasse"})]
    changed += [replace(one, blocks={1: (0, 7), 3: (1,)}), replace(one, together=4)]
    digests = {make.digest(other) for other in (one, *changed)}
    assert len(digests) == 1 + len(changed)
    assert make.digest(one, "texts") != make.digest(one)


def test_the_digest_depends_on_no_byte_order_and_no_layout_in_memory() -> None:
    one = small()
    big = replace(one, **{name: getattr(one, name).astype(np.dtype(kind).newbyteorder(">")) for name, kind in TYPES.items()})
    strided = replace(one, seed=np.repeat(one.seed, 2)[::2], expected={5: "Straße", 2: "nonce"})
    assert make.digest(big) == make.digest(strided) == make.digest(one)


def test_the_digest_of_a_known_schedule_stays_as_it_is() -> None:
    # Computed apart from this program: the header, then per column its line and its little-endian bytes, then the JSON.
    assert make.digest(rows(0)) == "3c127ee6c7ae8ecb03a8df66b8c52a9d4a3c941c70356855f70f3519a73da52a"


def test_rows_of_the_table_say_nothing_where_there_is_nothing() -> None:
    batch = make.batch(small(), 3)
    assert batch.schema == arrow_schema("arrivals")
    assert batch.to_pylist()[0] == {
        "launch": 3,
        "request": 0,
        "phase": "cold",
        "kind": "normal",
        "stream": None,
        "session": None,
        "turn": None,
        "due_ns": None,
        "pause_ns": 0,
        "pause_kind": "none",
        "tokens_in": 100,
        "tokens_out": None,
        "seed": 0,
        "replica": 0,
        "example": None,
        "expected": None,
        "cluster": None,
    }
    last = batch.to_pylist()[5]
    assert (last["kind"], last["example"], last["expected"], last["replica"]) == ("needle", "12", "Straße", 1)
    assert batch.to_pylist()[4]["pause_kind"] == "tool"


def test_batches_together_hold_every_request_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "ROWS_PER_BATCH", 4)
    found = make.batches(small(), 0)
    assert [len(batch) for batch in found] == [4, 2]
    assert pa.Table.from_batches(found).equals(pa.Table.from_batches([make.batch(small(), 0)]))
    assert [len(batch) for batch in make.batches(small(), 0, end=3)] == [3]


def test_the_begin_of_a_schedule_can_be_recorded_alone() -> None:
    assert make.batch(small(), 0, 2, 4)["request"].to_pylist() == [2, 3]
    assert make.batch(small(), 0, 2, 4)["expected"].to_pylist() == ["nonce", None]
