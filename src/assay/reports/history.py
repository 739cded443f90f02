"""How is a history shown?  As a table in the terminal, and as one self-contained page with a picture for each series."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import jinja2

from assay.estimates.format import count, show
from assay.printable import columns, printable
from assay.verdict.checking.history import History, rates


def to_text(found: Sequence[History]) -> str:
    """One table for each series: record, date, value, level and change."""
    if not found:
        return "no series: no comparable record holds a value\n"
    return printable("\n".join(_table(one) for one in found) + f"\n{rates(found)}\n")


def rows(one: History) -> list[tuple[str, str, str, str, str]]:
    """Date, record, value, interval, and what happened at this record."""
    marks = dict.fromkeys(one.outliers, "outlier: far off its level, and no part of it")
    marks |= {change.index: one.moved(change) for change in one.changes}
    found = []
    for place, point in enumerate(one.points):
        shown = show(point.value)
        date = point.created_utc[:19].replace("T", " ")
        found.append((date, point.label, shown.text, shown.interval, marks.get(place, "")))
    return found


def _table(one: History) -> str:
    lines = [("DATE (UTC)", "RECORD", "VALUE", "INTERVAL", "CHANGE"), *rows(one)]
    return "\n".join([head(one), *(f"  {line}" for line in columns(lines)), ""])


def head(one: History) -> str:
    """What the series shows, in one line."""
    said = "; ".join(f"{one.moved(c)} at record {c.index + 1} of {len(one.points)}{one.span(c)}" for c in one.certain) or (
        "no certain change" if one.p_adjusted is not None else f"{count(len(one.points), 'records')} are too few to ask for changes"
    )
    return f"{one.title} at {one.configuration}: {said}"


def page(found: Sequence[History], title: str) -> str:
    """The whole page as one HTML document: no script, no network; text from records is escaped."""
    from assay.reports.charts import svg
    from assay.reports.charts.history import draw

    pictures = [svg.picture(f"history-{place}", draw(one)) for place, one in enumerate(found)]
    shown = [{"head": head(one), "picture": picture, "rows": rows(one)} for one, picture in zip(found, pictures, strict=True)]
    return _template().render(title=title, series=shown, rates=rates(found))


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("assay.reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("history.html")
