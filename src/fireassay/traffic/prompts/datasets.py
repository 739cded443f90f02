"""Which prompts does a file contain?

Text, JSONL, CSV and ShareGPT, read completely before the load begins.

    text      every non-empty line is a prompt
    jsonl     one object per line; `field` holds the text, or a list of messages with role and content
    csv       with a header line; `field` is one of its columns
    sharegpt  a JSON list, or one per line, of conversations: `conversations` or `messages`, with from/value or role/content

An invalid line stops reading and is reported: a load on half a file would measure something else.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fireassay.errors import SpecError, refuse
from fireassay.spec import user_file
from fireassay.spec.explain import did_you_mean
from fireassay.spec.sections.serving import Prompts
from fireassay.traffic.parts import Json

SUFFIXES: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".json": "sharegpt"}
TALKS: Final = ("conversations", "conversation", "messages", "items")
ROLES: Final = {
    "human": "user",
    "user": "user",
    "prompter": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
}
IDS: Final = ("id", "example_id", "task_id", "question_id")


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetRow:
    """One prompt or conversation of a file: `turns` are the user's messages, in order."""

    id: str
    turns: tuple[str, ...]
    before: tuple[Json, ...] = ()  # messages before the first turn: a system prompt, few-shot examples
    answer: str | None = None
    cluster: str | None = None  # label of prompts with shared content
    images: tuple[str, ...] = ()  # paths, relative to the file, or data URLs
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """A parsed file."""

    rows: tuple[DatasetRow, ...]
    format: str
    sha256: str
    folder: Path  # base of relative image paths

    def corpus(self) -> str:
        """All of its text, as the corpus for prompts of given lengths."""
        return "\n".join(turn for row in self.rows for turn in row.turns)


class _Broken(Exception):
    """An invalid line; `line` counts from 1, 0 is the whole file."""

    def __init__(self, line: int, found: str, allowed: str, fix: str = "") -> None:
        super().__init__(found)
        self.line, self.found, self.allowed, self.fix = line, found, allowed, fix


def load(spec: Prompts, base: Path, cluster: str = "") -> Dataset:
    """Read the file named by `serving.prompts.source`, relative to `base`; `cluster`: the field that labels rows with shared content.

    Raises:
        SpecError: a line is invalid; the message names it.
    """
    path = base / Path(spec.source).expanduser()
    try:
        content = user_file.content(path, user_file.MAX_DATA)
    except OSError as error:
        raise _problem(spec, f"{spec.source!r}, which cannot be read ({error.strerror})", "a readable file") from None
    if user_file.too_many_lines(content):
        most = f"at most {user_file.MAX_LINES:,} lines"
        raise _problem(spec, f"{path.name}, with more than {user_file.MAX_LINES:,} lines", most, "Give a part of the file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _problem(spec, f"{path.name}, line {line}: bytes that are not UTF-8", "UTF-8 text") from None
    kind = spec.format if spec.format != "auto" else _guessed(path, text)
    try:
        rows = tuple(READERS[kind](text, spec, cluster))
    except _Broken as broken:
        where = f"{path.name}, line {broken.line}" if broken.line else path.name
        raise _problem(spec, f"{where}: {broken.found}", broken.allowed, broken.fix) from None
    if not rows:
        raise _problem(spec, f"{path.name}, without a prompt", "at least one prompt")
    if spec.answer_field and not any(row.answer for row in rows):
        remedy = f"Check the field {spec.answer_field!r} of its rows; only JSONL and CSV have one."
        raise _problem(spec, f"{path.name}, without a reference answer in any row", "non-empty answers", remedy)
    return Dataset(rows=rows, format=kind, sha256=hashlib.sha256(content).hexdigest(), folder=path.parent)


def _problem(spec: Prompts, found: str, allowed: str, remedy: str = "") -> SpecError:
    return refuse("serving.prompts.source", found, allowed, remedy, source="the load")


def _guessed(path: Path, text: str) -> str:
    kind = SUFFIXES.get(path.suffix.lower(), "text")
    if kind != "jsonl":
        return kind
    first = next((line for line in text.splitlines() if line.strip()), "")
    try:
        document = json.loads("" if user_file.too_nested(first) else first)
    except (ValueError, RecursionError):
        return kind
    conversation = _talk(document) if isinstance(document, dict) else None
    return "sharegpt" if conversation and "conversation" in next(name for name in TALKS if name in document) else kind


# ---- the formats -------------------------------------------------------------------------------------------------


def _text(text: str, spec: Prompts, cluster: str) -> Iterator[DatasetRow]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield DatasetRow(id=str(number), turns=(line,))


def _jsonl(text: str, spec: Prompts, cluster: str) -> Iterator[DatasetRow]:
    for number, item in _objects(text):
        yield _of_object(item, spec, number, cluster)


def _csv(text: str, spec: Prompts, cluster: str) -> Iterator[DatasetRow]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = reader.fieldnames or ()
        for name in (spec.field, spec.answer_field, spec.image_field, cluster):
            if name and name not in names:
                raise _lacks(1, name, names, "columns")
        for item in reader:
            if None in item or None in item.values():
                raise _Broken(reader.line_num, "a row with more or fewer values than names", f"{len(names)} values")
            yield _of_object(item, spec, reader.line_num, cluster)
    except csv.Error as error:
        raise _Broken(reader.reader.line_num, f"not CSV ({error})", "values with commas or quotes in double quotes") from None


def _sharegpt(text: str, spec: Prompts, cluster: str) -> Iterator[DatasetRow]:
    for number, item in _records(text):
        conversation = _talk(item)
        if conversation is None:
            raise _Broken(
                number,
                f"an object with {_listed(item)}",
                f"one with a list called {' or '.join(TALKS)}",
                'Other objects: one per line in a file named .jsonl, with --prompt-field (prompts.format = "jsonl" and prompts.field).',
            )
        before, turns = _parted([_message(message, number) for message in conversation])
        if turns:
            yield DatasetRow(id=_id(item, number), turns=turns, before=before, cluster=_cluster(item, cluster, number))


READERS: Final[Mapping[str, Callable[[str, Prompts, str], Iterable[DatasetRow]]]] = {
    "text": _text,
    "jsonl": _jsonl,
    "csv": _csv,
    "sharegpt": _sharegpt,
}


# ---- fields -----------------------------------------------------------------------------------------------------


def _objects(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """One object per line, with its line number."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            item = json.loads("" if user_file.too_nested(line) else line)
        except (ValueError, RecursionError) as error:
            raise _Broken(number, f"not JSON ({error})", "one JSON object per line") from None
        if not isinstance(item, dict):
            raise _Broken(number, f"JSON that is {_kind(item)}", "one JSON object per line")
        yield number, item


def _records(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a JSON list, numbered from 1, or one per line."""
    if not text.lstrip().startswith("["):
        yield from _objects(text)
        return
    try:
        if user_file.too_nested(text):
            raise _Broken(0, f"JSON with more than {user_file.MAX_NESTS:,} lists and objects", "one object per line")
        items = json.loads(text)
    except json.JSONDecodeError as error:
        raise _Broken(error.lineno, f"not JSON ({error.msg})", "a JSON list of conversations") from None
    except RecursionError:
        raise _Broken(0, "JSON that is nested too deeply", "a JSON list of conversations") from None
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict):
            raise _Broken(0, f"item {number} is {_kind(item)}", "a list of objects")
        yield number, item


def _of_object(item: Mapping[str, Any], spec: Prompts, number: int, cluster: str) -> DatasetRow:
    """Build a row from a JSON object or a CSV line."""
    before, turn = _last_request(_field(item, spec.field, number), spec.field, number)
    answer = spec.answer_field and _word(_field(item, spec.answer_field, number), spec.answer_field, number)
    return DatasetRow(
        id=_id(item, number),
        turns=(turn,),
        before=before,
        answer=answer if answer.strip() else None,
        cluster=_cluster(item, cluster, number),
        images=_images(item, spec.image_field, number),
        documents=_documents(item),
    )


def _cluster(item: Mapping[str, Any], name: str, number: int) -> str | None:
    """The label a row shares with others; None if null or empty."""
    value = _field(item, name, number) if name else None
    return None if value in (None, "") else _word(value, name, number)


def _last_request(value: object, name: str, number: int) -> tuple[tuple[Json, ...], str]:
    """The last user message, and the messages before it."""
    if not isinstance(value, list):
        return (), _word(value, name, number)
    messages = [_message(message, number) for message in value]
    users = [at for at, message in enumerate(messages) if message["role"] == "user"]
    if not users:
        raise _Broken(number, f"{name} without a user message", "a last message with the role user")
    return tuple(messages[: users[-1]]), messages[users[-1]]["content"]


def _field(item: Mapping[str, Any], name: str, number: int) -> Any:
    if name not in item:
        raise _lacks(number, name, item, "keys")
    return item[name]


def _lacks(number: int, name: str, names: Iterable[str], kind: str) -> _Broken:
    present = [str(key) for key in names]
    fix = did_you_mean(name, present) or "Name it: --prompt-field, --answer-field or --cluster-field."
    return _Broken(number, f"no {name!r} among the {kind} {', '.join(present[:12])}", "the name of one of them", fix)


def _word(value: object, name: str, number: int) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Broken(number, f"{name} that is {_kind(value)}", "text")
    return str(value)


def _talk(item: Mapping[str, Any]) -> list[Any] | None:
    return next((item[name] for name in TALKS if isinstance(item.get(name), list)), None)


def _message(item: object, number: int) -> Json:
    """One message in OpenAI's format, from either format."""
    if not isinstance(item, dict):
        raise _Broken(number, f"a message that is {_kind(item)}", "an object")
    sender, content = item.get("role", item.get("from")), item.get("content", item.get("value"))
    role = ROLES.get(str(sender).lower())
    if role is None or not isinstance(content, str):
        raise _Broken(number, f"a message from {sender!r} with {_kind(content)}", "from (or role) and value (or content), which is text")
    return {"role": role, "content": content}


def _parted(messages: Sequence[Json]) -> tuple[tuple[Json, ...], tuple[str, ...]]:
    """The system prompts, and the non-empty user messages."""
    system = tuple(message for message in messages if message["role"] == "system")
    return system, tuple(message["content"] for message in messages if message["role"] == "user" and message["content"].strip())


def _images(item: Mapping[str, Any], name: str, number: int) -> tuple[str, ...]:
    if not name:
        return ()
    value = _field(item, name, number)
    paths = value if isinstance(value, list) else [value]
    if not all(isinstance(path, str) and path for path in paths):
        raise _Broken(number, f"{name} that is {_kind(value)}", "the path of an image, or a list of them")
    if any(path.startswith(("http://", "https://")) for path in paths):
        raise _Broken(number, f"{name} that is an address", "the path of an image", "Download it first; nothing is fetched.")
    return tuple(paths)


def _documents(document: Mapping[str, Any]) -> tuple[str, ...]:
    value = document.get("documents", document.get("passages"))
    return tuple(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else ()


def _id(item: Mapping[str, Any], number: int) -> str:
    return next((str(item[name]) for name in IDS if isinstance(item.get(name), str | int)), str(number))


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


def _listed(item: Mapping[str, Any]) -> str:
    return f"the keys {', '.join(list(item)[:12])}" if item else "no keys"
