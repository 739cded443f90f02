"""How do the headline metrics compare side by side?

The 2 x 4 panel, once per condition that the record varies: engine, scenario, load.
"""

from __future__ import annotations

from dataclasses import replace

from fireassay.reports.charts.loads import conditions, panel_by
from fireassay.reports.page import Page, RecordPage, Section
from fireassay.reports.view import View


def page(view: View) -> Page:
    """The panels of a load."""
    charts = tuple(replace(panel_by(by, view), name=f"panel-{by}") for by in conditions(view))
    return Page(title=view.name, lead=view.sentence, sections=(Section(key="panels", title="Headline metrics", content=charts),))


PAGE = RecordPage(name="panel", summary="headline metrics over the load, by engine, scenario and load", page=page, writer="html")
