"""How do rows become the bytes of Arrow columns where Arrow is not installed?

A worker of a training imports nothing that its script does not: pyarrow alone takes 0.1 s and 60 MB, and looks for pandas.  So the values
of a row (integers, floats, strings, lists of numbers, None) are laid out here.  What pyarrow would convert (numpy's scalars, subclasses)
is converted, and what it would refuse is refused.
Source: https://arrow.apache.org/docs/format/Columnar.html#physical-memory-layout
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from numbers import Integral, Real
from typing import Any, Final

EXACT: Final = 2**53  # integers up to here are exact as floats
NONE: Final = type(None)
CODES: Final = {"int32": "i", "int64": "q", "float64": "d"}  # of an `array`
FORMATS: Final = {"int64": ("q", "l"), "float64": ("d",)}  # in which another's memory holds just these


@dataclass(frozen=True)
class Column:
    """Values of one type: their bytes as Arrow lays them out."""

    length: int
    nulls: int
    buffers: tuple[bytes, ...]  # which values are there (empty: all), then offsets or values
    child: Column | None = None  # of lists: what they hold, one after the other


Layout = tuple[tuple[bytes, ...], Column | None]  # of the values, without the validity


def lay_out(values: Sequence[Any], kind: str) -> Column:
    """The values as a column of the type with this name in `fireassay.record.declared`.

    Raises:
        TypeError, ValueError, OverflowError: a value does not fit the type.
    """
    types = set(map(type, values))
    filled = _filled(values, types, kind)
    found = _LAYOUTS[kind](filled, types - {NONE}, kind)
    if found is None:
        return lay_out([_plain(value, kind) for value in values], kind)
    validity = _validity(values) if NONE in types else b""
    buffers, child = found
    return Column(len(values), sum(value is None for value in values), (validity, *buffers), child)


def _filled(values: Sequence[Any], types: set[type], kind: str) -> Sequence[Any]:
    """The values with each None replaced by a dummy of the right type."""
    if NONE not in types:
        return values
    empty: Any = "" if kind == "string" else () if kind.startswith("list") else 0
    return [empty if value is None else value for value in values]


def _validity(values: Sequence[Any]) -> bytes:
    """One bit per value, least significant bit first."""
    bits = "".join("0" if value is None else "1" for value in reversed(values))
    return int(bits, 2).to_bytes((len(values) + 7) // 8, "little")


def _whole(values: Sequence[Any], types: set[type], kind: str) -> Layout | None:
    return ((array(CODES[kind], values).tobytes(),), None) if types <= {int} else None


def _floats(values: Sequence[Any], types: set[type], kind: str) -> Layout | None:
    if not types <= {float, int}:
        return None
    if int in types and any(type(value) is int and abs(value) > EXACT for value in values):
        raise OverflowError("an integer that no float holds")
    return (array("d", values).tobytes(),), None


def _texts(values: Sequence[Any], types: set[type], _: str) -> Layout | None:
    if not types <= {str}:
        return None
    joined = "".join(values)
    parts = values if joined.isascii() else [value.encode() for value in values]  # an offset counts bytes
    return (_offsets(parts), joined.encode()), None


def _lists(values: Sequence[Any], types: set[type], kind: str) -> Layout | None:
    inner = kind.removeprefix("list<").removesuffix(">")
    if types <= {list, tuple}:
        parts = list(map(tuple, values))  # copied: another thread may append to a list
        return (_offsets(parts),), lay_out(list(chain.from_iterable(parts)), inner)
    try:  # arrays, whichever module made them
        views = [memoryview(value) for value in values if type(value) is not tuple]  # an empty tuple stands for None
    except (TypeError, ValueError, BufferError):
        return None
    if types & {list, tuple} or any(view.ndim != 1 or view.format not in FORMATS[inner] for view in views):
        return None
    return (_offsets(values),), Column(sum(map(len, values)), 0, (b"", b"".join(view.tobytes() for view in views)))


def _offsets(parts: Sequence[Any]) -> bytes:
    """The offset of each part, and the end of the last."""
    return array("i", accumulate(map(len, parts), initial=0)).tobytes()


_LAYOUTS: Final[Mapping[str, Callable[[Sequence[Any], set[type], str], Layout | None]]] = {
    "int32": _whole,
    "int64": _whole,
    "float64": _floats,
    "string": _texts,
    "list<int64>": _lists,
    "list<float64>": _lists,
}


def _plain(value: Any, kind: str) -> Any:
    """The value in Python's own type. Raises TypeError or ValueError: it has no value of that type."""
    if value is None:
        return None
    if kind.startswith("list<") and not isinstance(value, str | Mapping):
        return [_plain(inner, kind.removeprefix("list<").removesuffix(">")) for inner in value]
    if kind == "string" and isinstance(value, str | bytes):
        return value.decode() if isinstance(value, bytes) else "".join(value)
    if kind == "float64" and isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    if kind.startswith("int") and type(value) is not bool and isinstance(value, Integral | float):
        return int(value)
    raise TypeError(f"no {kind}: {type(value).__name__}")
