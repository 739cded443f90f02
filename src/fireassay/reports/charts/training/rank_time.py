"""Which share of the paid rank-seconds trained the model, and where did the rest go?"""

from __future__ import annotations

from typing import Final

from fireassay.estimates.format import percent
from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.reports.charts.chart import Drawing, Key, Missing, linear, rows_axis, stacked
from fireassay.reports.charts.marks import Look, Mark, Panel, Role
from fireassay.reports.series.training import Spent
from fireassay.reports.view import View

NAME = "goodput"
TITLE: Final = "Where the paid time went"
LEAST_SHARE: Final = 0.1  # per cent; smaller shares are too narrow to see; text and JSON hold them
PARTS: Final[tuple[tuple[str, Role, Look, tuple[str, ...]], ...]] = (  # name, colour, pattern, categories; left to right
    ("productive", "blue", "", ("productive",)),
    ("data stall", "plum", "", ("data_stall",)),
    ("exposed communication", "orange", "", ("exposed_communication",)),
    ("straggler wait", "orange", "wait", ("straggler_wait",)),
    ("checkpoint, evaluation", "teal", "", ("checkpoint", "evaluation")),
    ("start-up, compile", "gold", "", ("init", "compile")),
    ("detect, restart, reload", "fail", "", ("detect", "restart", "reload")),
    ("recomputed", "ink", "", ("recompute",)),
    ("idle, not explained", "grey", "rest", ("idle", "unknown")),
)


def draw(view: View) -> Drawing | Missing:
    """One bar per worker count, without and with a fault: shares of workers x wall time."""
    spent = view.series.spent
    if not spent:
        return Missing(title=TITLE, reason="Where the paid time went: not measured (no rank marked its steps).")
    marks: list[Mark] = []
    for index, bar in enumerate(spent):
        sums = [(part, role, look, sum(bar.shares[category] for category in categories)) for part, role, look, categories in PARTS]
        shares = ((role, look, f"{_name(view, bar)}, {part}", percent(share), 100.0 * share) for part, role, look, share in sums)
        marks += stacked(index, shares, LEAST_SHARE, series=False)
    used = {(getattr(bar, "role", ""), getattr(bar, "look", "")) for bar in marks}
    names = [_name(view, bar) for bar in spent]
    return Drawing(
        title=TITLE,
        panels=(Panel(x=linear(0, 100, "% of workers × wall time"), y=rows_axis(names), marks=tuple(marks)),),
        caption="Every rank-second of every launch is in one part; the launches of a bar are summed. Start-up is large where launches are short.",
        description=" ".join(_words(_name(view, bar), bar) for bar in spent),
        key=tuple(Key(mark="bar", role=role, look=look, text=part) for part, role, look, _ in PARTS if (role, look) in used),
        quantity="share of the paid rank-seconds, %",
    )


def _name(view: View, bar: Spent) -> str:
    return view.label(bar.configuration) + (", fault" if bar.role == "fault" else "")


def _words(name: str, bar: Spent) -> str:
    parts = ", ".join(
        f"{category.replace('_', ' ')} {100 * bar.shares[category]:.1f} %" for category in CATEGORIES if bar.shares[category] > 0
    )
    return f"{name}, {bar.launches} launch{'es' if bar.launches != 1 else ''}, {bar.rank_s:.4g} rank-seconds: {parts}."
