"""What is shown to raters?  The items of a folder, with texts or images of each side.

DIR/items.jsonl: {"item": "7", "prompt": "a red cube", "sides": {"a": "a text", "b": {"image": "b/7.png"}}}
DIR/items.csv: columns item, prompt (may be missing), and one for each side; a cell "image:b/7.png" is an image.

Images lie in the folder itself, are PNG, JPEG or WebP by their first bytes whatever they are called, and are sent as that type only.
SVG, which can hold scripts, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fireassay.quality.tasks.support import files

NAMES: Final = ("items.jsonl", "items.csv")
IMAGE: Final = "image:"
MAX_IMAGE: Final = 64 * 1024**2
MAX_SIDES: Final = 50  # of an item: 1,225 pairs
MAX_LENGTH: Final = 200  # of an id or of a side's name


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What one side shows: a text, or an image's file with its type."""

    text: str = ""
    image: Path | None = None
    type: str = ""


@dataclass(frozen=True, kw_only=True)
class RatedItem:
    """An item and its sides by name."""

    id: str
    prompt: str
    sides: Mapping[str, Shown]


def read(folder: Path) -> tuple[RatedItem, ...]:
    """The items of a folder.

    Raises:
        SpecError: there is none, a line is invalid, an id is there twice, or an image is missing, outside of the folder or of another type.
    """
    path = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if path is None:
        raise files.wrong(str(folder), f"neither {' nor '.join(NAMES)}", "a folder with one of them", "See assay rate --help-all.")
    file = files.read(path)
    rows = files.table(file) if path.suffix == ".csv" else files.json_lines(file)
    items, seen = [], set[str]()
    for row in rows:
        item = _item(row, folder.resolve(), path.suffix == ".csv")
        if item.id in seen:
            raise files.wrong(row.where, f"the item {files.shown(item.id)} again", "each item once")
        seen.add(item.id)
        items.append(item)
    if not items:
        raise files.wrong(path.name, "no item", "at least one item")
    return tuple(items)


def _item(row: files.SourceRow, folder: Path, table: bool) -> RatedItem:
    name = _name(row, files.text_of(row, "item"), "item")
    prompt = row.values.get("prompt")
    cells = {key: value for key, value in row.values.items() if key not in ("item", "prompt")} if table else files.value(row, "sides")
    if not isinstance(cells, dict) or not cells:
        raise files.wrong(row.where, files.shown(cells), 'sides by name, as {"a": "a text", "b": {"image": "b/7.png"}}')
    sides = {_name(row, side, "side"): _shown(row, side, cell, folder) for side, cell in cells.items() if cell not in (None, "")}
    if len(sides) > MAX_SIDES:
        raise files.wrong(row.where, f"{len(sides):,} sides", f"at most {MAX_SIDES}")
    return RatedItem(id=name, prompt=prompt if isinstance(prompt, str) else "", sides=sides)


def _name(row: files.SourceRow, name: str, what: str) -> str:
    """A name that a line of CSV and a terminal can hold."""
    if not name.isprintable() or len(name) > MAX_LENGTH:
        raise files.wrong(row.where, f"the {what} {files.shown(name)}", f"a name of at most {MAX_LENGTH} printable characters, in one line")
    return name


def _shown(row: files.SourceRow, side: str, cell: Any, folder: Path) -> Shown:
    if isinstance(cell, str) and not cell.startswith(IMAGE):
        return Shown(text=cell)
    path = cell.get("image") if isinstance(cell, dict) else cell.removeprefix(IMAGE) if isinstance(cell, str) else None
    if isinstance(cell, dict) and isinstance(cell.get("text"), str) and path is None:
        return Shown(text=cell["text"])
    if not isinstance(path, str) or not path:
        raise files.wrong(row.where, f"{files.shown(cell)} for {files.shown(side)}", 'a text, or {"image": "PATH"}')
    return _image(row, folder, path)


def _image(row: files.SourceRow, folder: Path, path: str) -> Shown:
    try:
        found = (folder / path).resolve()
        usable = found.is_relative_to(folder) and found.is_file()
        size = found.stat().st_size if usable else 0
    except (OSError, ValueError):
        usable, size = False, 0
    if not usable or size > MAX_IMAGE:
        allowed = f"an image in the folder, at most {MAX_IMAGE // 1024**2} MiB"
        raise files.wrong(row.where, f"{files.shown(path)}, which is no file of it" if not usable else f"{size:,} bytes", allowed)
    with found.open("rb") as source:
        kind = type_of(source.read(16))
    if not kind:
        raise files.wrong(row.where, f"{files.shown(path)}, of another type", "PNG, JPEG or WebP by its first bytes", "Convert it.")
    return Shown(image=found, type=kind)


def type_of(head: bytes) -> str:
    """The type of an image by its first 16 bytes; empty for anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""


def side_names(items: tuple[RatedItem, ...]) -> Iterator[str]:
    """All sides, in the order of their first appearance."""
    yield from dict.fromkeys(side for item in items for side in item.sides)
