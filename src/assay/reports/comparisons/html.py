"""What does a person read who was sent a comparison?  One self-contained page: no network, no script, no external font.

Everything from the records is untrusted text: jinja2 escapes it, only our own SVG is inserted as it is.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import jinja2

from assay.reports.comparisons.view import ComparisonView

# tone or standing -> the colours of the record's page, and a sign so that nothing is said by colour alone
STATUS: Final = {
    "good": "PASS",
    "bad": "FAIL",
    "open": "INCONCLUSIVE",
    "struck": "NOT_MEASURED",
    "refuses": "FAIL",
    "forced": "INCONCLUSIVE",
    "studied": "PASS",
    "noted": "NOT_MEASURED",
    "compared": "PASS",
    "exploratory": "INCONCLUSIVE",
    "incomparable": "FAIL",
    "nothing_measured": "FAIL",
}
SIGNS: Final = {"PASS": "●", "FAIL": "✕", "INCONCLUSIVE": "?", "NOT_MEASURED": "–"}


def render(view: ComparisonView) -> str:
    """The whole page as one HTML document."""
    from assay.reports.charts import svg
    from assay.reports.comparisons import forest

    picture = svg.picture("forest", forest.draw(view))
    return _template().render(view=view, picture=picture, status=STATUS, signs=SIGNS)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("assay.reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("comparison.html")
