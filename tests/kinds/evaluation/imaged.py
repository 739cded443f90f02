"""Records of answers that are images with scores of another program, made through the runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from fireassay.frames.record_data import RecordData
from tests.answered import scored

COLOURS = ("red", "lime", "blue", "yellow", "aqua")
Scores = Sequence[float | None]


def drawn(number: int, size: tuple[int, int] = (96, 64)) -> bytes:
    """A PNG with a circle, each number another one."""
    image = Image.new("RGB", size, "white")
    place = number % 30
    ImageDraw.Draw(image).ellipse((place, 8, place + 40, 56), fill=COLOURS[number % 5])
    image.putpixel((0, 0), (number % 256, number // 256 % 256, 7))
    into = BytesIO()
    image.save(into, "PNG")
    return into.getvalue()


def rows(folder: Path, side: str, scores: Scores, first: int = 0, **more: Sequence[Any]) -> list[dict[str, Any]]:
    """A row for each score, with an image of its own."""
    (folder / side).mkdir(parents=True, exist_ok=True)
    made = []
    for number, score in enumerate(scores):
        name = f"{side}/{number}.png"
        (folder / name).write_bytes(drawn(first + number))
        extra = {key: values[number] for key, values in more.items()}
        made.append({"id": f"p{number}", "prompt": f"a {COLOURS[number % 5]} circle", "image": name, "v": score, **extra})
    return made


def pictured(folder: Path, sides: Mapping[str, Sequence[Mapping[str, Any]]], **more: Any) -> RecordData:
    """The record of these rows, whose field `v` is the deciding score; `fields` names further ones."""
    names = ["v", *more.pop("fields", ())]
    given = {"fields": names, "scales": {"*": "0,1"}, **more.pop("given", {})}
    return scored(folder, sides, metrics=[], given=given, fields={"image": "image"}, **more)


def record_of(folder: Path) -> Path:
    """The folder of the only record below this one."""
    return next((folder / "records").iterdir())
