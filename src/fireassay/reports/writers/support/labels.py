"""Where does the label of a point stand so that no line, mark or other label crosses it, on a telephone and on a wide screen?

A picture is as wide as its window: across in per cent, downwards in pixels.  Each place is tried at both widths, and the first with
the fewest crossings is taken.  It knows the width of a text only by its number of letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, hypot
from textwrap import wrap
from typing import Final

WIDTHS: Final = (340.0, 530.0)  # pixels of a picture in windows of 400 and 1440
LETTER: Final = 7.5
HEIGHT: Final = 13.0
MAX_NAME_LENGTH: Final = 44  # letters of a line of a row's name, on a telephone
AWAY: Final = 10.0  # from the point to its label
NBSP: Final = "\N{NO-BREAK SPACE}"
STEP: Final = 3.0  # pixels between two places of a line that are examined


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle whose corners are so many pixels from a place `x` per cent across and `y` pixels down."""

    x: float
    y: float
    left: float
    right: float
    top: float
    bottom: float

    def at(self, width: float) -> tuple[float, float, float, float]:
        """Left, right, top and bottom in pixels."""
        x = self.x * width / 100.0
        return x + self.left, x + self.right, self.y + self.top, self.y + self.bottom


@dataclass(frozen=True, kw_only=True)
class Place:
    """A text beside a point: `across` and `down` in pixels, and which end of the text stands there."""

    across: float
    down: float
    anchor: str
    box: Box


Segment = tuple[float, float, float, float]  # x, y, x, y


def placed(text: str, spot: Box, lines: Sequence[Segment], others: Iterable[Box], *, right_first: bool, height: float) -> Place:
    """The best place for the label of the point at `spot`, whose box holds its interval too."""
    others = [other for other in others if other != spot]
    places = list(_places(text, spot, right_first=right_first))
    return min(places, key=lambda place: sum(_crossings(place.box, lines, others, width, height) for width in WIDTHS))


def folded(name: str) -> list[str]:
    """The name of a row in lines that fit a telephone; the number after it stands in one line."""
    head, colon, figure = name.rpartition(": ")
    return wrap(f"{head}{colon}{figure.replace(' ', NBSP)}", MAX_NAME_LENGTH) or [""]


def spared(name: str, x: float) -> bool:
    """True if an upright line at `x` per cent passes the name of a row, which begins at the left, on a telephone or on a wide screen."""
    return x * min(WIDTHS) / 100.0 < LETTER * len(name)


def _places(text: str, spot: Box, *, right_first: bool) -> Iterator[Place]:
    wide = LETTER * len(text)
    away = max(AWAY, spot.right + 4.0)
    sides = [(-away, "end", -away - wide, -away), (away, "start", away, away + wide)]
    first, last = reversed(sides) if right_first else sides
    yield _beside(spot, *first)
    for down in (spot.top - 4.0, spot.bottom + HEIGHT + 1.0):
        box = Box(x=spot.x, y=spot.y, left=-wide / 2, right=wide / 2, top=down - HEIGHT + 2.0, bottom=down + 2.0)
        yield Place(across=0.0, down=down, anchor="middle", box=box)
    yield _beside(spot, *last)


def _beside(spot: Box, across: float, anchor: str, left: float, right: float) -> Place:
    return Place(across=across, down=4.0, anchor=anchor, box=Box(x=spot.x, y=spot.y, left=left, right=right, top=-8.0, bottom=5.0))


def _crossings(box: Box, lines: Sequence[Segment], others: Sequence[Box], width: float, height: float) -> int:
    left, right, top, bottom = box.at(width)
    outside = left < 0.0 or right > width or top < 0.0 or bottom > height
    met = sum(
        not (other_right < left or other_left > right or other_bottom < top or other_top > bottom)
        for other_left, other_right, other_top, other_bottom in (other.at(width) for other in others)
    )
    return 100 * outside + met + sum(_meets(line, width, (left, right, top, bottom)) for line in lines)


def _meets(line: Segment, width: float, box: tuple[float, float, float, float]) -> bool:
    """True if a line comes into a box."""
    x, y, to_x, to_y = line[0] * width / 100.0, line[1], line[2] * width / 100.0, line[3]
    left, right, top, bottom = box
    steps = ceil(hypot(to_x - x, to_y - y) / STEP) or 1
    if max(x, to_x) < left or min(x, to_x) > right or max(y, to_y) < top or min(y, to_y) > bottom:
        return False
    places = ((x + (to_x - x) * step / steps, y + (to_y - y) * step / steps) for step in range(steps + 1))
    return any(left <= across <= right and top <= down <= bottom for across, down in places)
