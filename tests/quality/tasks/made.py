"""How do the tests of layouts write files in the official layouts, and what does a wrong one say?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fireassay import catalog
from fireassay.errors import SpecError
from fireassay.quality.scoring.items import Format, Task
from fireassay.quality.scoring.scoring import extractor


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def lines(path: Path, rows: Sequence[Any]) -> Path:
    """A JSONL file."""
    return write(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


def tsv(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    """A TSV file, no quoting."""
    return write(path, "".join("\t".join(map(str, row)) + "\n" for row in rows))


def tasks(name: str, path: Path, **options: str | int | float | bool) -> tuple[Task, ...]:
    """What a layout reads, its options as the runner gives them."""
    layout: Format = catalog.load("quality.tasks", name)
    read = tuple(layout.read(path, {**layout.options, **options}))
    for task in read:
        sound(task)
    return read


def sound(task: Task) -> None:
    """What holds for every task."""
    ids = [item.id for item in task.items]
    assert len(set(ids)) == len(ids) > 0
    assert task.files
    assert all(len(digest) == 64 for digest in task.files.values())
    extractor(task.extractor)
    for item in task.items:
        assert item.references
        assert bool(item.prompt) != bool(item.messages)
        if task.method == "loglikelihood":
            assert item.choices
            assert all(0 <= int(reference) < len(item.choices) for reference in item.references)
        else:  # an answer that is the reference is found
            assert extractor(task.extractor).extract(f" {item.references[0]}", item.choices).answer == item.references[0].strip()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refused(name: str, path: Path, **options: str | int | float | bool) -> str:
    """The message for data or options that are wrong."""
    with pytest.raises(SpecError) as caught:
        tasks(name, path, **options)
    return str(caught.value)
