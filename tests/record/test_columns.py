"""Are columns laid out as pyarrow would have done it?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fireassay.record.columns import Column, lay_out

KINDS = {
    pa.int32(): st.integers(-(2**31) - 1, 2**31),
    pa.int64(): st.integers(-(2**63) - 1, 2**63),
    pa.float64(): st.floats() | st.integers(-(2**60), 2**60) | st.integers(-9, 9),
    pa.string(): st.text() | st.text(st.characters(categories=["Cs", "L"])),
    pa.list_(pa.int64()): st.lists(st.integers() | st.none(), max_size=4),
    pa.list_(pa.float64()): st.lists(st.floats() | st.integers(), max_size=4).map(tuple),
}
NAMES = dict(zip(KINDS, ("int32", "int64", "float64", "string", "list<int64>", "list<float64>"), strict=True))
ODD = st.sampled_from(
    [True, np.int64(3), np.float32(0.1), "7", b"bytes", 1.5, 2.0, float("nan"), 1j, [1], ("a",), {}, object(), np.ones(2)]
)
COLUMNS = st.sampled_from(list(KINDS)).flatmap(lambda kind: st.tuples(st.just(kind), st.lists(KINDS[kind] | st.none(), max_size=20)))
MIXED = st.tuples(st.sampled_from(list(KINDS)), st.lists(st.none() | st.integers(-9, 9) | ODD, max_size=5))


def array_of(column: Column, kind: pa.DataType) -> pa.Array:
    buffers = [pa.py_buffer(buffer) if buffer or number else None for number, buffer in enumerate(column.buffers)]
    children = [] if column.child is None else [array_of(column.child, kind.value_type)]
    return pa.Array.from_buffers(kind, column.length, buffers, column.nulls, children=children)


def to_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return array_of(lay_out(values, NAMES[kind]), kind)


def outcome(make: Any, values: Sequence[Any], kind: pa.DataType) -> Any:
    """What comes out: an array's type, bytes that stand for its values, or that they are refused."""
    try:
        made = make(values, kind)
    except Exception:
        return "refused"
    made.validate(full=True)
    return made.type, made.null_count, [repr(value) for value in made.to_pylist()]


@pytest.mark.slow
@example((pa.int32(), [np.float32(0.1)]))
@given(COLUMNS | MIXED)
def test_a_column_is_what_pyarrow_makes_of_it(column: tuple[pa.DataType, list[Any]]) -> None:
    kind, values = column
    if "int" in NAMES[kind] and any(isinstance(value, np.floating) for value in values):  # which pyarrow cuts to 0 without a word
        assert outcome(to_array, values, kind) == "refused"
        return
    assert outcome(to_array, values, kind) == outcome(pa.array, values, kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_column_may_be_empty_or_hold_nothing(kind: pa.DataType) -> None:
    assert to_array((), kind).equals(pa.array([], kind))
    assert to_array((None, None), kind).equals(pa.array([None, None], kind))


@pytest.mark.parametrize("kind", ["int64", "float64", "int32"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_numpys_arrays_are_lists(kind: str, step: int) -> None:
    """As the ledger of samples hands them over; of another kind, or every other of a larger array's values, too."""
    values = [None, np.arange(7, dtype=kind)[::step], np.empty(0, kind), np.arange(3, dtype=kind)[::step]]
    for listed in (pa.list_(pa.int64()), pa.list_(pa.float64())):
        assert outcome(to_array, values, listed) == outcome(pa.array, values, listed)
        assert outcome(to_array, values[2:3], listed) == outcome(pa.array, values[2:3], listed)
    assert outcome(to_array, [np.ones((2, 2), kind)], listed) == outcome(pa.array, [np.ones((2, 2), kind)], listed)


def test_an_array_of_the_other_byte_order_keeps_its_values() -> None:
    """pyarrow refuses it."""
    assert to_array([np.arange(3, dtype=">i8")], pa.list_(pa.int64())).to_pylist() == [[0, 1, 2]]


def test_a_row_is_written_by_the_standard_library_alone() -> None:
    """In a worker of a training: nothing is loaded that the script does not load."""
    code = (
        "import array, sys, tempfile, pathlib\n"
        "from fireassay.record.writer import StreamWriter\n"
        "folder = pathlib.Path(tempfile.mkdtemp()) / 'launch=0'; folder.mkdir()\n"
        "writer = StreamWriter(folder, 'rank=0')\n"
        "for _ in range(100): writer.append('events', (0, 1, None, 'host', 0, 1.0 and 0, 'mark', None, 2.5, '{}'))\n"
        "for ids in ([1, 2], array.array('q', [0, 1])): writer.append('samples', (0, 0, 0, 0, 0, ids)); writer.flush()\n"
        "writer.close()\n"
        "loaded = {'pandas', 'pyarrow', 'numpy'} & set(sys.modules)\n"
        "print(writer.dropped, writer.error, sorted(path.name for path in folder.iterdir()), loaded)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0 None ['events.rank=0.arrows', 'samples.rank=0.arrows'] set()\n", "")
