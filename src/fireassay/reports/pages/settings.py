"""What does the page of the command line's settings show?

A row per setting: its value, where the value comes from, and what it decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fireassay.printable import one_line
from fireassay.reports.page import Page, Prose, Section, Table, heads

UNSET = "-"


def page(file: str, settings: Sequence[Mapping[str, Any]]) -> Page:
    """The settings in the order of their declaration; `file`: where the user's own are, or why none are read."""
    rows = tuple((row["name"], _text(row["value"]), one_line(row["source"]), row["about"]) for row in settings)
    table = Table(name="settings", heads=heads("Setting", "Value", "From", "Decides"), rows=rows)
    hint = Prose(text=f"Own defaults: {one_line(file)}. Conditions of a measurement belong into the experiment.")
    return Page(
        title="Settings", sections=(Section(key="settings", title="Defaults", content=(table, hint)),), properties={"verb": "config"}
    )


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return UNSET if value is None else one_line(str(value))
