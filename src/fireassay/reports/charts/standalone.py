"""How does a chart stand alone, outside of a page?  One SVG document of fixed width, with its own light colours and no style from elsewhere.

Programs that draw SVG without a browser know neither variables nor `light-dark()`, so every colour is written out.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Final, get_args

from fireassay.reports.charts.marks import Role
from fireassay.reports.charts.svg import Picture

WIDTH: Final = 640
MARGIN: Final = 12
COLOUR: Final = re.compile(r"--([\w-]+):\s*(?:light-dark\(\s*)?(#[0-9a-fA-F]{3,8})\b")
HEIGHT: Final = re.compile(r'<svg class="ch" height="(\d+(?:\.\d+)?)"')
LOOKS: Final = """text{font:12px sans-serif;fill:SOFT}.v{font-weight:600;font-size:13px;fill:INK}.row{font-size:13px;fill:INK}
.cell{font-size:11px;fill:INK}.cell.on{fill:PAPER}.g{stroke:GRID}.g0{stroke:LINE}.e{fill:none;stroke-width:2}.e.dashed,.e.thin{stroke-width:1.4}
.raw{opacity:.42}.raw.ring{fill:none;stroke-width:1.5;opacity:.85}.hit,.halo{fill:none;stroke:none}.hollow{fill:PAPER!important;stroke-width:2}
.ln{fill:none;stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round}.ln.thin{stroke-width:1.4}.dashed{stroke-dasharray:5 4}
.faint{opacity:.4}.tint.band{opacity:.14}.bk{stroke:PAPER;stroke-width:1}.f.wait{fill:url(#wait)}.f.rest{fill:url(#rest)}
.tx-pass{fill:PASS}.tx-open{fill:OPEN}.tx-fail{fill:FAIL}"""
PATTERNS: Final = (
    '<defs><pattern id="wait" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path fill="ORANGE" d="M0 0h3v6H0z"/></pattern>'
    '<pattern id="rest" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">'
    '<path fill="GREY" d="M0 0h1.6v5H0z"/></pattern></defs>'
)


def alone(picture: Picture) -> str:
    """The panels of a chart's first view, one below the other."""
    at, panels = float(MARGIN), []
    for svg in picture.views[0].svg:
        found = HEIGHT.match(svg)
        assert found is not None
        panels.append(svg.replace("<svg ", f'<svg x="{MARGIN}" y="{at:g}" width="{WIDTH - 2 * MARGIN}" overflow="visible" ', 1))
        at += float(found[1]) + MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{at:g}" viewBox="0 0 {WIDTH} {at:g}">'
    paper = f'<rect width="100%" height="100%" fill="{light_colours()["paper"]}"/>'
    return f"{head}<style>{_style()}</style>{_coloured(PATTERNS)}{paper}{''.join(panels)}</svg>"


@cache
def light_colours() -> dict[str, str]:
    """Role -> colour on a light page."""
    style = resources.files("fireassay.reports.writers").joinpath("templates", "report.css").read_text(encoding="utf-8")
    return dict(reversed(COLOUR.findall(style)))


@cache
def _style() -> str:
    """Strokes and fills of every role, then what is common to all."""
    colours = light_colours()
    roles = "".join(
        f".c-{role} .e,.c-{role} .ln,.c-{role} .ring,.c-{role} .hollow{{stroke:{colours[role]}}}"
        f".c-{role} .d,.c-{role} .f,.c-{role} .raw,.c-{role} .tint{{fill:{colours[role]}}}"
        for role in get_args(Role)
    )
    return roles + _coloured(LOOKS)


def _coloured(text: str) -> str:
    for name in ("soft", "ink", "paper", "grid", "line", "orange", "grey", "pass", "open", "fail"):
        text = re.sub(rf"\b{name.upper()}\b", light_colours()[name], text)
    return text
