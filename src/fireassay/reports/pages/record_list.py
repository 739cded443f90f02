"""What does the page of a list of records show?

A row per record, then the problem of each damaged one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fireassay.estimates.format import reading, scale_for
from fireassay.printable import one_line
from fireassay.reports.page import Block, Bullet, Bullets, Case, Cell, Figure, Mark, Outcome, Page, Prose, Section, Table, Tone, heads

Entries = Sequence[Mapping[str, Any]]
TONES: dict[str, Tone] = {"complete": "good", "damaged": "bad", "failed": "bad", "interrupted": "open"}


def of_folder(folder: str, entries: Entries) -> Page:
    """The records below a folder, newest first."""
    rows = tuple(
        (
            *_common_cells(entry, entry["date"]),
            "-" if entry["launches_planned"] is None else f"{entry['launches_done']}/{entry['launches_planned']}",
            Figure(value=entry["bytes"], text=reading(entry["bytes"], "B", scale_for("B", [entry["bytes"]]))),
        )
        for entry in entries
    )
    damaged = tuple(
        Bullet(title=one_line(entry["folder"].rpartition("/")[2]), text=one_line(entry["reason"]))
        for entry in entries
        if entry["state"] == "damaged"
    )
    page = _page(folder, rows, ("Launches", "Size"), "`assay run` makes a record", *((Bullets(items=damaged),) if damaged else ()))
    return replace(page, cases=tuple(map(_case, entries)))


def of_store(store: str, entries: Entries) -> Page:
    """The records of a store, newest first."""
    rows = tuple(
        (*_common_cells(entry, entry["created_utc"]), one_line(entry["plan_signature"]) or "-", one_line(entry["folder"]))
        for entry in entries
    )
    return _page(store, rows, ("Plan", "Folder"), "`assay check --push` adds records")


def _common_cells(entry: Mapping[str, Any], date: str) -> tuple[Cell, ...]:
    """Name, id, date and state."""
    when = one_line(date[:19].replace("T", " "))
    state = one_line(entry["state"])
    return one_line(entry["name"]), one_line(entry["id"]) or "-", when or "-", Mark(word=state, tone=TONES.get(state, "plain"))


def _case(entry: Mapping[str, Any]) -> Case:
    outcome: Outcome = "failure" if entry["state"] == "damaged" else "passed"
    return Case(name=one_line(entry["folder"]), group="list", outcome=outcome, kind=entry["state"], text=one_line(entry["reason"]))


def _page(source: str, rows: tuple[tuple[Cell, ...], ...], columns: tuple[str, str], advice: str, *problems: Block) -> Page:
    table = Table(name="records", heads=heads("Name", "ID", "Date (UTC)", "State", *columns), rows=rows)
    content = (table, *problems) if rows else (Prose(text=f"{advice}."),)
    section = Section(key="records", title="Newest first" if rows else "No records", content=content)
    return Page(title=f"Records in {one_line(source)}", sections=(section,), properties={"verb": "list"})
