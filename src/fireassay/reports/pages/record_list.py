"""What do the pages of a list of records and of an import show?

A row per record, the problem of each damaged one, and how many records there are; of an import the source of each record, doubts about
it, and the facts that it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from fireassay.estimates.format import count
from fireassay.printable import one_line, shell_word, some
from fireassay.reports.page import Block, Bullet, Bullets, Case, Cell, Figure, Mark, Outcome, Page, Prose, Section, Table, Tone, heads

Entries = Sequence[Mapping[str, Any]]
TONES: Final[dict[str, Tone]] = {"complete": "good", "damaged": "bad", "failed": "bad", "interrupted": "open"}
AGES: Final = ((60.0, "min", 3600.0), (3600.0, "h", 86_400.0), (86_400.0, "d", float("inf")))  # unit in seconds, its name, up to
FILTERS: Final = "--all, --kind, --verdict, --workload, --json"


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A row of the list."""

    record: str
    name: str
    kind: str
    verdict: str  # in capitals; in lower case the state of a record without a verdict
    tone: Tone
    headline: str
    created: str
    age_s: float | None
    problem: str = ""  # of a damaged record
    judged: bool = False


def of_folder(folder: str, rows: Sequence[Listed], total: int, choices: str = "", inside: Mapping[str, int] = MappingProxyType({})) -> Page:
    """Some of the `total` records below a folder, the newest first; `choices` is shown if none fits, `inside`, subfolders with their number of
    records, if there is none."""
    if not total and inside:
        ways = "; ".join(
            f"{count(found, 'records')} of {one_line(name)}: `assay list {shell_word(f'{folder}/{name}')}`"
            for name, found in inside.items()
        )
        return _page(folder, Prose(text=f"No records of its own. {ways}."))
    if not total:
        return _page(folder, Prose(text="No records: `assay run` makes a record."))
    table = Table(name="records", heads=heads("AGE", "RECORD", "KIND", "VERDICT", "HEADLINE"), rows=tuple(map(_row, rows)), stub=2)
    problems = tuple(Bullet(title=one_line(row.record), text=one_line(row.problem)) for row in rows if row.problem)
    shown = count(total, "records") if len(rows) == total else f"{len(rows)} of {count(total, 'records')}"
    if not rows:
        return _page(folder, Prose(text=f"No record of {total} fits. Found {one_line(choices)}."))
    last = Prose(text=f"{shown}, newest first; {FILTERS}", weight="quiet")
    blocks = (table, *((Bullets(items=problems),) if problems else ()), last)
    return _page(folder, *blocks, cases=tuple(map(_case, rows)))


def _row(row: Listed) -> tuple[Cell, ...]:
    mark = Mark(word=one_line(row.verdict), tone=row.tone)
    return age(row.age_s), one_line(row.record), one_line(row.kind), mark, one_line(row.headline)


def age(seconds: float | None) -> Cell:
    """An age in its largest whole unit: "3 min", "6 d"."""
    if seconds is None:
        return "-"
    if seconds < 60.0:
        return Figure(value=seconds, text=f"{seconds:.0f} s")
    size, name = next((size, name) for size, name, end in AGES if seconds < end)
    return Figure(value=seconds, text=f"{seconds // size:.0f} {name}")


def of_store(store: str, entries: Entries) -> Page:
    """The records of a store, newest first."""
    if not entries:
        return _page(store, Prose(text="No records: `assay check --push` adds records."))
    table = Table(name="records", heads=heads("Name", "ID", "Date (UTC)", "State", "Plan", "Folder"), rows=tuple(map(_stored, entries)))
    return _page(store, table)


def _stored(entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    when = one_line(entry["created_utc"][:19].replace("T", " "))
    state = one_line(entry["state"])
    mark = Mark(word=state, tone=TONES.get(state, "plain"))
    return (
        one_line(entry["name"]),
        one_line(entry["id"]) or "-",
        when or "-",
        mark,
        one_line(entry["plan_signature"]) or "-",
        one_line(entry["folder"]),
    )


def _case(row: Listed) -> Case:
    outcome: Outcome = "failure" if row.problem else "passed"
    return Case(name=one_line(row.record), group="list", outcome=outcome, kind=row.verdict, text=one_line(row.problem))


def _page(source: str, *blocks: Block, cases: tuple[Case, ...] = ()) -> Page:
    section = Section(key="records", title="", content=blocks)
    return Page(title=f"Records in {one_line(source)}", sections=(section,), cases=cases, properties={"verb": "list"})


# ---- an import -------------------------------------------------------------------------------------------------------


CONFIGURATIONS: Final = 6  # named in the sentence
FAILURES: Final = {"requests": "failed", "answers": "not answered", "trials": "failed"}


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
    configurations = some(record["configurations"], CONFIGURATIONS)
    sentence = f"imported from {record['title']}: {contents} in {count(record['launches'], 'launches')} of {configurations}"
    pairs = [("doubt", text) for text in record["doubts"]] + [("not in the file", text) for text in record["missing"]]
    items = tuple(Bullet(title=title, text=one_line(text)) for title, text in pairs)
    return (Prose(text=one_line(sentence)), *((Bullets(items=items),) if items else ()))
