"""How are secrets removed from a million rows without a Python call per string?

Arrow's search (RE2, without the GIL) finds the strings with a key's prefix, a word that precedes secrets, or a known value;
only these are searched in Python.  All other arrays are passed through unchanged.
From model outputs (`ANSWERS`) only keys and known values are removed: the outputs are measurement results.

Does a record hold a secret?  Searches every file, tables column by column, for what `redact` would have removed.

A seal proves that nothing changed, not that nothing secret was sealed: a record of an older release or another program, or
one that a script wrote into, may hold a secret.  Reports the file and the kind of secret, never the secret.
Cannot recognise a password among the words of an answer, or anything inside an image or an archive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.record import seal
from fireassay.record.secrets.redact import REDACTED, encoded, known_spellings, secret_values
from fireassay.record.secrets.shapes import key_heads, spans
from fireassay.record.secrets.texts import ANSWERS, FEW, KEY, MAX_ERROR_LENGTH, cleaned_texts, halves, triggers
from fireassay.record.secrets.texts import cleaned as clean_text

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE: Final = 4 << 20  # bytes of a file per piece
OVERLAP: Final = 16 << 10  # bytes searched twice, for a key across a boundary
ROWS: Final = 8192


def leaks(path: Path, on_progress: Callable[[int, int], None] | None = None) -> tuple[str, ...]:
    """One sentence per file that holds a secret, starting with the file's name; empty if none does.

    Args:
        path: the record folder.
        on_progress: called with the files searched so far, and all.
    """
    known = known_spellings(secret_values(os.environ))
    names = [name for name in ("manifest.json", *seal.covered(path)) if (path / name).is_file()]
    found = []
    for number, name in enumerate(names, start=1):
        if kind := _kind_in(path / name, known):
            found.append(_sentence(name, kind))
        if on_progress is not None:
            on_progress(number, len(names))
    return tuple(found)


def _sentence(name: str, kind: str) -> str:
    return (
        f"{name}: holds what looks like a secret ({kind}). Whoever gets the record gets it too: "
        "revoke it where it was issued, and measure again or give the record to nobody."
    )


def _kind_in(file: Path, known: tuple[bytes, ...]) -> str:
    """The kind of the first secret in a file; "" for none."""
    if file.is_symlink():
        return ""
    try:
        if file.suffix == ".parquet":
            return next(filter(None, _in_table(file, known)), "")
        return next((kind for piece in _pieces(file) if (kind := kind_of(piece, known))), "")
    except (OSError, ValueError):  # unreadable: `verify` reports it
        return ""


def kind_of(data: bytes, known: tuple[bytes, ...] = (), *, keys_only: bool = False) -> str:
    """The kind of secret in a text; "" for none."""
    if any(secret in data for secret in known):
        return "the value of a variable of this environment"
    mark = REDACTED.encode()
    for begin, end, rule in spans(data, keys_only=keys_only):
        if mark[1:-1] not in data[begin : end + 1]:
            return rule
    return ""


def _pieces(file: Path) -> Iterator[bytes]:
    before = b""
    with file.open("rb") as opened:
        while data := opened.read(AT_ONCE):
            yield before + data
            before = data[-OVERLAP:]


def _in_table(file: Path, known: tuple[bytes, ...]) -> Iterator[str]:
    """The kinds of secret in a table's strings; "" for strings without any."""
    import pyarrow.parquet as pq

    values = tuple(secret.decode("utf-8", "replace") for secret in known)
    with pq.ParquetFile(file) as table:
        names = [column.name for column in table.schema_arrow if _has_text(column.type)]
        for batch in table.iter_batches(ROWS, columns=names) if names else ():
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                keys_only = name in ANSWERS
                texts = column if is_text(column.type) else column.flatten()
                for row in suspicious(texts, values, keys_only=keys_only):
                    yield kind_of(encoded(texts[row].as_py())[0], known, keys_only=keys_only)


def _has_text(kind: Any) -> bool:
    import pyarrow as pa

    return is_text(kind) or (pa.types.is_list(kind) and is_text(kind.value_type))


SHORT: Final = 1024  # rows; up to them Python is faster than importing pyarrow.compute and compiling the RE2 expression


def cleaned_batch(batch: pa.RecordBatch, secrets: Iterable[str] = ()) -> pa.RecordBatch:
    """The batch with secrets redacted from its strings; the same object if there are none."""
    import pyarrow as pa

    known, before = tuple(secrets), batch.columns
    columns = [
        (_cut if name == "error" else _whole)(cleaned(column, known, keys_only=name in ANSWERS))
        for name, column in zip(batch.schema.names, before, strict=True)
    ]
    if all(new is old for new, old in zip(columns, before, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _whole(column: pa.Array) -> pa.Array:
    return column


def _cut(errors: pa.Array) -> pa.Array:
    """Server error messages, truncated to the length that a record keeps."""
    import pyarrow.compute as pc

    longest = pc.max(pc.utf8_length(errors)).as_py() if is_text(errors.type) else None
    return pc.utf8_slice_codeunits(errors, 0, MAX_ERROR_LENGTH) if (longest or 0) > MAX_ERROR_LENGTH else errors


def cleaned(column: pa.Array, secrets: Sequence[str] = (), *, keys_only: bool = False) -> pa.Array:
    """An array with secrets redacted from its strings or lists of strings; the same object if there are none."""
    import pyarrow as pa

    known = tuple(secrets)
    if is_text(column.type):
        return _texts(column, known, keys_only=keys_only)
    if pa.types.is_list(column.type) and is_text(column.type.value_type):
        values = column.flatten()
        if _texts(values, known, keys_only=keys_only) is values:
            return column
        rows = column.to_pylist()
        return pa.array([row and [clean_text(text, known, keys_only) for text in row] for row in rows], column.type)
    return column


def is_text(kind: Any) -> bool:
    """True if a column of this type holds strings."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _texts(column: pa.Array, secrets: tuple[str, ...], *, keys_only: bool) -> pa.Array:
    import pyarrow as pa

    before = column.to_pylist() if len(column) <= SHORT else None
    if before is not None and len(set(before)) <= FEW:
        after = cleaned_texts(before, secrets, keys_only=keys_only)
        return column if after is before else pa.array(after, column.type)
    texts: list[str | None] | None = None
    for row in suspicious(column, secrets, keys_only=keys_only):
        text = column[row].as_py()
        clean = clean_text(text, secrets, keys_only)
        if clean != text:
            texts = column.to_pylist() if texts is None else texts
            texts[row] = clean
    return column if texts is None else pa.array(texts, column.type)


def suspicious(column: pa.Array, secrets: tuple[str, ...] = (), *, keys_only: bool = False) -> Iterator[int]:
    """Rows whose text may hold a secret; a superset of those that do."""
    import pyarrow.compute as pc

    if column.null_count == len(column):
        return
    if len(column) <= FEW:
        yield from (row for row in range(len(column)) if column[row].is_valid)
        return
    matches = pc.match_substring_regex(pc.ascii_lower(column), pattern=_beginnings(keys_only))
    if values := halves(secrets):
        matches = pc.or_(matches, pc.match_substring_regex(column, pattern="|".join(map(re.escape, values))))
    yield from pc.indices_nonzero(matches).to_pylist()  # skips nulls


@lru_cache(maxsize=2)
def _beginnings(keys_only: bool) -> str:
    """The prefixes of everything shaped like a secret."""
    return "|".join((f"(?:{'|'.join(map(re.escape, key_heads()))}){KEY}", *(() if keys_only else map(re.escape, triggers()))))
