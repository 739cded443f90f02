"""How much memory would a table take, and is that in proportion to its file?  Checked before the data are read.

A Parquet file of some kilobytes may hold billions of values: by run-length encoding, dictionary encoding of strings and page
compression.  The footer and the page headers give the decoded size:

    memory = values x 8 bytes (16 for a string) + uncompressed bytes of string pages  <=  max(256 MiB, 40 x the file's bytes)

and never more than half of the machine's memory.  FIREASSAY_READ_MIB (MiB) overrides the limit.  Measured records take 3 to 15
times their file size.  Dictionary-encoded strings are counted per row after reading, since Polars holds each only once until
then.  A compressed stream is refused, because assay never writes one.
Source: https://parquet.apache.org/docs/file-format/, https://thrift.apache.org (compact protocol).
Cannot tell how much memory a metric needs for the values.  A genuine table above the limit is refused until the user raises it.

What do the page headers of a Parquet file say?  The part of Thrift's compact protocol that they use.

Numbers are kept, structs become nested dictionaries by field id, strings and lists are skipped.
Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.errors import RecordError
from fireassay.printable import shell_word
from fireassay.record import files
from fireassay.record.tables import TABLES
from fireassay.record.untrusted import paths

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

LACKS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)  # of this machine, which say nothing of the bytes
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


MIB: Final = 1 << 20
VARIABLE: Final = "FIREASSAY_READ_MIB"
FLOOR: Final = 256 * MIB
RATIO: Final = 40
FOOTER: Final = MIB  # parsed, it takes up to 300 times as much memory
MAX_PAGE: Final = 4  # a page may take 1/4 of the limit: it is held beside the values
HEAD: Final = 1 << 12  # bytes read at once for a page header
MAX_HEAD_LENGTH: Final = 1 << 20  # a header may hold the page's minimum and maximum string
BLOCK: Final = 512  # bytes; unit of st_blocks
FEW_PAGES: Final = 1000
VALUES_PER_PAGE: Final = 50  # at least, in a file of many pages
UNCOMPRESSED, COMPRESSED, DATA, DATA_2, VALUES = (2, 3, 5, 8, 1)  # field ids of PageHeader and DataPageHeader
REPEATS: Final = 7  # DELTA_BYTE_ARRAY: each string repeats a prefix of the previous one, so the total length can grow quadratically


def allowed(size: int) -> int:
    """Bytes of memory allowed for a table whose files have this size. Raises RecordError: FIREASSAY_READ_MIB is not a number."""
    setting = os.environ.get(VARIABLE, "")
    if not setting:
        return min(max(FLOOR, RATIO * size), _memory() // 2)
    try:
        return int(float(setting) * MIB)
    except (ValueError, OverflowError):
        raise RecordError(f"{VARIABLE} is {setting[:40]!r}, which is not a number of MiB. Write for example {VARIABLE}=8000.") from None


def check_parts(record: Path, parts: Sequence[str], name: str) -> None:
    """Check that the sealed files of a table fit into the allowed memory.

    Raises:
        RecordError: they do not fit, a file is missing, or it is not Parquet or contradicts its own footer.
    """
    size = memory = largest = 0
    for part in parts:
        try:
            needed, page, disk = _looked_at(record, part, name)
        except FileNotFoundError:
            raise RecordError(f"{record / part} is missing. Restore it from a copy of the record.") from None
        except (OSError, ValueError, IndexError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno in LACKS:
                raise files.explain(error, record / part, "read") from error
            raise RecordError(f"{record / part} is damaged ({error}). `assay verify {shell_word(record)}` checks every file.") from error
        memory, largest, size = memory + needed, max(largest, page), size + disk
    most = allowed(size)
    if memory > most or largest > most // MAX_PAGE:
        raise too_large(record, name, max(memory, MAX_PAGE * largest), size)


def check_text(record: Path, name: str, frame: pl.DataFrame, size: int) -> None:
    """Check that a table's strings, counted once per row, fit into the allowed memory. Raises RecordError: they do not."""
    import polars as pl
    import polars.selectors as cs

    if not frame.height:
        return
    sums = frame.select(cs.string().str.len_bytes().cast(pl.Int64).sum())
    if (memory := sum(sums.row(0)) if sums.width else 0) > allowed(size):
        raise too_large(record, name, memory, size)


def read_whole(path: Path, *, most: int) -> tuple[pa.Table | None, int]:
    """A checked Parquet file, and the bytes of its strings; None if these would exceed `most`.

    Strings are read dictionary-encoded, counted, and only then expanded.

    Raises:
        OSError, pa.ArrowException, ValueError: it cannot be read, or a string is not UTF-8.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as parquet:
        texts = [field.name for field in parquet.schema_arrow if _is_text(field.type)]
    with pq.ParquetFile(path, read_dictionary=texts) as parquet:
        table = parquet.read()
    long = sum(_text_bytes(chunk) for name in texts for chunk in table[name].chunks)
    if long > most:
        return None, long
    plain = pa.schema([pa.field(source.name, pa.string() if _is_text(source.type) else source.type) for source in table.schema])
    table = table.cast(plain)
    table.validate(full=True)
    return table, long


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner))


def _text_bytes(chunk: pa.Array) -> int:
    import pyarrow.compute as pc

    if not hasattr(chunk, "dictionary"):
        return int(chunk.nbytes)
    return int(pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0)


def size_of(record: Path, parts: Sequence[str]) -> int:
    """Total bytes of the files on disk."""
    return sum((record / part).lstat().st_size for part in parts)


def check_stream(path: Path) -> None:
    """Check that an unfinished stream fits into memory: it is held whole, and a sparse file takes little disk space.

    Raises:
        RecordError: it does not fit.
        OSError: it does not exist.
    """
    status = path.lstat()
    if status.st_size > (most := allowed(min(status.st_size, BLOCK * status.st_blocks))):
        raise RecordError(f"{path} has {status.st_size / MIB:,.0f} MiB, more than the allowed {most / MIB:,.0f}. {_MEND}")


_MEND: Final = f"If you trust the record, set {VARIABLE} to the memory in MiB that one of its tables may take."


def too_large(record: Path, name: str, memory: int, size: int) -> RecordError:
    """The error for a table that would take too much memory."""
    return RecordError(
        f"the table {name} of {record} would take {memory / MIB:,.0f} MiB of memory from {size / MIB:,.2f} MiB of files; "
        f"{allowed(size) / MIB:,.0f} are allowed. {_MEND}"
    )


# ---- one Parquet file ------------------------------------------------------------------------------------------------


def _looked_at(record: Path, part: str, name: str) -> tuple[int, int, int]:
    """Bytes of memory for the values and for the largest page, and bytes of the file."""
    import pyarrow.parquet as pq

    with open(paths.descriptor(record, part), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        _check_footer(file.fileno(), size, name)
        metadata = pq.read_metadata(file)
        memory = largest = 0
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            if not 0 <= group.num_rows <= metadata.num_rows:
                raise ValueError("its footer gives two different row counts")
            for column in map(group.column, range(group.num_columns)):
                pages = _pages(file.fileno(), size, column)
                text = column.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
                memory += max(column.num_values, group.num_rows) * (16 if text else 8) + (sum(pages) if text else 0)
                largest = max(largest, *pages, 0)
        return memory, largest, size


def _check_footer(descriptor: int, size: int, name: str) -> None:
    """Check the footer's length and number of columns: its parser takes far more memory than its input and recurses as deep as it nests."""
    end = os.pread(descriptor, 8, max(0, size - 8))
    length = int.from_bytes(end[:4], "little")
    if size < 12 or end[4:] != b"PAR1" or length > size - 12:
        raise ValueError("it does not end with the Parquet magic bytes")
    if length > max(FOOTER, size // 64):
        raise ValueError(f"its footer has {length / MIB:.1f} MiB")
    thrift = Thrift(os.pread(descriptor, min(length, 64), size - 8 - length))
    elements = thrift.length_of_second_field()
    if elements > 4 * len(TABLES[name].columns) + 8:
        raise ValueError(f"its footer lists {elements} columns")


def _pages(descriptor: int, size: int, column: Any) -> list[int]:
    """The uncompressed bytes of each page of a column."""
    offsets = [offset for offset in (column.dictionary_page_offset, column.data_page_offset) if offset]
    offset, values = min(offsets, default=0), 0
    end = offset + column.total_compressed_size
    if column.num_values < 0 or not 4 <= offset <= end <= size:
        raise ValueError("a column lies outside the file")
    page_sizes: list[int] = []
    for head in _heads(descriptor, offset, end):
        page_sizes.append(number(head, UNCOMPRESSED))
        data = structure(head, DATA) or structure(head, DATA_2)
        values += number(data, VALUES)
        if number(data, 4 if DATA_2 in head else 2) == REPEATS:
            raise ValueError("a page has an encoding that assay does not read")
        if len(page_sizes) > FEW_PAGES + column.num_values // VALUES_PER_PAGE:
            raise ValueError("a column has more pages than values")
    if values != column.num_values:
        raise ValueError("a column's pages do not hold as many values as its footer says")
    return page_sizes


def _heads(descriptor: int, offset: int, end: int) -> Iterator[dict[int, Any]]:
    """The header of every page between two offsets."""
    while offset < end:
        length = HEAD
        while True:
            thrift = Thrift(os.pread(descriptor, min(length, end - offset), offset))
            try:
                head = thrift.struct()
                break
            except IndexError:
                if length >= min(MAX_HEAD_LENGTH, end - offset):
                    raise ValueError("a page header does not end") from None
                length *= 16
        body = number(head, COMPRESSED)
        if COMPRESSED not in head:
            raise ValueError("a page has no length")
        offset += thrift.at + body
        yield head


def _memory() -> int:
    """The machine's memory, bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
