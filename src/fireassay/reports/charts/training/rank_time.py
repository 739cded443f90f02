"""Which share of the paid rank-seconds trained the model, and where did the rest go?"""

from __future__ import annotations

from typing import Final

from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.reports.charts.chart import Drawing, Missing, Rows, above, bars, horizontal, segments, sized, used
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
    ("recomputed", "ink", ("recompute",)),
    ("idle, not explained", "rest", ("idle", "unknown")),
)


def draw(view: View) -> Drawing | Missing:
    """One bar per worker count, without and with a fault: shares of workers x wall time."""
    spent = view.series.spent
    if not spent:
        return Missing(title=TITLE, reason="Where the paid time went: not measured (no rank marked its steps).")
    names = [_name(view, bar) for bar in spent]
    rows: Rows = []
    for name, bar in zip(names, spent, strict=True):
        shares = ((role, sum(bar.shares[category] for category in categories)) for _, role, categories in PARTS)
        rows += segments(name, shares, 100.0, LEAST_SHARE)
    chart = bars(rows, names, horizontal(0, 100, "% of workers × wall time", grid=False)("from"), padding=0.35)
    return Drawing(
        title=TITLE,
        chart=sized(chart.properties(title=above("share of the paid rank-seconds")), 60 + 44 * len(names)),
        caption="Every rank-second of every launch is in one part; the launches of a bar are summed. Start-up is large where launches are short.",
        description=" ".join(_words(name, bar) for name, bar in zip(names, spent, strict=True)),
        key=used(rows, ((role, part) for part, role, _ in PARTS)),
    )


def _name(view: View, bar: Spent) -> str:
    return view.label(bar.configuration) + (", fault" if bar.role == "fault" else "")


def _words(name: str, bar: Spent) -> str:
    parts = ", ".join(
        f"{category.replace('_', ' ')} {100 * bar.shares[category]:.1f} %" for category in CATEGORIES if bar.shares[category] > 0
    )
    return f"{name}, {bar.launches} launch{'es' if bar.launches != 1 else ''}, {bar.rank_s:.4g} rank-seconds: {parts}."
