"""Which texts, or which choices, does a file give for scoring by log-likelihood?  JSONL, one object per line.

    {"prompt": "2+2=", "continuation": " 4"}                          a given text, or another engine's answer: perplexity, bits_per_byte
    {"prompt": "2+2=", "choices": [" 3", " 4"], "label": 1}           multiple choice: acc, acc_norm

Texts are used as they are, the space before a continuation included.  `label`: the index from 0, or the text of the right choice.
Optional: `id`, `cluster`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fireassay.errors import Problem, SpecError
from fireassay.scoring.items import Format, Item, Task
from fireassay.spec.explain import shown

KEYS = ("prompt", "continuation", "choices", "label", "id", "cluster")


def read(path: Path, _: object) -> Sequence[Task]:
    """The file as one task.

    Raises:
        SpecError: it cannot be read, or a line is invalid; the message names it.
    """
    try:
        content = path.read_bytes()
        lines = content.decode("utf-8-sig").split("\n")
    except OSError as error:
        raise _wrong(path.name, f"{str(path)!r}, which cannot be read ({error.strerror})", "a readable file") from None
    except UnicodeDecodeError:
        raise _wrong(path.name, "bytes that are not UTF-8", "UTF-8 text") from None
    items = tuple(_item(f"{path.name}, line {number}", number, line) for number, line in enumerate(lines, 1) if line.strip())
    kinds = {len(item.choices) > 1 for item in items}
    if len(kinds) != 1:
        raise _wrong(path.name, "no line" if not items else "choices in some lines, and continuations in others", "one kind in all lines")
    identities = [item.id for item in items]
    if len(set(identities)) < len(items):
        twice = next(name for name in identities if identities.count(name) > 1)
        raise _wrong(path.name, f"two lines with the id {shown(twice)}", "each id once")
    return (
        Task(
            name=path.stem,
            items=items,
            metrics=("acc", "acc_norm") if kinds == {True} else ("bits_per_byte", "perplexity"),
            method="loglikelihood",
            files={path.name: hashlib.sha256(content).hexdigest()},
            cluster="cluster" if any(item.cluster for item in items) else "",
        ),
    )


def _item(where: str, number: int, line: str) -> Item:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _wrong(where, f"no JSON ({error})", "one JSON object per line") from None
    if not isinstance(row, dict):
        raise _wrong(where, shown(row), "one JSON object per line")
    choices = _choices(where, row)
    cluster = row.get("cluster")
    return Item(
        id=str(row.get("id", number)),
        prompt=_text(where, row, "prompt"),
        choices=choices,
        references=(_label(where, row, choices),) if "choices" in row else (),
        cluster=None if cluster is None else str(cluster),
    )


def _choices(where: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    if ("choices" in row) == ("continuation" in row):
        raise _wrong(where, f"the keys {', '.join(row) or 'none'}", "either continuation, or choices with label")
    if "continuation" in row:
        return (_text(where, row, "continuation"),)
    choices = row["choices"]
    if not isinstance(choices, list) or len(choices) < 2 or not all(isinstance(choice, str) and choice for choice in choices):
        raise _wrong(where, f"choices {shown(choices)}", "a list of two texts or more, none empty")
    return tuple(choices)


def _label(where: str, row: Mapping[str, Any], choices: Sequence[str]) -> str:
    label = row.get("label")
    if type(label) is int and 0 <= label < len(choices):
        return str(label)
    right = [index for index, choice in enumerate(choices) if isinstance(label, str) and choice.strip() == label.strip()]
    if len(right) != 1:
        raise _wrong(where, f"label {shown(label)}", f"an index from 0 to {len(choices) - 1}, or the text of one choice")
    return str(right[0])


def _text(where: str, row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value:
        raise _wrong(where, f"{key} {shown(value)}", "a text that is not empty")
    return value


def _wrong(where: str, found: str, allowed: str) -> SpecError:
    return SpecError((Problem(where=where, found=found, allowed=allowed),), "the task's data")


FORMAT = Format(
    name="continuations",
    title="Texts or choices to score by log-likelihood",
    layout='JSONL: {"prompt", "continuation"} or {"prompt", "choices", "label"}',
    read=read,
)
