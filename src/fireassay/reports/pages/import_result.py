"""What does the page of an import show?

The source of each record, contradictions in it, and the facts that it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fireassay.estimates.format import count
from fireassay.printable import one_line
from fireassay.reports.page import Block, Bullet, Bullets, Page, Prose, Section

CONFIGURATIONS: Final = 6  # named in the sentence
FAILURES: Final = {"requests": "failed", "answers": "not answered"}


def page(source: str, records: Sequence[Mapping[str, Any]]) -> Page:
    """The page of the records made from one file or folder, with the keys of their JSON."""
    sections = (
        Section(key=f"record-{number}", title=one_line(record["path"].rpartition("/")[2]), content=_blocks(record))
        for number, record in enumerate(records, 1)
    )
    return Page(
        title=f"Import of {one_line(source)}",
        sections=tuple(sections),
        footer=tuple(one_line(f"record: {record['path']}") for record in records),
        properties={"verb": "import"},
    )


def _blocks(record: Mapping[str, Any]) -> tuple[Block, ...]:
    failure = FAILURES.get(record["unit"], "with wrong data")
    totals = f"{count(record['requests'], record['unit'])} ({record['failed']:,} {failure})"
    contents = totals if record["has_requests"] else "totals only, no requests"
    more = " ..." if len(record["configurations"]) > CONFIGURATIONS else ""
    configurations = ", ".join(record["configurations"][:CONFIGURATIONS]) + more
    sentence = f"imported from {record['title']}: {contents} in {count(record['launches'], 'launches')} of {configurations}"
    pairs = [("contradiction in the file", text) for text in record["doubts"]] + [("not in the file", text) for text in record["missing"]]
    items = tuple(Bullet(title=title, text=one_line(text)) for title, text in pairs)
    return (Prose(text=one_line(sentence)), *((Bullets(items=items),) if items else ()))
