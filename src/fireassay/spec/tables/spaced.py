"""Which cells does a table have whose columns are separated by white space, as programs print it?

A heading may hold blanks ("step time (s)"), so the header is split as the rows are: of the ways to join its words into as many cells as a row
has, the one with the most known headings.  Rules, prompts, sentences around the rows and marks ("▸", "recommended") are no
cells.  A row with an empty cell is read by the positions of its cells below the headings, else refused.  The index that pandas prints before
the rows is dropped.

Cannot tell: a sentence with as many words as the table has columns that begins with a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from fireassay.errors import refuse
from fireassay.printable import some
from fireassay.spec.tables.headings import heading

MAX_WORDS: Final = 5  # of one heading
MAX_HEADING: Final = 20_000  # characters of a row: each cell of the first is read as a heading in many ways
MAX_HEADINGS: Final = 64  # of a header that is split; a longer one is split at every blank
MAX_SHOWN: Final = 2  # of the lines that are not read
RULER: Final = re.compile(r"\s*[-=─━]{3,}[-=─━\s]*")
_FIGURE: Final = re.compile(r"[~≈$+-]?[\d.]")

Cells = tuple[str, ...]
Row = tuple[int, Cells]  # line number, cells
Worth = Callable[[str], int]  # known headings of a line that commas, tabs, semicolons or bars part


@dataclass(frozen=True, kw_only=True)
class Printed:
    """Header and rows, each with its line number; what was not read, and what of it may weaken a verdict."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def printed(lines: Sequence[str], source: str, worth: Worth, most: int) -> Printed | None:
    """The table in these lines; None: no header of such a table within the first `most` lines.

    Raises:
        SpecError: a row has fewer or more cells than the header, and their positions do not say which are empty.
    """
    if (sideways := _on_its_side(lines)) is not None:
        return sideways
    found = _header(lines, worth, most)
    return None if found is None else _read(lines, *found, source)


def _on_its_side(lines: Sequence[str]) -> Printed | None:
    """A table whose first line holds the worker counts, "GPUs 1 2 4"; each row has as many cells behind its heading."""
    rows, ignored, count = list[Row](), list[str](), 0
    for number, line in enumerate(lines, start=1):
        words = tuple(line.split())
        if not words or RULER.fullmatch(line):
            continue
        count = count or next((index for index, word in enumerate(reversed(words)) if not _FIGURE.match(word)), 0)
        name, cells = " ".join(words[:-count]), words[-count:]
        meaning = heading(name) if not rows and count > 1 else None
        if not rows and (meaning is None or meaning.meaning != "workers"):
            return None
        if name and 2 * sum(_numbers(cells)) >= count:
            rows.append((number, (name, *cells)))
        else:
            ignored.append(line)
    return Printed(rows=tuple(rows), notes=tuple(_unread(ignored))) if len(rows) > 1 else None


# ---- the header --------------------------------------------------------------------------------------------------------


def _header(lines: Sequence[str], worth: Worth, most: int) -> tuple[int, Cells] | None:
    """Line index and cells of the header: the first line of known headings above a row of as many cells."""
    first = True
    for index, line in enumerate(lines[:most]):
        if not line.strip() or RULER.fullmatch(line):
            continue
        if "|" in line:
            return None
        if len(line) > MAX_HEADING:
            first = False
            continue
        below = _below(lines, index, most)
        cells, parted = _heads(line, below), worth(line)
        if _known(cells) > max(1, parted) and (_fits(cells, below) or (first and not parted)):
            return index, cells
        if parted > 1:
            return None
        first = False
    return None


def _below(lines: Sequence[str], index: int, most: int) -> str:
    """The first line below that is neither empty nor a rule."""
    return next((row for row in lines[index + 1 : index + 1 + most] if row.strip() and not RULER.fullmatch(row)), "")


def _fits(heads: Cells, below: str) -> bool:
    """True if the line below a header is a row of as many cells."""
    return len(heads) in {len(_without_marks(cells)) for cells in _splits(below)} and _is_figure(below)


def _heads(line: str, below: str) -> Cells:
    """A header as cells: as many as the first row has, if its words can be joined into so many."""
    counts = {len(cells) for split in _splits(below) for cells in (split, _without_marks(split))}
    wide, words = _wide(line), tuple(line.split())
    ways = [wide, words]
    for count in sorted(counts):
        ways += [joined for tokens in (words, _without_marks(words)) if (joined := _joined(tokens, count))]
    fitting = [way for way in ways if len(way) in counts]
    return max(fitting or ways, key=_known)


def _splits(line: str) -> tuple[Cells, Cells]:
    return _wide(line), tuple(line.split())


def _wide(line: str) -> Cells:
    """Cells parted by at least two blanks; by each blank if there are no two."""
    wide = tuple(cell for cell in re.split(r"\s{2,}", line.strip()) if cell)
    return wide if len(wide) > 1 else tuple(line.split())


def _known(cells: Cells) -> int:
    return sum(map(_is_known, cells))


@lru_cache(4096)
def _is_known(cell: str) -> bool:
    return heading(cell) is not None


def _joined(words: Cells, count: int) -> Cells:
    """The words as `count` headings of at most `MAX_WORDS`, with the most known ones; () if there is no way."""
    if not count <= len(words) <= min(MAX_HEADINGS, count * MAX_WORDS):
        return ()
    best: dict[int, tuple[int, Cells]] = {0: (0, ())}  # words used -> known headings, headings
    for _ in range(count):
        following: dict[int, tuple[int, Cells]] = {}
        for used, (known, heads) in best.items():
            for end in range(used + 1, min(used + MAX_WORDS, len(words)) + 1):
                head = " ".join(words[used:end])
                found = (known + _is_known(head), (*heads, head))
                if end not in following or found[0] > following[end][0]:
                    following[end] = found
        best = following
    return best.get(len(words), (0, ()))[1]


# ---- the rows ----------------------------------------------------------------------------------------------------------


def _read(lines: Sequence[str], at: int, heads: Cells, source: str) -> Printed:
    rows, ignored, doubts = [(at + 1, heads)], [line for line in lines[:at] if line.strip()], list[str]()
    indexed = _is_indexed(lines[at + 1 :], len(heads))
    for number, line in enumerate(lines[at + 1 :], start=at + 2):
        again = line.split() == lines[at].split()
        if not line.strip() or RULER.fullmatch(line) or (again and lines[number - 2].strip()):
            continue
        if again or (_known(_wide(line)) > 1 and _fits(_wide(line), _below(lines, number - 1, 2))):
            doubts = [f"Line {number} begins another table, which is not read."]
            break
        cells = _cells(line, lines[at], heads, indexed=indexed)
        if cells is not None:
            rows.append((number, cells))
        elif _is_row(line):
            found, fix = (
                f"{len(line.split())} cells",
                "Write - in an empty cell, numbers without blanks, or part the columns by commas or tabs.",
            )
            raise refuse(f"line {number}", found, f"{len(heads)}, as in the header", fix, source=source)
        else:
            ignored.append(line)
    return Printed(rows=tuple(rows), notes=tuple(_unread(ignored)), doubts=tuple(doubts))


def _unread(ignored: Sequence[str]) -> Iterator[str]:
    """How many lines are no rows, and the first of them."""
    if ignored:
        shown = some((f'"{line.strip()[:60]}"' for line in ignored), MAX_SHOWN)
        several = len(ignored) > 1
        yield f"{len(ignored)} line{'s' if several else ''} beside the table {'are' if several else 'is'} not read: {shown}."


def _is_indexed(lines: Sequence[str], count: int) -> bool:
    """True if each row begins with its index, as pandas prints it."""
    rows = [words for line in lines if (words := line.split()) and _is_row(line)]
    return len(rows) > 1 and all(words[0] == str(index) and len(words) == count + 1 for index, words in enumerate(rows))


def _cells(line: str, header: str, heads: Cells, *, indexed: bool) -> Cells | None:
    """The cells of a row; None: it is none, or one with too few or too many cells."""
    count = len(heads)
    if indexed and _is_row(line):
        return tuple(line.split()[1:])
    for split in _splits(line):
        for found in (split, _without_marks(split)):
            if len(found) == count and (_is_figure(line) or 2 * sum(_numbers(found[1:])) >= count - 1):
                return found
    words = _without_marks(tuple(line.split()))
    if not _is_figure(line):
        return None
    if len(words) > count and not any(re.search(r"\d", word) for word in words[count:]):
        return words[:count]
    return _aligned(line, header, heads) if len(words) < count else None


def _without_marks(cells: Cells) -> Cells:
    """Without the marks before and behind a row: "▸", "->", "*", "#"."""
    begin, end = 0, len(cells)
    while begin < end and not re.search(r"[\w$%]", cells[begin]):
        begin += 1
    while end > begin and not re.search(r"[\w$%?.—–-]", cells[end - 1]):
        end -= 1
    return cells[begin:end]


def _aligned(line: str, header: str, heads: Cells) -> Cells | None:
    """Cells by their positions below the headings, each below one; None: their positions are ambiguous."""
    spans, begin = list[tuple[int, int]](), 0
    for head in heads:
        found = re.compile(r"\s+".join(map(re.escape, head.split()))).search(header, begin)
        if found is None:
            return None
        spans.append(found.span())
        begin = found.end()
    cells = [""] * len(heads)
    for word in re.finditer(r"\S+", line):
        if not re.search(r"\w", word.group()):
            continue
        over = [index for index, (left, right) in enumerate(spans) if word.start() < right and left < word.end()]
        if len(over) != 1 or cells[over[0]]:
            return _begun(line, heads)
        cells[over[0]] = word.group()
    return tuple(cells)


def _begun(line: str, heads: Cells) -> Cells | None:
    """The cells of a row that ends before columns that mean nothing here, such as remarks."""
    words = _without_marks(tuple(line.split()))
    return (*words, *[""] * (len(heads) - len(words))) if not any(map(_is_known, heads[len(words) :])) else None


def _is_figure(line: str) -> bool:
    """True if a line begins with a number, perhaps behind a mark."""
    words = _without_marks(tuple(line.split()))
    return bool(words) and _FIGURE.match(words[0]) is not None


def _is_row(line: str) -> bool:
    """True if a line begins with a number, and half of its words are numbers."""
    words = list(_numbers(_without_marks(tuple(line.split()))))
    return _is_figure(line) and sum(words) * 2 >= len(words)


def _numbers(words: Cells) -> Iterator[bool]:
    for word in words:
        yield _FIGURE.match(word) is not None
