"""Does a record hold a secret?  Searches every file, tables column by column, for what `redact` would have removed.

A seal proves that nothing changed, not that nothing secret was sealed: a record of an older release or another program, or
one that a script wrote into, may hold a secret.  Reports the file and the kind of secret, never the secret.
Cannot recognise a password among the words of an answer, or anything inside an image or an archive.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from fireassay.record.sealing import seal
from fireassay.record.secrets.batches import ANSWERS, is_text, suspicious
from fireassay.record.secrets.known import encoded
from fireassay.record.secrets.redact import REDACTED, known_spellings, secret_values
from fireassay.record.secrets.shapes import spans

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
