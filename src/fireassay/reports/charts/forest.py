"""Which metrics changed, by how much, and which changes are too small to matter?

A forest plot of ratios.
"""

from __future__ import annotations

import math

from fireassay.estimates.format import given
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import Drawing, Key, Missing, Rows, colour, horizontal, level, markers, sized
from fireassay.reports.rows.comparison import ChangeRow, ComparisonView

TITLE = "Changes against the first side"
MOST = 100.0  # per cent; an interval end beyond it is drawn at the edge, without a cap
ROW_HEIGHT = 34


def draw(view: ComparisonView) -> Drawing | Missing:
    """Ratios with intervals at the deciding configuration, with the equivalence band."""
    rows = [row for row in view.deciding if row.change.ratio is not None and (row.primary or row.shown)]
    if not rows:
        return Missing(title=TITLE, reason="No metric has a ratio with an interval here.")
    band = view.equivalence * 100.0
    low, high = _reach(rows, band)
    names = [_label(row, view) for row in rows]
    groups = [_rows([row for row in rows if row.struck == struck_out], view, low, high) for struck_out in (False, True)]
    x = horizontal(low, high, f"change against {view.sides[0]}, %")
    y = vega.y("label:N", sort=names, axis=vega.axis(title=None, labelLimit=190, grid=False))
    inside = vega.chart([{"from": -band / (1 + band / 100), "to": band}]).mark("rect", opacity=0.25, color=colour("band"))
    none = vega.chart([{"at": 0}]).mark("rule", strokeWidth=1, color=colour("muted"))
    layers = [inside.encode(x=x("from"), x2="to:Q"), none.encode(x=x("at"))]
    for group, role in zip(groups, ("main", "rest"), strict=True):
        if group:
            base = vega.chart(group)
            layers += [*level(base, x, y, role), *markers(base, x("value"), y, role)]
    further = "; without a cap, it continues" if any(row["cut"] for group in groups for row in group) else ""
    keys = [Key(mark="point", role="main", text=f"change, bar: {view.confidence} interval{further}")]
    keys += [Key(mark="point", role="rest", text="struck out")] if groups[1] else []
    keys.append(Key(mark="band", role="band", text=f"equivalent: within {given(band)} %"))
    caption = "An interval that leaves the band and excludes 0 is a change. " + (view.word if view.exploratory else "")
    return Drawing(
        title=TITLE,
        chart=sized(vega.layer(*layers), 70 + ROW_HEIGHT * len(rows)),
        caption=caption.strip(),
        description=" ".join(f"{row.sentence}." for row in rows),
        key=tuple(keys),
    )


def _reach(rows: list[ChangeRow], band: float) -> tuple[float, float]:
    """Axis limits: all values, and finite interval ends within MOST."""
    ends = [-band * 1.5, band * 1.5]
    for row in rows:
        change = row.change
        finite = [end for end in (change.low, change.high) if end is not None and math.isfinite(end)]
        ends += [min(max(100.0 * (end - 1.0), -MOST), MOST) for end in finite]
        ends.append(100.0 * ((change.ratio or 1.0) - 1.0))
    room = 0.06 * (max(ends) - min(ends))
    return min(ends) - room, max(ends) + room


def _rows(rows: list[ChangeRow], view: ComparisonView, low: float, high: float) -> Rows:
    result: Rows = []
    for row in rows:
        change = row.change
        ends = [100.0 * (bound - 1.0) for bound in (change.low or 0.0, change.high if change.high is not None else math.inf)]
        bounded = all(math.isfinite(end) for end in ends)
        value = 100.0 * ((change.ratio or 1.0) - 1.0)
        shown = (max(ends[0], low), min(ends[1], high)) if bounded else (value, value)
        result.append(
            {
                "label": _label(row, view),
                "value": value,
                "low": shown[0],
                "high": shown[1],
                "hollow": not bounded,
                "cut": bounded and ends[1] > high,
            }
        )
    return result


def _label(row: ChangeRow, view: ComparisonView) -> str:
    return row.title if len(view.sides) == 2 else f"{row.title}, {row.side}"
