"""Which answers does a file hold?  JSONL or CSV, one answer per line, with its reference.

Lines with one id are repetitions: several answers to one item.  A line without the answer's field, or with null in it, holds no answer:
that item is missing, and never wrong.  An invalid line stops reading and is named: a score of half a file would be another score.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fireassay.errors import Problem, SpecError
from fireassay.scoring.items import Item
from fireassay.spec.explain import did_you_mean, shown
from fireassay.spec.sections.evaluation import Fields

TABLES: Final = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The lines of a file in order: what was asked, the answer (None: missing), and which of the item's answers it is."""

    items: tuple[Item, ...]
    texts: tuple[str | None, ...]
    repetitions: tuple[int, ...]
    sha256: str


def read(path: Path, fields: Fields) -> Answers:
    """The answers in a file.

    Raises:
        SpecError: it cannot be read, a line is invalid, or lines with one id differ in more than the answer.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _wrong(path.name, f"{str(path)!r}, which cannot be read ({error.strerror})", "a readable file") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _wrong(f"{path.name}, line {line}", "bytes that are not UTF-8", "UTF-8 text") from None
    delimiter = TABLES.get(path.suffix.lower())
    rows = _table(path.name, text, delimiter) if delimiter else _lines(path.name, text)
    pairs = [_pair(f"{path.name}, line {number}", number, row, fields) for number, row in rows]
    if not pairs:
        raise _wrong(path.name, "no line with an answer", "at least one line")
    items, texts = zip(*pairs, strict=True)
    repetitions = tuple(_repetitions(path.name, items, fields))
    return Answers(items=items, texts=texts, repetitions=repetitions, sha256=hashlib.sha256(content).hexdigest())


def _lines(name: str, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _wrong(f"{name}, line {number}", f"no JSON ({error})", "one JSON object per line") from None
        if not isinstance(row, dict):
            raise _wrong(f"{name}, line {number}", shown(row), "one JSON object per line")
        yield number, row


def _table(name: str, text: str, delimiter: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise _wrong(f"{name}, line {reader.line_num}", "another number of fields than the first line names", "one value per field")
            yield reader.line_num, row
    except csv.Error as error:
        raise _wrong(f"{name}, line {reader.line_num}", f"no CSV ({error})", "CSV with a header line") from None


def _pair(where: str, number: int, row: Mapping[str, Any], fields: Fields) -> tuple[Item, str | None]:
    wanted = _field(where, row, fields.reference)
    references = tuple(_text(where, fields.reference, value) for value in (wanted if isinstance(wanted, list) else [wanted]))
    if not references:
        raise _wrong(where, f"an empty list in {fields.reference!r}", "at least one reference")
    answer = row.get(fields.answer)
    prompt = row.get(fields.prompt)
    item = Item(
        id=_label(where, row, fields.id) if fields.id else str(number),
        prompt=prompt if isinstance(prompt, str) else "",
        references=references,
        cluster=_label(where, row, fields.cluster) if fields.cluster else None,
        groups={name: _label(where, row, name) for name in fields.groups},
        weight=_weight(where, row, fields.weight) if fields.weight else 1.0,
    )
    return item, None if answer is None else _text(where, fields.answer, answer)


def _field(where: str, row: Mapping[str, Any], name: str) -> Any:
    if row.get(name) is None:
        found = f"null in {name!r}" if name in row else f"no field {name!r}"
        raise _wrong(where, found, f"a value in every line; this one has {', '.join(map(shown, row)) or 'none'}", did_you_mean(name, row))
    return row[name]


def _text(where: str, name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(where, f"{shown(value)} in {name!r}", "a text or a number")
    return json.dumps(value)


def _label(where: str, row: Mapping[str, Any], name: str) -> str:
    value = _field(where, row, name)
    return str(value).lower() if isinstance(value, bool) else _text(where, name, value)


def _weight(where: str, row: Mapping[str, Any], name: str) -> float:
    value = _field(where, row, name)
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0.0 < weight < 1e12 or isinstance(value, bool):
        raise _wrong(where, f"{shown(value)} in {name!r}", "a number above 0")
    return weight


def _repetitions(name: str, items: tuple[Item, ...], fields: Fields) -> Iterator[int]:
    seen: dict[str, tuple[Item, int]] = {}
    for item in items:
        first, count = seen.get(item.id, (item, 0))
        if item != first:
            found = f"lines with the {fields.id} {shown(item.id)} that differ in more than the answer"
            allowed = "one item for each id, with several answers at most"
            raise _wrong(name, found, allowed, "Choose a field with --id that tells items apart.")
        seen[item.id] = (first, count + 1)
        yield count


def _wrong(where: str, found: str, allowed: str, fix: str = "") -> SpecError:
    return SpecError((Problem(where=where, found=found, allowed=allowed, fix=fix),), "the answers")
