"""In which format does a number stand in a workbook?

It is raw, in the unit of the record, and only formatted by Excel; nothing is rounded.  An end of an interval is shown with as many
decimals as Excel needs to show it outwards.
"""

from __future__ import annotations

import math
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.rounding import Way, rounded
from fireassay.reports.page import GENERAL, Cell, Figure

NUMBER_FORMATS: Final = {
    "fraction": "0.0000%",
    "count": "#,##0",
    "steps": "#,##0",
    "workers": "#,##0",
    "s": "0.000000",
    "1/s": "#,##0.00",
    "ratio": "0.0000",
    "score": "0.0000",
    "USD": "$0.000000",
    "USD/item": "$0.00000E+00",
    "USD/step": "$0.00000E+00",
    "items/USD": "#,##0",
    "J": "#,##0.00",
    "J/item": "0.00000E+00",
}
WAYS: Final[tuple[Way, ...]] = ("nearest", "down", "up")  # value, low, high
MORE_DECIMALS: Final = 15  # what a binary fraction has beyond a format's own


def ends(value: Estimate) -> list[Cell]:
    """Value, low and high as cells; words where the data bound a side not at all."""
    style = NUMBER_FORMATS.get(value.unit, GENERAL)
    single = value.n_launches <= 1
    words = ("no bound", *(("no interval: one launch",) * 2 if single else ("no lower bound", "no upper bound")))
    return [
        Figure(value=end, style=_outwards(style, end, way)) if math.isfinite(end) else word
        for end, word, way in zip((value.value, value.low, value.high), words, WAYS, strict=True)
    ]


def _outwards(style: str, end: float, way: Way) -> str:
    """The format with so many more decimals that Excel, which rounds to the nearest, shows a low end no higher and a high one no lower."""
    mantissa, exponent, power = style.partition("E")
    if way == "nearest" or style == GENERAL:
        return style
    whole, point, decimals = mantissa.rstrip("%").partition(".")
    size = math.floor(math.log10(abs(end))) if exponent and end else 0
    digits = len(decimals) + (2 if mantissa.endswith("%") else 0) - size
    more = next((d for d in range(MORE_DECIMALS) if rounded(end, digits + d) == rounded(end, digits + d, way)), 0)
    point = point or ("." if more else "")
    return f"{whole}{point}{decimals}{'0' * more}{'%' if mantissa.endswith('%') else ''}{exponent}{power}"
