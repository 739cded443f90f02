"""How does a page become one self-contained HTML file: no network, no external font, readable without script?

All text is untrusted: jinja2 escapes it, and only our own SVG is inserted as it is. Images are checked small copies, within the page. A content
security policy forbids the page to load anything and to run any script but ours, which it names by its hash; that script adds comfort, never
content.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

import jinja2

from fireassay.printable import printable
from fireassay.reports.page import Answer, Block, Bullets, Chart, Facts, Line, Mark, Page, Prose, Section, Sum, Table, Tone, said
from fireassay.reports.writers.support import grids
from fireassay.reports.writers.support.album import Album
from fireassay.reports.writers.writer import Writer

if TYPE_CHECKING:
    from fireassay.reports.writers.support.svg import Picture

# A sign with every status word, so that colour alone carries no meaning.
SIGNS: Final[Mapping[Tone, str]] = {
    "good": "✓",
    "gain": "=",
    "bad": "✕",
    "void": "!",
    "open": "?",
    "absent": "–",
    "struck": "–",
    "plain": "•",
}
FURTHER: Final = re.compile(r" \d+ more: --full$")
MIN_LINKS: Final = 4  # sections from which a list of links is shown
MAX_UNIT_LENGTH: Final = 4  # characters of a unit that is as large as its number
LONG_NOTES: Final = 300  # characters of a table's notes; longer ones are folded
STACKED: Final = 4  # columns; a table with more, and few rows, becomes blocks on a phone
MAX_STACK: Final = 6  # rows of such a table
LONG_CAPTION: Final = 200  # characters; a longer caption is folded with the data
SHOWN: Final = 3  # sentences shown per item; the others are folded
KINDS: Final = {Table: "table", Facts: "facts", Bullets: "bullets", Prose: "prose", Chart: "drawn", Sum: "drawn"}
SIDE_BY_SIDE: Final = ("drawn", "facts", "bullets")  # kinds whose blocks share a row


def write(page: Page) -> str:
    """Render the page as one HTML document."""
    first, sections = _first(page), _sections(page)
    anchors = grids.anchors(section for section in (*first, *sections))
    pictures = dict(_pictures((*first, *sections), anchors))
    links = [section for section in sections if section.title] if len(sections) >= MIN_LINKS else []
    context = {
        "page": page,
        "first": first,
        "sections": sections,
        "links": links,
        "pictures": pictures,
        "grids": grids.Grids(anchors),
        "album": Album(),
    }
    return printable(_template().render(context, style=_file("report.css"), script=_script(), policy=_policy()))


def _first(page: Page) -> tuple[Section, ...]:
    """What stands on the first screen below the answer: the evidence that is drawn."""
    brief = page.of_role("answer") if page.answer is not None else ()
    drawn = tuple(section for section in brief if all(isinstance(block, (Chart, Sum)) for block in section.blocks))
    return page.of_role("exhibit") or drawn


def _sections(page: Page) -> tuple[Section, ...]:
    """The sections after the first screen; the tables of an answer are for formats that stop after it."""
    return page.of_role("question") or page.of_depth("front", "detail", "appendix") or page.of_role("publication")


def _pictures(sections: Sequence[Section], anchors: frozenset[str]) -> Iterator[tuple[str, Picture]]:
    """All charts by name, drawn."""
    for chart in (block for section in sections for block in _shown(section) if isinstance(block, Chart)):
        from fireassay.reports.writers.support import svg

        yield chart.name, svg.picture(chart, anchors)


def _shown(section: Section) -> Iterator[Block]:
    """The blocks that such a page shows: charts of courses are for a workbook."""
    return (block for block in section.blocks if type(block) in KINDS and not (isinstance(block, Chart) and block.courses))


def _groups(section: Section) -> Iterator[tuple[str, tuple[Block, ...]]]:
    """Neighbouring blocks of one kind: charts in columns, and folded tables in one card."""
    for kind, some in groupby(_shown(section), key=_kind):
        yield kind, tuple(some)


def _columns(sections: Sequence[Section]) -> int:
    """How many columns the first screen has: the sentence instead of a chart takes the whole width, and none."""
    return sum(any(not isinstance(block, Prose) for block in _shown(section)) for section in sections)


def _cards(blocks: Sequence[Block]) -> list[Block | tuple[Sum, ...]]:
    """Drawn blocks as cards: every chart has its own, all sums share one as its views."""
    sums = tuple(block for block in blocks if isinstance(block, Sum))
    return [*(block for block in blocks if not isinstance(block, Sum)), *([sums] if sums else [])]


def _kind(block: Block) -> str:
    return "folds" if isinstance(block, Table) and block.folded else KINDS[type(block)]


def _sign(mark: Mark) -> str:
    return mark.sign or SIGNS[mark.tone]


def _large(text: str) -> tuple[str, str]:
    """A tile's number and, if it is long, its unit, which is then written small: ("$0.051", "per million samples")."""
    number, _, unit = text.partition(" ")
    return (number, unit) if len(unit) > MAX_UNIT_LENGTH else (text, "")


def _folded(block: Bullets) -> str:
    """What a fold of a list says: how many items, and how many of each word."""
    words = [item.mark.word for item in block.items if item.mark is not None]
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    return f"{len(block.items)} rules: {counts}"


def _headline(answer: Answer, title: str = "") -> str:
    """The headline as a sentence begins; the name of a configuration, engine or record, with which a title begins, stays as it is written."""
    first = answer.headline.partition(" ")[0].strip(":,;")
    names = {mark.word.partition(" ")[0].strip(",") for tile in answer.tiles for mark in tile.marks}
    named = (
        first in (*names, title.partition(" ")[0].strip(","))
        or answer.headline.startswith(f"{first}:")
        or not first.replace("-", "").isalpha()
    )  # such as all_reduce
    text = answer.headline if named else f"{answer.headline[:1].upper()}{answer.headline[1:]}"
    return text.replace(" %", "\u00a0%")


def _lines(answer: Answer) -> list[Line]:
    """The lines that no tile says, without what formats say that stop after the answer."""
    tiled = {tile.title.partition(" ")[0].lower() for tile in answer.tiles}
    return [replace(line, text=FURTHER.sub("", line.text)) for line in answer.lines if line.beside_tile or line.label not in tiled]


def _record(answer: Answer) -> str:
    """The line about the record, without what only other formats can say."""
    kept = answer.record.partition("; --full")[0].partition("; all: --full")[0]
    return f"{kept}." if kept else ""


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("fireassay.reports.writers", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # folding constants takes longer than rendering them once
    )


@cache
def _file(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


@cache
def _script() -> str:
    return _file("report.js").strip()


@cache
def _policy() -> str:
    """Nothing is loaded, and no script runs but ours."""
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


@cache
def _template() -> jinja2.Template:
    environment = _environment()
    tools: dict[str, Callable[..., object]] = {
        "groups_of": _groups,
        "cards": _cards,
        "columns_of": _columns,
        "sign": _sign,
        "said": said,
        "large": _large,
        "folded": _folded,
        "headline": _headline,
        "lines_of": _lines,
        "record_of": _record,
        "beams": grids.beams,
    }
    environment.globals.update(
        tools,
        SHOWN=SHOWN,
        LONG_NOTES=LONG_NOTES,
        STACKED=STACKED,
        MAX_STACK=MAX_STACK,
        LONG_CAPTION=LONG_CAPTION,
        SIDE_BY_SIDE=SIDE_BY_SIDE,
    )
    return environment.get_template("page.html")


WRITER = Writer(name="html", suffix=".html", summary="one self-contained page with charts", write=write)
