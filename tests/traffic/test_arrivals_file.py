"""Is a schedule kept, named and shared out so that nothing is lost or sent twice?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.record.tables import arrow_schema
from assay.traffic import arrivals, arrivals_file
from assay.traffic.arrivals_rows import COLD, TYPES, rows
from assay.traffic.schedule import Schedule


def small() -> Schedule:
    """A cold request, two of a stream, two of a conversation, one of its own."""
    return replace(
        rows(
            6,
            phase=np.array([0, 2, 2, 1, 2, 2]), kind=np.array([0, 0, 1, 0, 0, 4]), stream=np.array([-1, 1, 1, -1, -1, -1]),
            session=np.array([-1, -1, -1, 7, 7, -1]), turn=np.array([-1, -1, -1, 0, 1, -1]),
            due_ns=np.array([-1, 0, -1, 5, -1, 9]), pause_ns=np.array([0, 0, 0, 0, 30, 0]),
            pause_kind=np.array([0, 0, 0, 0, 2, 0]), tokens_in=100, seed=np.arange(6),
            replica=np.array([0, -1, -1, -1, -1, 1]), example=np.array([-1, -1, -1, -1, -1, 12]),
        ),
        expected={2: "nonce", 5: "Straße"},
    )  # fmt: skip


def equal(one: Schedule, other: Schedule) -> bool:
    same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in TYPES)
    return same and dict(one.expected) == dict(other.expected)


def test_a_schedule_is_read_as_it_was_written(tmp_path: Path) -> None:
    arrivals.write(small(), tmp_path / "schedule.arrow")
    found = arrivals.read(tmp_path / "schedule.arrow")
    assert equal(found, small())
    assert {name: getattr(found, name).dtype.type for name in TYPES} == TYPES


def test_what_was_read_cannot_be_changed(tmp_path: Path) -> None:
    arrivals.write(small(), tmp_path / "schedule.arrow")
    with pytest.raises(ValueError, match="read-only"):
        arrivals.read(tmp_path / "schedule.arrow").due_ns[0] = 1


def test_equal_files_have_equal_bytes(tmp_path: Path) -> None:
    for name in "ab":
        arrivals.write(small(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_digest_covers_every_column_and_what_is_expected() -> None:
    one = small()
    changed = [replace(one, **{name: getattr(one, name) + 1}) for name in TYPES]
    changed += [replace(one, expected={2: "nonce"}), replace(one, expected={2: "nonce", 5: "strasse"})]
    digests = {arrivals.digest(other) for other in (one, *changed)}
    assert len(digests) == 1 + len(changed)
    assert arrivals.digest(one, "texts") != arrivals.digest(one)


def test_the_digest_depends_on_no_byte_order_and_no_layout_in_memory() -> None:
    one = small()
    big = replace(
        one, **{name: getattr(one, name).astype(np.dtype(kind).newbyteorder(">")) for name, kind in TYPES.items()}
    )
    strided = replace(one, seed=np.repeat(one.seed, 2)[::2], expected={5: "Straße", 2: "nonce"})
    assert arrivals.digest(big) == arrivals.digest(strided) == arrivals.digest(one)


def test_the_digest_of_a_known_schedule_stays_as_it_is() -> None:
    # Computed apart from this program: the header, then per column its line and its little-endian bytes, then the JSON.
    assert arrivals.digest(rows(0)) == "865f3ab9112aab6e429ad0068918e6e1749c48e17bb8ba9011818c2a8d9dfc15"


def test_rows_of_the_table_say_nothing_where_there_is_nothing() -> None:
    batch = arrivals.batch(small(), 3)
    assert batch.schema == arrow_schema("arrivals")
    assert batch.to_pylist()[0] == {
        "launch": 3, "request": 0, "phase": "cold", "kind": "normal", "stream": None, "session": None, "turn": None,
        "due_ns": None, "pause_ns": 0, "pause_kind": "none", "tokens_in": 100, "tokens_out": None, "seed": 0, "replica": 0,
        "example": None, "expected": None,
    }  # fmt: skip
    last = batch.to_pylist()[5]
    assert (last["kind"], last["example"], last["expected"], last["replica"]) == ("needle", "12", "Straße", 1)
    assert batch.to_pylist()[4]["pause_kind"] == "tool"


def test_batches_together_hold_every_request_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals_file, "ROWS_PER_BATCH", 4)
    found = arrivals.batches(small(), 0)
    assert [len(batch) for batch in found] == [4, 2]
    assert pa.Table.from_batches(found).equals(pa.Table.from_batches([arrivals.batch(small(), 0)]))
    assert [len(batch) for batch in arrivals.batches(small(), 0, end=3)] == [3]


def test_the_begin_of_a_schedule_can_be_recorded_alone() -> None:
    assert arrivals.batch(small(), 0, 2, 4)["request"].to_pylist() == [2, 3]
    assert arrivals.batch(small(), 0, 2, 4)["expected"].to_pylist() == ["nonce", None]


def test_a_client_that_is_not_there_has_no_requests() -> None:
    with pytest.raises(ValueError, match="no client process 2 of 2"):
        arrivals.mine(small(), 2, 2)


def test_streams_conversations_and_numbers_are_dealt_out_in_turn() -> None:
    # stream 1 to client 1, conversation 7 to client 1, number 5 to client 1, the cold one to client 0
    assert arrivals.mine(small(), 0, 2).tolist() == [0]
    assert arrivals.mine(small(), 1, 2).tolist() == [1, 2, 3, 4, 5]
    assert arrivals.mine(small(), 2, 3).tolist() == [5]


anything = st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 5), st.integers(-1, 9)), max_size=60)


@given(anything, st.integers(1, 17))
def test_every_request_has_exactly_one_client_and_cold_ones_the_first(
    rolls: list[tuple[int, int, int]], n: int
) -> None:
    phase, stream, session = (np.array([roll[place] for roll in rolls], dtype=np.int64) for place in range(3))
    schedule = rows(len(rolls), phase=phase, stream=stream, session=session, seed=0)
    parts = [arrivals.mine(schedule, k, n) for k in range(n)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(rolls)))
    assert set(np.flatnonzero(phase == COLD)) <= set(parts[0].tolist())
    for k, part in enumerate(parts):
        warm = part[phase[part] != COLD]
        assert all(number % n == k for number in stream[warm][stream[warm] >= 0])
