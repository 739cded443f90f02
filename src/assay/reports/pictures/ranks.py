"""Which rank is slow, and in which phase?"""

from __future__ import annotations

from typing import Final

from assay.metrics.format import reading, scale_for
from assay.reports import vega
from assay.reports.pictures.base import Drawing, Key, Missing, Rows, above, colour, number_axis, sized
from assay.reports.rank_series import PARTS, RankPhases
from assay.reports.view import View

TITLE: Final = "Phases of each rank"
ROLES: Final = {"data": "fourth", "forward": "main", "backward": "second", "optimizer": "third", "rest": "rest"}
NAMES: Final = {"data": "data wait", "rest": "not attributed"}


def draw(view: View) -> list[Drawing | Missing]:
    """One bar per rank of the largest worker count; nothing where there is one rank alone."""
    ranks = view.series.ranks
    if not ranks:
        return []
    scale = scale_for("s", tuple(one.step_s for one in ranks))
    names = [_name(one) for one in ranks]
    rows: Rows = []
    seen: dict[str, None] = {}
    for name, one in zip(names, ranks, strict=True):
        at = 0.0
        for part, length in _parts(one):
            if length > 0.0:
                seen[part] = None
                rows.append(
                    {
                        "y": name,
                        "from": at * scale.factor,
                        "to": (at + length) * scale.factor,
                        "role": colour(ROLES[part]),
                    }
                )
                at += length
    top = max(one.step_s for one in ranks) * scale.factor * 1.04
    x = vega.x(
        "from:Q",
        scale=vega.scale(domain=[0, top], nice=False),
        axis=number_axis(title=f"time per step, {scale.label}", grid=False),
    )
    y = vega.y(
        "y:N", sort=names, scale=vega.scale(domain=names, paddingInner=0.3), axis=vega.axis(title=None, grid=False)
    )
    bars = vega.chart(rows).mark("bar", stroke=colour("paper"), strokeWidth=1)
    chart = bars.encode(x=x, x2="to:Q", y=y, color=vega.color("role:N", scale=None, legend=None))
    label = view.label(ranks[0].configuration)
    return [Drawing(
        title=TITLE, chart=sized(chart.properties(title=above(f"{label}, medians of steady steps")), 70 + 30 * len(ranks)),
        caption="In a synchronous training every rank's step is as long as the slowest's: compare the phases, and the waiting inside of backward.",
        description=" ".join(_words(name, one) for name, one in zip(names, ranks, strict=True)),
        key=tuple(Key(mark="bar", role=role, text=NAMES.get(part, part)) for part, role in ROLES.items() if part in seen),
    )]  # fmt: skip


def _parts(one: RankPhases) -> list[tuple[str, float]]:
    known = [(part, length or 0.0) for part, length in zip(PARTS, one.parts_s, strict=True)]
    return [*known, ("rest", max(0.0, one.step_s - sum(length for _, length in known)))]


def _name(one: RankPhases) -> str:
    return f"rank {one.rank}{f', {one.place}' if one.place else ''}"


def _words(name: str, one: RankPhases) -> str:
    parts = ", ".join(f"{NAMES.get(part, part)} {reading(length, 's')}" for part, length in _parts(one) if length > 0.0)
    return f"{name}: {reading(one.step_s, 's')}: {parts}."
