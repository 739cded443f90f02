"""How much memory would a table of a record take, and is that in proportion to its file?  Asked before anything of it is read.

A Parquet file of some kilobytes may say that it holds billions of values: runs are written as one number and their length, a text as
its place in a dictionary, a page as what remains of it after compression.  The footer and the head of every page tell what comes out:

    memory = values x 8 bytes (16 for a text) + the text's pages uncompressed        at most max(256 MiB, 40 x the file's bytes)

and never more than half of the machine's memory.  ASSAY_READ_MIB, a number of MiB, says otherwise.  Measured records take 3 to 15
times their files.  Texts that are written once and used in many rows are counted when they have been read: until then Polars
holds each once.  An unfinished stream is refused if it is compressed, for its writer never does that.
Source: https://parquet.apache.org/docs/file-format/, https://thrift.apache.org (compact protocol).
Cannot tell what a metric makes of the values; and a table that is honest and larger is refused until the user says that it may be.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assay.errors import RecordError
from assay.record.tables import TABLES
from assay.record.untrusted import paths
from assay.record.untrusted.thrift import Thrift, number, structure

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

MIB: Final = 1 << 20
VARIABLE: Final = "ASSAY_READ_MIB"
FLOOR: Final = 256 * MIB
RATIO: Final = 40
FOOTER: Final = MIB  # its parts take up to 300 times as much memory
LARGEST_PAGE: Final = 4  # parts of what is allowed, of which one page may take one: it is held beside the values
HEAD: Final = 1 << 12  # bytes read at once for the head of a page
LONGEST_HEAD: Final = 1 << 20  # it may hold the least and the largest text of the page
BLOCK: Final = 512  # of st_blocks
FEW_PAGES: Final = 1000
VALUES_PER_PAGE: Final = 50  # at least, in a file of many pages
UNCOMPRESSED, COMPRESSED, DATA, DATA_2, VALUES = (2, 3, 5, 8, 1)  # fields of a page's head, and of what it says of its data
REPEATS: Final = 7  # DELTA_BYTE_ARRAY: each text repeats a part of the one before, so that their length grows with the square


def allowed(size: int) -> int:
    """Bytes of memory that a table may take whose files have this size.

    Raises:
        RecordError: ASSAY_READ_MIB is no number.
    """
    told = os.environ.get(VARIABLE, "")
    if not told:
        return min(max(FLOOR, RATIO * size), _memory() // 2)
    try:
        return int(float(told) * MIB)
    except (ValueError, OverflowError):
        raise RecordError(f"{VARIABLE} is {told[:40]!r}, which is no number of MiB. Write for example {VARIABLE}=8000.") from None


def check_parts(record: Path, parts: Sequence[str], name: str) -> None:
    """Whether the sealed files of a table can be read in the memory that is allowed.

    Raises:
        RecordError: they cannot, a file is missing, or is no Parquet file as its own footer describes it.
    """
    size = memory = largest = 0
    for part in parts:
        try:
            told, page, disk = _looked_at(record, part, name)
        except FileNotFoundError:
            raise RecordError(f"{record / part} is missing. Restore it from a copy of the record.") from None
        except (OSError, ValueError, IndexError, OverflowError) as error:
            raise RecordError(f"{record / part} is damaged ({error}). `assay verify {record}` checks every file.") from error
        memory, largest, size = memory + told, max(largest, page), size + disk
    most = allowed(size)
    if memory > most or largest > most // LARGEST_PAGE:
        raise too_large(record, name, max(memory, LARGEST_PAGE * largest), size)


def check_text(record: Path, name: str, frame: pl.DataFrame, size: int) -> None:
    """Whether the texts of a table that was read are in proportion, each counted in every row in which it stands.

    Raises:
        RecordError: they are not.
    """
    import polars as pl
    import polars.selectors as cs

    if not frame.height:
        return
    sums = frame.select(cs.string().str.len_bytes().cast(pl.Int64).sum())
    if (memory := sum(sums.row(0)) if sums.width else 0) > allowed(size):
        raise too_large(record, name, memory, size)


def read_whole(path: Path, *, most: int) -> tuple[pa.Table | None, int]:
    """A Parquet file that was checked, and the bytes of its texts; None where they would be more than `most`.

    Texts are read as their dictionaries, counted, and only then written out row by row.

    Raises:
        OSError, pa.ArrowException, ValueError: it cannot be read, or holds text that is no UTF-8.
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
    plain = pa.schema([pa.field(one.name, pa.string() if _is_text(one.type) else one.type) for one in table.schema])
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
    """Bytes of files on the disk."""
    return sum((record / part).lstat().st_size for part in parts)


def check_stream(path: Path) -> None:
    """Whether an unfinished stream can be read: all of it is held, and holes in it take no room on the disk.

    Raises:
        RecordError: it cannot.
        OSError: it is not there.
    """
    found = path.lstat()
    if found.st_size > (most := allowed(min(found.st_size, BLOCK * found.st_blocks))):
        raise RecordError(f"{path} has {found.st_size / MIB:,.0f} MiB, more than may be read ({most / MIB:,.0f}). {_MEND}")


_MEND: Final = f"If you trust the record, set {VARIABLE} to the MiB of memory that one of its tables may take."


def too_large(record: Path, name: str, memory: int, size: int) -> RecordError:
    """The sentence for a table that would take too much memory."""
    return RecordError(
        f"the table {name} of {record} would take {memory / MIB:,.0f} MiB of memory from {size / MIB:,.2f} MiB of files; "
        f"{allowed(size) / MIB:,.0f} are allowed. {_MEND}"
    )


# ---- one Parquet file ------------------------------------------------------------------------------------------------


def _looked_at(record: Path, part: str, name: str) -> tuple[int, int, int]:
    """Bytes of memory for the values, for the largest page, and of the file."""
    import pyarrow.parquet as pq

    with open(paths.descriptor(record, part), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        _check_footer(file.fileno(), size, name)
        metadata = pq.read_metadata(file)
        memory = largest = 0
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            if not 0 <= group.num_rows <= metadata.num_rows:
                raise ValueError("its footer counts its rows in two ways")
            for column in map(group.column, range(group.num_columns)):
                pages = _pages(file.fileno(), size, column)
                text = column.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
                memory += max(column.num_values, group.num_rows) * (16 if text else 8) + (sum(pages) if text else 0)
                largest = max(largest, *pages, 0)
        return memory, largest, size


def _check_footer(descriptor: int, size: int, name: str) -> None:
    """The length of the footer, and how many columns it begins to list: a parser holds much more than it reads, and goes as deep as they
    nest.
    """
    end = os.pread(descriptor, 8, max(0, size - 8))
    length = int.from_bytes(end[:4], "little")
    if size < 12 or end[4:] != b"PAR1" or length > size - 12:
        raise ValueError("it does not end as a Parquet file")
    if length > max(FOOTER, size // 64):
        raise ValueError(f"its footer has {length / MIB:.1f} MiB")
    thrift = Thrift(os.pread(descriptor, min(length, 64), size - 8 - length))
    elements = thrift.length_of_second_field()
    if elements > 4 * len(TABLES[name].columns) + 8:
        raise ValueError(f"its footer lists {elements} columns")


def _pages(descriptor: int, size: int, column: Any) -> list[int]:
    """The uncompressed bytes of each page of a column."""
    places = [place for place in (column.dictionary_page_offset, column.data_page_offset) if place]
    place, values = min(places, default=0), 0
    end = place + column.total_compressed_size
    if column.num_values < 0 or not 4 <= place <= end <= size:
        raise ValueError("a column lies outside of the file")
    found: list[int] = []
    for head in _heads(descriptor, place, end):
        found.append(number(head, UNCOMPRESSED))
        data = structure(head, DATA) or structure(head, DATA_2)
        values += number(data, VALUES)
        if number(data, 4 if DATA_2 in head else 2) == REPEATS:
            raise ValueError("a page is written in a way that assay does not read")
        if len(found) > FEW_PAGES + column.num_values // VALUES_PER_PAGE:
            raise ValueError("a column has more pages than values")
    if values != column.num_values:
        raise ValueError("a column's pages do not hold as many values as its footer says")
    return found


def _heads(descriptor: int, place: int, end: int) -> Iterator[dict[int, Any]]:
    """The head of every page between two places."""
    while place < end:
        length = HEAD
        while True:
            thrift = Thrift(os.pread(descriptor, min(length, end - place), place))
            try:
                head = thrift.struct()
                break
            except IndexError:
                if length >= min(LONGEST_HEAD, end - place):
                    raise ValueError("a page's head has no end") from None
                length *= 16
        body = number(head, COMPRESSED)
        if COMPRESSED not in head:
            raise ValueError("a page has no length")
        place += thrift.at + body
        yield head


def _memory() -> int:
    """Of the machine, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
