"""A secret that is planted everywhere and must be found nowhere: how it may be spelled, and every byte in which it is looked for."""

from __future__ import annotations

import base64
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

# No digit run, prefix or name gives them away: only that the experiment says that these variables hold secrets.
HOUSE = "correct+horse/battery=staple&canary"
GATE = "wind-mill-quarry-lantern-fjord"
ENVIRONMENT = {"HOUSE": HOUSE, "GATE": GATE}


def spellings(secret: str) -> tuple[bytes, ...]:
    """The secret as programs write it, worked out apart from the code under test."""
    data = secret.encode()
    bare = base64.b64encode(data)[: len(data) // 3 * 4]  # what of it does not depend on what follows
    shifted = base64.b64encode(b"Bearer " + data)[10 : (7 + len(data)) // 3 * 4]  # 7 bytes before: 9 1/3 characters
    return (data, quote(secret, safe="").encode(), bare, shifted, data.hex().encode(), secret.encode("utf-16-le"))


def found_in(*places: Path | bytes, secrets: tuple[str, ...] = (HOUSE, GATE)) -> list[str]:
    """Where any of the secrets stands: names of files, and what is decompressed of them."""
    needles = [needle for secret in secrets for needle in spellings(secret)]
    return [name for place in places for name, data in _pieces(place) if any(needle in data for needle in needles)]


def _pieces(place: Path | bytes) -> Iterator[tuple[str, bytes]]:
    if isinstance(place, bytes):
        yield "output", place
        return
    for file in [place] if place.is_file() else sorted(place.rglob("*")):
        if not file.is_file():
            continue
        yield str(file), file.read_bytes()
        yield f"name of {file}", str(file).encode()
        if file.suffix == ".parquet":
            yield from ((f"{file}, {name}", data) for name, data in _texts(file))
        if file.suffix == ".xlsx":
            with zipfile.ZipFile(file) as book:
                yield from ((f"{file}, {name}", book.read(name)) for name in book.namelist())


def _texts(file: Path) -> Iterator[tuple[str, bytes]]:
    table = pq.read_table(file)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(column.type):
            yield name, "\n".join(text or "" for text in column.to_pylist()).encode()
