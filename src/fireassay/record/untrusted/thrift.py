"""What do the page headers of a Parquet file say?  The part of Thrift's compact protocol that they use.

Numbers are kept, structs become nested dictionaries by field id, strings and lists are skipped.
Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import Any, Final

DEEPEST: Final = 8
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_NUMBERS: Final = (4, 5, 6)
_WIDTHS: Final = {_BYTE: 1, _DOUBLE: 8}


def number(told: dict[int, Any], field: int) -> int:
    """A count or length in a struct; 0 if absent. Raises ValueError if it is not a number, or negative."""
    value = told.get(field, 0)
    if type(value) is not int or value < 0:
        raise ValueError("a page header is malformed")
    return value


def structure(told: dict[int, Any], field: int) -> dict[int, Any]:
    """A nested struct; empty if absent. Raises ValueError if it is not a struct."""
    value = told.get(field, {})
    if not isinstance(value, dict):
        raise ValueError("a page header is malformed")
    return value


class Thrift:
    """A cursor over bytes. Raises IndexError if they end too early, ValueError if they are malformed."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def length_of_second_field(self) -> int:
        """The length of the list that is a struct's second field, after a number."""
        if self._data[:1] != b"\x15":
            raise ValueError("its footer is malformed")
        self.at = 1
        self._varint()
        if self._data[self.at] != 0x19:
            raise ValueError("its footer is malformed")
        self.at += 1
        return self._list_head()[0]

    def struct(self, deep: int = 0) -> dict[int, Any]:
        """The struct at the cursor; advances past it."""
        if deep > DEEPEST:
            raise ValueError("a page header is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._data[self.at]:
            self.at += 1
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            fields[number] = self._value(head & 15, deep)
        self.at += 1
        return fields

    def _value(self, kind: int, deep: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _NUMBERS:
            return self._zigzag()
        if kind == _STRUCT:
            return self.struct(deep + 1)
        if kind in (_LIST, _SET):
            length, inner = self._list_head()
            for _ in range(length):
                self._value(inner if inner not in (_TRUE, _FALSE) else _BYTE, deep + 1)
            return None
        width = _WIDTHS.get(kind)
        if width is None:
            if kind != _BINARY:
                raise ValueError("a page header is malformed")
            width = self._varint()
        self.at += width
        if self.at > len(self._data):
            raise IndexError
        return None

    def _list_head(self) -> tuple[int, int]:
        head = self._data[self.at]
        self.at += 1
        return (head >> 4 if head >> 4 < 15 else self._varint()), head & 15

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        if (value := self._data[self.at]) < 128:  # most numbers of a header
            self.at += 1
            return value
        value = shift = 0
        while True:
            byte = self._data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("an unterminated number")
