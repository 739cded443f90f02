"""How does a drawing become SVG that follows the page's light or dark colours, without network access?

vl-convert turns the Vega-Lite specification into SVG. Placeholder colours become CSS variables, the fixed size becomes a view box, and
a title and a description are added for screen readers. If data are absent, a sentence gives the reason instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from fireassay.printable import printable
from fireassay.reports.charts.chart import FONT_SIZE, PLACEHOLDERS, Drawing, Key, Missing, colour
from fireassay.reports.charts.converter import CONVERT

# Text is laid out in a monospaced font, wider than the page's own, so that no label is clipped whatever fonts the
# machine has. The attribute is then removed, so that the page's font applies.
MEASURING_FONT: Final = "monospace"

CONFIG: Final[dict[str, Any]] = {
    "background": None,
    "font": MEASURING_FONT,
    "padding": {"left": 2, "right": 8, "top": 2, "bottom": 2},
    "view": {"stroke": None},
    "axis": {
        "labelColor": colour("muted"),
        "titleColor": colour("muted"),
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelPadding": 6,
        "gridColor": colour("grid"),
        "domain": False,
        "ticks": False,
        "labelLimit": 160,
        "titleLimit": 0,
    },
    "axisX": {"domain": True, "domainColor": colour("grid"), "labelFlush": False},
    "title": {"limit": 0},
}


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A finished chart, or the sentence instead of it."""

    name: str
    title: str
    svg: str  # empty if `absent` is set
    absent: str
    caption: str = ""
    description: str = ""
    key: tuple[Key, ...] = ()


def picture(name: str, drawing: Drawing | Missing) -> Picture:
    """A drawing as SVG for a page; `name` becomes part of its ids."""
    return begun(name, drawing)()


def begun(name: str, drawing: Drawing | Missing) -> Callable[[], Picture]:
    """Start a chart and return a function that finishes it, so that the next one can be laid out meanwhile."""
    if isinstance(drawing, Missing):
        absent = Picture(name=name, title=drawing.title, svg="", absent=drawing.reason)
        return lambda: absent
    drawn = CONVERT.get()(_printable(drawing.chart.whole(CONFIG)))

    def finished() -> Picture:
        svg = _accessible(_themed(drawn()), name, drawing.title, drawing.description)
        return Picture(
            name=name,
            title=drawing.title,
            svg=printable(svg),
            absent="",
            caption=drawing.caption,
            description=drawing.description,
            key=drawing.key,
        )

    return finished


def _printable(node: Any) -> Any:
    """The specification without control characters: one in a host name crashes the renderer, and with it this process."""
    if isinstance(node, str):
        return node if node.isprintable() else printable(node)
    if isinstance(node, dict):
        return {key: _printable(value) for key, value in node.items()}
    return [_printable(item) for item in node] if isinstance(node, (list, tuple)) else node


def _themed(svg: str) -> str:
    """Replace placeholders by CSS variables; drop font and fixed size."""
    for role, placeholder in PLACEHOLDERS.items():
        svg = svg.replace(placeholder, f"var(--{role})")
    svg = svg.replace(f' font-family="{MEASURING_FONT}"', "")
    svg = re.sub(r' (aria-(?!hidden)[a-z]+|role)="[^"]*"', "", svg)  # screen readers use the description instead
    return re.sub(r'^(<svg [^>]*?) width="[\d.]+" height="[\d.]+"', r"\1", svg, count=1)


def _accessible(svg: str, name: str, title: str, description: str) -> str:
    head, _, rest = svg.partition(">")
    ids = f"{name}-title {name}-desc"
    words = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
    return f'{head} role="img" aria-labelledby="{ids}">{words}{rest}'
