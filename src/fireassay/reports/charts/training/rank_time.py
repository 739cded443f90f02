"""Which share of the paid rank-seconds trained the model, and where did the rest go?"""

from __future__ import annotations

from typing import Final

from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import Drawing, Key, Missing, Rows, above, colour, number_axis, sized
from fireassay.reports.series.training import Spent
from fireassay.reports.view import View

NAME = "goodput"
TITLE: Final = "Where the paid time went"
LEAST_SHARE: Final = 0.001  # smaller shares are too narrow to see; text and JSON hold them
PARTS: Final = (  # name, colour, categories; left to right
    ("productive", "main", ("productive",)),
    ("data stall", "fourth", ("data_stall",)),
    ("exposed communication", "fifth", ("exposed_communication",)),
    ("straggler wait", "second", ("straggler_wait",)),
    ("checkpoint, evaluation", "sixth", ("checkpoint", "evaluation")),
    ("start-up, compile", "third", ("init", "compile")),
    ("detect, restart, reload", "bad", ("detect", "restart", "reload")),
    ("done again", "ink", ("recompute",)),
    ("idle, not explained", "rest", ("idle", "unknown")),
)


def draw(view: View) -> Drawing | Missing:
    """One bar per worker count, without and with a fault: shares of workers x wall time."""
    spent = view.series.spent
    if not spent:
        return Missing(title=TITLE, reason="Where the paid time went: not measured (no rank marked its steps).")
    names = [_name(view, bar) for bar in spent]
    rows: Rows = []
    seen: dict[str, None] = {}
    for name, bar in zip(names, spent, strict=True):
        at = 0.0
        for part, role, categories in PARTS:
            share = sum(bar.shares[category] for category in categories)
            if share >= LEAST_SHARE:
                seen[part] = None
                rows.append({"y": name, "from": 100 * at, "to": 100 * (at + share), "role": colour(role)})
            at += share
    x = vega.x("from:Q", scale=vega.scale(domain=[0, 100], nice=False), axis=number_axis(title="% of workers × wall time", grid=False))
    y = vega.y("y:N", sort=names, scale=vega.scale(domain=names, paddingInner=0.35), axis=vega.axis(title=None, grid=False))
    bars = vega.chart(rows).mark("bar", stroke=colour("paper"), strokeWidth=1)
    chart = bars.encode(x=x, x2="to:Q", y=y, color=vega.color("role:N", scale=None, legend=None))
    return Drawing(
        title=TITLE,
        chart=sized(chart.properties(title=above("share of the paid rank-seconds")), 60 + 44 * len(names)),
        caption="Every rank-second of every launch is in one part; the launches of a bar are summed. Start-up is large where launches are short.",
        description=" ".join(_words(name, bar) for name, bar in zip(names, spent, strict=True)),
        key=tuple(Key(mark="bar", role=role, text=part) for part, role, _ in PARTS if part in seen),
    )


def _name(view: View, bar: Spent) -> str:
    return view.label(bar.configuration) + (", fault" if bar.role == "fault" else "")


def _words(name: str, bar: Spent) -> str:
    parts = ", ".join(
        f"{category.replace('_', ' ')} {100 * bar.shares[category]:.1f} %" for category in CATEGORIES if bar.shares[category] > 0
    )
    return f"{name}, {bar.launches} launch{'es' if bar.launches != 1 else ''}, {bar.rank_s:.4g} rank-seconds: {parts}."
