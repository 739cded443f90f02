"""How does a column of Python values become an Arrow array without importing pandas into the user's process?

`pyarrow.array` imports pandas if it is installed: 0.2 s and 55 MB wasted in each training worker.  So row values (integers, floats,
strings, lists of numbers, None) are laid out here and passed as buffers.  Everything else (numpy scalars, subclasses, integers out of
range) goes to `pyarrow.array`, which converts it or explains why it cannot.
Source: https://arrow.apache.org/docs/format/Columnar.html#physical-memory-layout
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any, Final

import numpy as np
import pyarrow as pa

EXACT: Final = 2**53  # integers up to here are exact as floats
NONE: Final = type(None)
Layout = tuple[list[pa.Buffer], list[pa.Array]]  # of the values, without the validity bitmap


def to_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The values as an array of the given type. Raises as `pyarrow.array` where they do not fit it."""
    types = set(map(type, values))
    lay_out = _LAYOUTS.get(kind)
    try:
        laid_out = lay_out(_filled(values, types, kind), types - {NONE}, kind) if lay_out else None
    except (OverflowError, UnicodeEncodeError):  # beyond int32, or a lone surrogate: pyarrow's message is better
        laid_out = None
    if laid_out is None:
        return pa.array(values, kind)
    buffers, children = laid_out
    validity = _validity(values) if NONE in types else None
    return pa.Array.from_buffers(kind, len(values), [validity, *buffers], children=children)


def _filled(values: Sequence[Any], types: set[type], kind: pa.DataType) -> Sequence[Any]:
    """The values with each None replaced by a dummy of the right type."""
    if NONE not in types:
        return values
    empty: Any = "" if kind == pa.string() else () if pa.types.is_list(kind) else 0
    return [empty if value is None else value for value in values]


def _validity(values: Sequence[Any]) -> pa.Buffer:
    """One bit per value, least significant bit first."""
    bits = "".join("0" if value is None else "1" for value in reversed(values))
    return pa.py_buffer(int(bits, 2).to_bytes((len(values) + 7) // 8, "little"))


def _whole(code: str) -> Callable[[Sequence[Any], set[type], pa.DataType], Layout | None]:
    def lay_out(values: Sequence[Any], found: set[type], _kind: pa.DataType) -> Layout | None:
        return ([pa.py_buffer(array(code, values))], []) if found <= {int} else None

    return lay_out


def _floats(values: Sequence[Any], types: set[type], _kind: pa.DataType) -> Layout | None:
    if not types <= {float, int} or (int in types and any(type(v) is int and abs(v) > EXACT for v in values)):
        return None
    return [pa.py_buffer(array("d", values))], []


def _texts(values: Sequence[Any], types: set[type], _kind: pa.DataType) -> Layout | None:
    if not types <= {str}:
        return None
    joined = "".join(values)
    parts = values if joined.isascii() else [value.encode() for value in values]  # an offset counts bytes
    return [_offsets(parts), pa.py_buffer(joined.encode())], []


def _lists(values: Sequence[Any], types: set[type], kind: pa.DataType) -> Layout | None:
    if types <= {list, tuple}:
        parts = list(map(tuple, values))  # copied: another thread may append to a list
        return [_offsets(parts)], [to_array(list(chain.from_iterable(parts)), kind.value_type)]
    exact = np.dtype(kind.value_type.to_pandas_dtype())  # a NumPy dtype despite the method's name
    if types != {np.ndarray} or any(type(v) is np.ndarray and (v.ndim, v.dtype) != (1, exact) for v in values):
        return None
    joined = np.concatenate([value for value in values if len(value)] or [np.empty(0, exact)])
    child = pa.Array.from_buffers(kind.value_type, len(joined), [None, pa.py_buffer(joined)])
    return [_offsets(values)], [child]


def _offsets(parts: Sequence[Any]) -> pa.Buffer:
    """The offset of each part, and the end of the last."""
    return pa.py_buffer(array("i", accumulate(map(len, parts), initial=0)))


_LAYOUTS: Final = {
    pa.int32(): _whole("i"),
    pa.int64(): _whole("q"),
    pa.float64(): _floats,
    pa.string(): _texts,
    pa.list_(pa.int64()): _lists,
    pa.list_(pa.float64()): _lists,
}
