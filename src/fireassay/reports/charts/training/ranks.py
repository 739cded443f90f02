"""Which rank is slow, and in which phase?"""

from __future__ import annotations

from typing import Final

from fireassay.estimates.format import reading, scale_for
from fireassay.reports.charts.chart import Drawing, Missing, above, bars, horizontal, segments, sized, used
from fireassay.reports.series.ranks import PARTS, RankPhases
from fireassay.reports.view import View

NAME = "ranks"
TITLE: Final = "Phases of each rank"
EXPOSED: Final = "exposed"
ROLES: Final = {"data": "fourth", "forward": "main", "backward": "second", EXPOSED: "fifth", "optimizer": "third", "rest": "rest"}
NAMES: Final = {"data": "data wait", EXPOSED: "exposed communication", "rest": "not attributed"}


def draw(view: View) -> list[Drawing | Missing]:
    """One bar per rank of the largest worker count; empty with a single rank."""
    ranks = view.series.ranks
    if not ranks:
        return []
    scale = scale_for("s", tuple(rank.step_s for rank in ranks))
    names = [_name(rank) for rank in ranks]
    rows = [
        row
        for name, rank in zip(names, ranks, strict=True)
        for row in segments(name, ((ROLES[part], length) for part, length in _parts(rank)), scale.factor)
    ]
    x = horizontal(0, max(row["to"] for row in rows) * 1.04, f"time per step, {scale.label}", grid=False)
    chart = bars(rows, names, x("from"))
    return [
        Drawing(
            title=TITLE,
            chart=sized(chart.properties(title=above(_above(view, ranks))), 70 + 30 * len(ranks)),
            caption=_caption(ranks),
            description=" ".join(_words(name, rank) for name, rank in zip(names, ranks, strict=True)),
            key=used(rows, ((role, NAMES.get(part, part)) for part, role in ROLES.items())),
        )
    ]


def _above(view: View, ranks: tuple[RankPhases, ...]) -> str:
    label, some = view.label(ranks[0].configuration), len(ranks) < ranks[0].of
    return f"{label}{f', {len(ranks)} from fast to slow' if some else ''}; medians"


def _caption(ranks: tuple[RankPhases, ...]) -> str:
    if any(rank.exposed_s is None for rank in ranks):
        return (
            "Steady steps. In a synchronous training every rank's step is as long as the slowest's. Waiting for other ranks was not recorded: "
            "it is part of the phases, mostly of backward."
        )
    return (
        "Steady steps. In a synchronous training every rank's step is as long as the slowest's: a slow rank has the longest phases, and the others "
        "wait for it in exposed communication."
    )


def _parts(rank: RankPhases) -> list[tuple[str, float]]:
    """Parts in step order; exposed communication is subtracted from the phases that contain it."""
    known = dict(zip(PARTS, (length or 0.0 for length in rank.parts_s), strict=True))
    known[EXPOSED] = rank.exposed_s or 0.0
    known["rest"] = max(0.0, rank.step_s - sum(known.values()))
    return [(part, known[part]) for part in ROLES]


def _name(rank: RankPhases) -> str:
    return f"rank {rank.rank}{f', {rank.place}' if rank.place else ''}"


def _words(name: str, rank: RankPhases) -> str:
    parts = ", ".join(f"{NAMES.get(part, part)} {reading(length, 's')}" for part, length in _parts(rank) if length > 0.0)
    return f"{name}: {reading(rank.step_s, 's')}: {parts}."
