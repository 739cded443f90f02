"""In which format is a number written to a workbook?

Raw, in the unit of the record; only Excel formats it, and nothing is rounded.  An end of an interval gets as many decimals as Excel
needs to round it outwards.
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
MORE_DECIMALS: Final = 15  # decimals of a binary fraction beyond those of a format


def ends(value: Estimate) -> list[Cell]:
    """Value, low and high as cells; words for a side that the data do not bound."""
    style = NUMBER_FORMATS.get(value.unit, GENERAL)
    single = value.n_launches <= 1
    words = ("no bound", *(("no interval: one launch",) * 2 if single else ("no lower bound", "no upper bound")))
    return [
        Figure(value=end, style=_outwards(style, end, way)) if math.isfinite(end) else word
        for end, word, way in zip((value.value, value.low, value.high), words, WAYS, strict=True)
    ]


def _outwards(style: str, end: float, way: Way) -> str:
    """The format with enough further decimals that Excel, which rounds to nearest, shows no low end higher and no high end lower."""
    mantissa, exponent, power = style.partition("E")
    if way == "nearest" or style == GENERAL:
        return style
    whole, point, decimals = mantissa.rstrip("%").partition(".")
    size = math.floor(math.log10(abs(end))) if exponent and end else 0
    digits = len(decimals) + (2 if mantissa.endswith("%") else 0) - size
    more = next((d for d in range(MORE_DECIMALS) if rounded(end, digits + d) == rounded(end, digits + d, way)), 0)
    point = point or ("." if more else "")
    return f"{whole}{point}{decimals}{'0' * more}{'%' if mantissa.endswith('%') else ''}{exponent}{power}"
