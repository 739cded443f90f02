"""Which rank is slow, and in which phase?"""

from __future__ import annotations

from typing import Final

from fireassay.estimates.format import reading, scale_for
from fireassay.reports.charts.chart import Drawing, Key, Missing, linear, rows_axis, stacked
from fireassay.reports.charts.marks import Look, Mark, Panel, Role
from fireassay.reports.series.ranks import PARTS, RankPhases
from fireassay.reports.view import View

NAME = "ranks"
TITLE: Final = "Phases of each rank"
EXPOSED: Final = "exposed"
ROLES: Final[dict[str, tuple[Role, Look]]] = {
    "data": ("plum", ""),
    "forward": ("sky", ""),
    "backward": ("blue", ""),
    EXPOSED: ("orange", "wait"),
    "optimizer": ("teal", ""),
    "rest": ("grey", "rest"),
}
NAMES: Final = {"data": "data wait", EXPOSED: "exposed communication", "rest": "not attributed"}


def draw(view: View) -> list[Drawing | Missing]:
    """One bar per rank of the largest worker count; empty with a single rank."""
    ranks = view.series.ranks
    if not ranks:
        return []
    scale = scale_for("s", tuple(rank.step_s for rank in ranks))
    marks: list[Mark] = []
    for index, rank in enumerate(ranks):
        shares = ((*ROLES[part], f"{_name(rank)}, {NAMES.get(part, part)}", reading(s, "s"), s * scale.factor) for part, s in _parts(rank))
        marks += stacked(index, shares, series=False)
    drawn = {part for rank in ranks for part, length in _parts(rank) if length > 0}
    top = max(sum(length for _, length in _parts(rank)) for rank in ranks) * scale.factor * 1.04
    names = [f"{_name(rank)}: {reading(rank.step_s, 's', scale)}" for rank in ranks]
    return [
        Drawing(
            title=TITLE,
            panels=(Panel(x=linear(0, top, f"time per step, {scale.label}"), y=rows_axis(names, 38), marks=tuple(marks)),),
            caption=f"{_where(view, ranks)}. {_caption(ranks)}",
            description=" ".join(_words(_name(rank), rank) for rank in ranks),
            key=tuple(
                Key(mark="bar", role=role, look=look, text=NAMES.get(part, part)) for part, (role, look) in ROLES.items() if part in drawn
            ),
            quantity=f"time per step, {scale.label}",
        )
    ]


def _where(view: View, ranks: tuple[RankPhases, ...]) -> str:
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
