"""How is a table's stream written without Arrow?

As Arrow's readers expect it: a message with the schema, then one for each batch of rows.  A message is a mark, the length of its head, the
head (a flatbuffer that says what follows) and the columns' bytes, everything at multiples of eight.
Sources: https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc,
https://flatbuffers.dev/internals/, Schema.fbs and Message.fbs of Arrow's format
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

from fireassay.record.columns import Column, lay_out
from fireassay.record.tables import TABLES

END_MARK: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"
CONTINUATION: Final = END_MARK[:4]
V5: Final = 4  # MetadataVersion
SCHEMA, RECORD_BATCH = 1, 3  # MessageHeader
INT, FLOATING_POINT, UTF8, LIST = 2, 3, 5, 12  # Type
DOUBLE: Final = 2  # Precision
EIGHT: Final = 8  # bytes: to multiples of it everything is filled up

Row = tuple[Any, ...]
Clean = Callable[[str, Sequence[str | None]], Sequence[str | None]]  # a column's name and texts -> what may be kept of them


@cache
def schema_message(table: str) -> bytes:
    """The first message of a table's stream."""
    fields = [_field(column.name, column.type, nullable=column.nullable) for column in TABLES[table].columns]
    return _message(SCHEMA, _table(("<h", 0), _vector_of(fields)), b"")


def batch_message(table: str, rows: Sequence[Row], clean: Clean = lambda _, texts: texts) -> bytes | None:
    """The rows as one message of the table; None if a row has values of the wrong number or type, or a forbidden null."""
    declared = TABLES[table].columns
    laid_out = []
    try:
        values = list(zip(*rows, strict=True)) or [()] * len(declared)
        for given, column in zip(values, declared, strict=True):
            kept = clean(column.name, given) if column.type == "string" and set(map(type, given)) <= {str, type(None)} else given
            laid_out.append(lay_out(kept, column.type))
            if laid_out[-1].nulls and not column.nullable:
                return None
    except Exception:  # a value's conversion may raise anything
        return None
    return _batch(len(rows), [part for column in laid_out for part in _parts(column)])


def _parts(column: Column) -> Iterator[Column]:
    yield column
    if column.child is not None:
        yield from _parts(column.child)


def _batch(rows: int, columns: Sequence[Column]) -> bytes:
    nodes = [struct.pack("<qq", column.length, column.nulls) for column in columns]
    places, body = [], bytearray()
    for buffer in (buffer for column in columns for buffer in column.buffers):
        places.append(struct.pack("<qq", len(body), len(buffer)))
        body += buffer + bytes(-len(buffer) % EIGHT)
    return _message(RECORD_BATCH, _table(("<q", rows), _vector(nodes), _vector(places)), bytes(body))


def _message(kind: int, header: Write, body: bytes) -> bytes:
    head = bytearray(4)
    _point(head, 0, _table(("<h", V5), ("<B", kind), header, ("<q", len(body)))(head))
    head += bytes(-len(head) % EIGHT)
    return b"".join((CONTINUATION, struct.pack("<i", len(head)), head, body))


def _field(name: str, kind: str, *, nullable: bool) -> Write:
    children: list[Write] = []
    if kind.startswith("list<"):
        number, said = LIST, _table()
        children = [_field("item", kind.removeprefix("list<").removesuffix(">"), nullable=True)]
    elif kind.startswith("int"):
        number, said = INT, _table(("<i", int(kind.removeprefix("int"))), ("<?", True))
    else:
        number, said = (UTF8, _table()) if kind == "string" else (FLOATING_POINT, _table(("<h", DOUBLE)))
    return _table(_text(name), ("<?", nullable), ("<B", number), said, None, _vector_of(children))


# ---- flatbuffers: what is pointed at always comes later --------------------------------------------------------------

Write = Callable[[bytearray], int]  # writes at the end, and returns where what it wrote begins


def _point(out: bytearray, at: int, target: int) -> None:
    struct.pack_into("<I", out, at, target - at)


def _table(*fields: tuple[str, int] | Write | None) -> Write:
    """A table: of each field its place, then the numbers, and pointers to what is longer."""
    places, end = [], 4
    for field in fields:
        size = 0 if field is None else struct.calcsize(field[0]) if isinstance(field, tuple) else 4
        end += -end % (size or 1)
        places.append(end if size else 0)
        end += size
    listed = struct.pack(f"<{2 + len(places)}H", 4 + 2 * len(places), end, *places)

    def write(out: bytearray) -> int:
        out += bytes(-(len(out) + len(listed)) % EIGHT) + listed
        begin = len(out)
        out += struct.pack("<i", len(listed)) + bytes(end - 4)
        for place, field in zip(places, fields, strict=True):
            if isinstance(field, tuple):
                struct.pack_into(field[0], out, begin + place, field[1])
            elif field is not None:
                _point(out, begin + place, field(out))
        return begin

    return write


def _vector(structs: Sequence[bytes]) -> Write:
    """A vector of structs of eight-byte numbers."""

    def write(out: bytearray) -> int:
        out += bytes(-(len(out) + 4) % EIGHT)
        begin = len(out)
        out += struct.pack("<I", len(structs)) + b"".join(structs)
        return begin

    return write


def _vector_of(written: Sequence[Write]) -> Write:
    """A vector of tables."""

    def write(out: bytearray) -> int:
        out += bytes(-len(out) % 4)
        begin = len(out)
        out += struct.pack("<I", len(written)) + bytes(4 * len(written))
        for number, one in enumerate(written):
            _point(out, begin + 4 + 4 * number, one(out))
        return begin

    return write


def _text(text: str) -> Write:
    def write(out: bytearray) -> int:
        out += bytes(-len(out) % 4)
        begin = len(out)
        out += struct.pack("<I", len(text.encode())) + text.encode() + b"\0"
        return begin

    return write
