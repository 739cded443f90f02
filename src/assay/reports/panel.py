"""How do eight numbers look beside each other?  One page with the 2 x 4 panel, once by each condition that the record varies.

By engine, by scenario and by load, as far as there are several of them.  The page is self-contained, as the HTML report is.
"""

from __future__ import annotations

import jinja2

from assay.printable import printable
from assay.reports.base import Report
from assay.reports.view import View

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,"><title>{{ view.name }}: eight numbers – assay</title>
<style>{% include "report.css" %}</style></head>
<body><header class="banner"><div><h1>{{ view.name }}</h1><p class="sentence">{{ view.sentence }}</p></div></header>
<main><div class="pictures">
{% for picture in pictures %}<figure class="card"><h3>{{ picture.title }}</h3>
{% if picture.svg %}{{ picture.svg | safe }}<ul class="key">{% for entry in picture.key %}<li>{{ entry.text }}</li>{% endfor %}</ul>
<figcaption>{{ picture.caption }}<details class="fold"><summary>In words</summary>{{ picture.description }}</details></figcaption>
{% else %}<figcaption class="absent">{{ picture.absent }}</figcaption>{% endif %}</figure>
{% endfor %}</div></main></body></html>
"""


def render(view: View) -> str:
    """The whole page as one HTML document."""
    from assay.reports.charts.serving.panel import conditions, draw
    from assay.reports.charts.svg import picture

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("assay.reports", "templates"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    drawn = [picture(f"panel-{by}", draw(view, by)) for by in conditions(view)]
    return printable(environment.from_string(_PAGE).render(view=view, pictures=drawn))


REPORT = Report(name="panel", suffix="-panel.html", summary="eight numbers over the load, by engine, scenario and load", render=render)
