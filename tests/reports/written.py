"""A view as a writer writes it."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import openpyxl

from fireassay import catalog
from fireassay.reports.documents import record as document
from fireassay.reports.view import View


def written(view: View, name: str, *, page: str = "record", full: bool = True, **more: Any) -> str:
    """One page in one format of text, whole or only its answer."""
    shown = replace(catalog.load("reports.pages", page).page(view), full=full)
    return str(catalog.load("reports.writers", name).write(shown, **more))


def content(view: View, name: str) -> str | bytes:
    """The record in any format, JSON too."""
    if name == "json":
        return document.render(view)
    shown = replace(catalog.load("reports.pages", "record").page(view), full=True)
    made: str | bytes = catalog.load("reports.writers", name).write(shown)
    return made


def book(view: View) -> Any:
    """The workbook as openpyxl reads it."""
    made = content(view, "excel")
    assert isinstance(made, bytes)
    return openpyxl.load_workbook(io.BytesIO(made))


def rows(book: Any, name: str) -> list[dict[str, Any]]:
    """A sheet, row by row, by the heads of its columns."""
    head, *lines = book[name].iter_rows(values_only=True)
    return [dict(zip(head, line, strict=True)) for line in lines]
