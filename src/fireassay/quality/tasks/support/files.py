"""What do the user's files hold?  Text, lines and tables, each with its line number and the file's SHA-256; nothing is downloaded.

A file that ends with .gz is unpacked; its digest is that of the file as it is stored.  Every error names the file, the line, what was found
and what to do.  Time is linear in the size; a file above `MAX_BYTES`, or something that is no file (a pipe, a device), is refused before it
is read.

Are the options of a layout known and of the right kind?  All problems at once, with the closest name.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fireassay.errors import Problem, SpecError, refuse, refuse_any
from fireassay.printable import some
from fireassay.spec import user_file
from fireassay.spec.explain import closest
from fireassay.spec.explain import did_you_mean as did_you_mean
from fireassay.spec.explain import shown as shown

MAX_BYTES: Final = user_file.MAX_DATA
MAX_RATIO: Final = 40  # of a packed file: text takes a quarter to a tenth
MIN_UNPACKED: Final = 64 * 1024**2  # that any packed file may have
MAX_ARRAY_LENGTH: Final = 64 * 1024**2  # characters: an array is read as a whole
MAX_LINE_LENGTH: Final = 16 * 1024**2  # characters: no answer is longer, and whatever reads it takes a while
MAX_NAMED: Final = 30  # columns in a message
SOURCE: Final = "the task's data"


@dataclass(frozen=True, kw_only=True)
class Text:
    """A file's text, without a byte-order mark."""

    name: str
    text: str
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceRow:
    """A row with its place, for messages."""

    where: str  # "dev.tsv, line 12"
    number: int  # from 1, of the rows with data
    values: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Broken:
    """A row that has not one value per column."""

    where: str
    found: str


def wrong(where: str, found: str, allowed: str, fix: str = "") -> SpecError:
    """The error for one problem of the data."""
    return refuse(where, found, allowed, fix, source=SOURCE)


@contextmanager
def called(role: str) -> Iterator[None]:
    """Errors of a file that is no task's data begin with what it is, as in "the rubric"."""
    try:
        yield
    except SpecError as error:
        if error.source != SOURCE:
            raise
        raise type(error)(error.problems, role) from None


def read(path: Path, name: str = "") -> Text:
    """A whole file. Raises SpecError: it does not exist, is no file, is empty, too large or not UTF-8."""
    name = name or path.name or str(path)
    if not path.is_file():
        state = "a folder" if path.is_dir() else "no such file" if not path.exists() else "neither a file nor a folder"
        raise wrong(name, f"{state} at {shown(str(path))}", "a file", "" if path.exists() else _similar(path))
    try:
        if (size := path.stat().st_size) > MAX_BYTES:
            raise wrong(name, f"{size:,} bytes", f"at most {MAX_BYTES:,}", "Split the file, and evaluate the parts.")
        content = user_file.content(path, MAX_BYTES)
    except OSError as error:
        raise wrong(name, f"a file that cannot be read ({error.strerror})", "a readable file") from None
    if content.startswith(b"PAR1"):
        raise wrong(
            name,
            "a Parquet file",
            "JSON lines, a list in JSON, CSV or TSV",
            'As in: pandas.read_parquet("a.parquet").to_json("a.jsonl", orient="records", lines=True)',
        )
    digest = hashlib.sha256(content).hexdigest()
    if path.suffix == ".gz":
        content = _unpacked(name, content)
    if user_file.too_many_lines(content):
        most = f"at most {user_file.MAX_LINES:,}"
        raise wrong(name, f"more than {user_file.MAX_LINES:,} lines", most, "Split the file, and evaluate the parts.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise wrong(
            f"{name}, line {line}", f"the byte 0x{content[error.start]:02x}, which is not UTF-8", "UTF-8", "Save it as UTF-8."
        ) from None
    if not text.strip():
        raise wrong(name, "an empty file", "rows of data")
    return Text(name=name, text=text, sha256=digest)


def examples(path: Path, shots: int, name: str = "") -> Text:
    """A file that holds the few-shot examples, unless there are none to be shown: the default of some layouts asks for them.

    Raises:
        SpecError: there is none, or it cannot be read.
    """
    if shots and not path.is_file():
        fix = f"Put it there, or ask without examples: --task-option shots=0. {_similar(path)}".strip()
        raise wrong(name or path.name, f"no such file at {shown(str(path))}", f"the file with the examples, since shots = {shots}", fix)
    return read(path, name)


def _unpacked(name: str, content: bytes) -> bytes:
    most = min(MAX_BYTES, max(MIN_UNPACKED, MAX_RATIO * len(content)))
    try:
        unpacked = gzip.GzipFile(fileobj=io.BytesIO(content)).read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise wrong(name, f"a file that cannot be unpacked ({error})", "a whole gzip file") from None
    if len(unpacked) > most:
        fix = "If you trust it, unpack it first, and give the unpacked file."
        raise wrong(
            name, f"{len(content):,} bytes that unpack to more than {most:,}", f"at most {MAX_RATIO} times as many, or {most:,}", fix
        )
    return unpacked


def _similar(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {shown(str(path.parent))}."
    match = closest(path.name, (entry.name for entry in path.parent.iterdir()))
    return f"Did you mean {path.parent / match}?" if match else ""


def json_lines(file: Text) -> Iterator[SourceRow]:
    """The objects of a JSONL file, or of one JSON array; blank lines are skipped."""
    for number, (where, found) in enumerate(_objects(file), 1):
        value = parsed(where, found) if isinstance(found, str) else found[0]
        if not isinstance(value, dict):
            raise wrong(where, shown(value), "one JSON object per line")
        yield SourceRow(where=where, number=number, values=value)


def _objects(file: Text) -> Iterator[tuple[str, str | list[Any]]]:
    """Where each object stands, and its line, or it alone in a list where the file is an array."""
    text = file.text.strip()
    if re.match(r"\[\s*\{", text) and text.endswith("]"):
        if len(text) > MAX_ARRAY_LENGTH:
            raise wrong(file.name, f"an array of {len(text):,} characters", f"at most {MAX_ARRAY_LENGTH:,}", "Write it as JSON lines.")
        yield from ((f"{file.name}, item {number}", [value]) for number, value in enumerate(parsed(file.name, text), 1))
        return
    for line, text in enumerate(file.text.split("\n"), 1):
        if text.strip():
            _refuse_long(f"{file.name}, line {line}", text)
            yield f"{file.name}, line {line}", text


def _refuse_long(where: str, text: str) -> None:
    if len(text) > MAX_LINE_LENGTH:
        raise wrong(where, f"{len(text):,} characters", f"at most {MAX_LINE_LENGTH:,} in a line", "Look for a missing line end.")


def parsed(where: str, text: str) -> Any:
    """JSON; half a surrogate pair, which no file can hold, is U+FFFD, as where an engine sends one."""
    if user_file.too_nested(text):
        raise wrong(
            where, f"JSON with more than {user_file.MAX_NESTS:,} lists and objects", "fewer", "Split the file, and evaluate the parts."
        )
    try:
        found = json.loads(text, object_pairs_hook=once)
        return _whole(found) if "\\ud" in text.lower() else found
    except json.JSONDecodeError as error:
        place = f"{where}, column {error.colno}" if "\n" not in text.strip() else f"{where}, line {error.lineno}, column {error.colno}"
        raise wrong(place, f"no JSON ({error.msg})", "JSON", "Look for a missing quote, comma or brace there.") from None
    except Twice as error:
        raise wrong(where, f"the key {shown(str(error))} twice in one object", "each key once", "Keep the one that is meant.") from None
    except (ValueError, RecursionError):
        raise wrong(where, "JSON that is nested too deep or has a number of thousands of digits", "JSON") from None


class Twice(Exception):
    """A key that an object has twice: Python keeps the last without a word."""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Twice(next(name for name, many in Counter(name for name, _ in pairs).items() if many > 1))
    return made


def _whole(found: Any) -> Any:
    if isinstance(found, dict):
        return {_whole(name): _whole(inner) for name, inner in found.items()}
    if isinstance(found, list):
        return [_whole(inner) for inner in found]
    return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if isinstance(found, str) else found


def table(file: Text, delimiter: str = ",", header: Sequence[str] = ()) -> Iterator[SourceRow]:
    """The rows of a CSV file with quotes; `header`: the columns' names, where the file does not name them itself."""
    csv.field_size_limit(MAX_LINE_LENGTH)
    reader = csv.reader(io.StringIO(file.text, newline=""), strict=True, delimiter=delimiter)
    names, number, begin = list(header), 0, 1
    try:
        for values in reader:
            where, begin = f"{file.name}, line {begin}", reader.line_num + 1
            if not any(value.strip() for value in values):
                continue
            if not names:
                names = _header(where, values)
                continue
            number += 1
            if len(values) != len(names):
                raise wrong(
                    where,
                    f"{len(values)} columns",
                    f"{len(names)}: {', '.join(names[:MAX_NAMED])}",
                    "Put a value with commas or quotes in quotes.",
                )
            yield SourceRow(where=where, number=number, values=dict(zip(names, values, strict=True)))
    except csv.Error as error:
        raise wrong(f"{file.name}, line {reader.line_num}", f"no CSV ({error})", "CSV, quotes inside a value doubled") from None


def tabbed(file: Text, header: Sequence[str] = ()) -> Iterator[SourceRow | Broken]:
    """The rows of a TSV file in which quotes are ordinary characters."""
    names, number = list(header), 0
    for line, text in enumerate(file.text.split("\n"), 1):
        text = text.removesuffix("\r")
        if not text.strip():
            continue
        where = f"{file.name}, line {line}"
        _refuse_long(where, text)
        values = text.split("\t")
        if not names:
            names = _header(where, values)
            continue
        number += 1
        if len(values) != len(names):
            yield Broken(where=where, found=f"{len(values)} columns instead of {len(names)} ({', '.join(names[:MAX_NAMED])})")
        else:
            yield SourceRow(where=where, number=number, values=dict(zip(names, values, strict=True)))


def _header(where: str, values: Sequence[str]) -> list[str]:
    names = [value.strip() for value in values]
    if twice := sorted(name for name, number in Counter(names).items() if number > 1):
        raise wrong(where, f"the column {shown(twice[0])} twice", "each column once")
    return names


def value(row: SourceRow, name: str) -> Any:
    """A field that has to be there."""
    if row.values.get(name) is None:
        if name in row.values:
            raise wrong(row.where, f"null in {name!r}", "a value")
        fields = some(map(shown, row.values), MAX_NAMED) or "no fields"
        raise wrong(row.where, f"no field {name!r}", f"a value; the row has {fields}", did_you_mean(name, row.values))
    return row.values[name]


def text_of(row: SourceRow, name: str) -> str:
    """A field that has to be a text that is not blank; numbers as they are written in JSON, true and false in small letters."""
    found = value(row, name)
    if isinstance(found, bool | int | float):
        return json.dumps(found)
    if not isinstance(found, str) or not found.strip():
        raise wrong(row.where, f"{shown(found)} in {name!r}", "a text")
    return found


def texts_of(row: SourceRow, name: str) -> tuple[str, ...]:
    """A field that is a text, or a list of at least one."""
    found = value(row, name)
    if not isinstance(found, list):
        return (text_of(row, name),)
    if not found or not all(isinstance(one, str | bool | int | float) for one in found):
        raise wrong(row.where, f"{shown(found)} in {name!r}", "a list of at least one text")
    return tuple(one if isinstance(one, str) else json.dumps(one) for one in found)


Option = str | int | float | bool
KINDS: dict[type, str] = {str: "a text", int: "a whole number from 0", float: "a number", bool: "true or false"}

MIN_WHOLE: dict[str, int] = {"max_tokens": 1}  # whole numbers that cannot be 0


def checked(
    layout: str, given: Mapping[str, Option], defaults: Mapping[str, Option], choices: Mapping[str, tuple[str, ...]]
) -> dict[str, Option]:
    """Every option with its value or default. Raises SpecError: an unknown option, a value of another type, or none of its choices."""
    problems = []
    for name, value in given.items():
        where = f"evaluation.task_options.{name}"
        if name not in defaults:
            known = ", ".join(defaults) or f"no option: {layout} has none"
            problems.append(Problem(where, shown(value), known, did_you_mean(name, defaults)))
        elif name in choices and value not in choices[name]:
            fix = did_you_mean(str(value), choices[name])
            problems.append(Problem(where, shown(value), f"one of {', '.join(choices[name])}", fix))
        elif type(value) is not (kind := type(defaults[name])) and not (kind is float and type(value) is int):
            problems.append(Problem(where, shown(value), KINDS[kind]))
        elif type(value) is int and value < (least := MIN_WHOLE.get(name, 0)):
            problems.append(Problem(where, shown(value), f"a whole number from {least}"))
    refuse_any(problems, f"the options of {layout}")
    return {**defaults, **given}


def listed(text: Option) -> tuple[str, ...]:
    """A comma-separated option."""
    return tuple(part for one in str(text).split(",") if (part := one.strip()))
