"""How does a page become one self-contained HTML file: no network, no script, no external font?

All text is untrusted: jinja2 escapes it, only our own SVG is inserted as it is, and a content security policy forbids the page to run
scripts or load resources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

import jinja2

from fireassay.printable import printable
from fireassay.reports.page import Block, Bullets, Cell, Chart, Facts, Head, Mark, Number, Page, Prose, Section, Table, Tone, said
from fireassay.reports.writers.writer import Writer

if TYPE_CHECKING:
    from fireassay.reports.charts.svg import Picture

# A sign with every status word, so that colour alone carries no meaning.
SIGNS: Final[Mapping[Tone, str]] = {
    "good": "✓",
    "gain": "▸",
    "bad": "✕",
    "void": "!",
    "open": "?",
    "absent": "–",
    "struck": "–",
    "plain": "•",
}
MANY: Final = 4  # columns; with more, the reason for a missing number becomes a tooltip
LEAST_LINKS: Final = 4  # sections from which a list of links is shown
SHOWN: Final = 3  # sentences shown per item; the others are folded
KINDS: Final = {Table: "table", Facts: "facts", Bullets: "bullets", Prose: "prose", Chart: "chart"}


def write(page: Page) -> str:
    """Render the page as one HTML document."""
    sections = page.of_depth("front", "detail", "appendix") or page.of_depth("paper")
    pending = _started(sections)
    template = _template()
    pictures = {name: finished() for name, finished in pending}
    links = sections if len(sections) >= LEAST_LINKS else ()
    return printable(template.render(page=page, rows=tuple(_side_by_side(sections)), links=links, pictures=pictures))


def _side_by_side(sections: Sequence[Section]) -> Iterator[tuple[Section, ...]]:
    """Group sections into rows: neighbours of half width share one."""
    for half, some in groupby(sections, key=lambda section: section.half):
        neighbours = tuple(some)
        yield from [neighbours] if half else [(section,) for section in neighbours]


def _started(sections: Sequence[Section]) -> list[tuple[str, Callable[[], Picture]]]:
    """All charts, started before the first is collected, because another process may render them meanwhile."""
    charts = [block for section in sections for block in section.blocks if isinstance(block, Chart)]
    if not charts:
        return []
    from fireassay.reports.charts.svg import begun

    return [(chart.name, begun(chart.name, chart.draw())) for chart in charts]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Neighbouring blocks of one kind: charts in columns, tables side by side."""

    kind: str
    blocks: tuple[Block, ...]


def _blocks(section: Section) -> Iterator[Group]:
    for kind, some in groupby((block for block in section.blocks if type(block) in KINDS), key=lambda block: KINDS[type(block)]):
        yield Group(kind=kind, blocks=tuple(some))


@dataclass(frozen=True, kw_only=True)
class Laid:
    """A cell with its layout."""

    cell: Cell
    head: str
    span: int
    number: bool
    name: bool  # whether it names the row


def _rows(table: Table) -> Iterator[tuple[Laid, ...]]:
    rest = len(table.heads) - table.stub
    for row in table.rows:
        merged = row
        if not table.whole(row) and rest > 1 and _absent_alike(row[table.stub :]):
            merged = row[: table.stub + 1]
        yield tuple(
            Laid(
                cell=cell,
                head=table.heads[index].full,
                span=rest if table.whole(merged) and index == table.stub else 1,
                number=not isinstance(cell, Mark) and table.numeric(index),
                name=index < table.stub,
            )
            for index, cell in enumerate(merged)
        )


def _absent_alike(cells: Sequence[Cell]) -> bool:
    """Whether all cells lack a number for the same reason."""
    numbers = [cell for cell in cells if isinstance(cell, Number) and not cell.bare and not cell.shown.measured]
    return len(numbers) == len(cells) and len({cell.shown.full for cell in numbers}) == 1


@dataclass(frozen=True, kw_only=True)
class Span:
    """A head above neighbouring columns."""

    above: str
    span: int


def _spans(heads: Sequence[Head]) -> tuple[Span, ...]:
    """Merge neighbouring heads under the same spanning head."""
    grouped = ((above, len(list(some))) for above, some in groupby(heads, key=lambda head: head.above))
    return tuple(Span(above=above, span=number) for above, number in grouped)


def _sign(mark: Mark) -> str:
    return mark.sign or SIGNS[mark.tone]


def _kind(cell: Cell) -> str:
    return "mark" if isinstance(cell, Mark) else "number" if isinstance(cell, Number) else "words"


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fireassay.reports.writers", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tools: dict[str, Callable[..., object]] = {
        "blocks_of": _blocks,
        "rows_of": _rows,
        "spans": _spans,
        "sign": _sign,
        "said": said,
        "kind": _kind,
    }
    environment.globals.update(tools, MANY=MANY, SHOWN=SHOWN)
    return environment.get_template("page.html")


WRITER = Writer(name="html", suffix=".html", summary="one self-contained page with charts", write=write)
