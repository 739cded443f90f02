"""Which engines of a record compute otherwise than its reference?  From the table `divergence`: given texts, scored by all.

A side is an engine, or one replica of it.  What its divergence looks like is decided by `divergence.nature_of` against the record's floor:
the reference in another number format, or asked again.  A replica is measured against the reference's first one.

If no other side is close to the reference, the reference may be the wrong one (`doubted`).  Of several, those that the reference alone
is far from have their divergence at the same tokens: the KLs of copies in float32, bfloat16 and int8 against a tiny Llama with a wrong weight
correlate by 0.998, those of copies with wrong weights of their own by 0.2 to 0.74.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.frames.evaluation.divergence import BEYOND, Nature, TailKL, nature_of, tail_kl
from fireassay.frames.record_data import RecordData

Array = NDArray[np.float64]
FLOOR: Final = "floor"
KEYS: Final = ("launch", "replica", "side")
ALIKE: Final = 0.9  # correlation of the KLs of two sides


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side's divergence, over the tokens of given texts."""

    configuration: str
    replica: int | None  # None: the engine has one address
    floor: bool
    bound: bool  # its KLs are lower bounds
    tail: TailKL
    agreement: float
    nll_change: float  # nats per token; above 0: the texts are less probable than at the reference
    nature: Nature
    items: tuple[tuple[str, str], ...]  # of each position: task and item
    kl: Array  # of each position; NaN: unknown
    same_top: Array
    nll_changes: Array


def sides(measured: RecordData) -> tuple[Side, ...]:
    """Every side, the floor first; none if nothing was compared."""
    return measured.once("sides of the divergence", lambda data: tuple(_sides(data)))


def compared(measured: RecordData, configuration: str) -> tuple[Side, ...]:
    """The sides of a configuration, without the floor."""
    return tuple(side for side in sides(measured) if side.configuration == configuration and not side.floor)


def floor_of(measured: RecordData) -> Side | None:
    """The reference against itself."""
    return next((side for side in sides(measured) if side.floor), None)


def doubted(every: Sequence[Side]) -> Literal["", "either", "reference"]:
    """True if the reference is more likely wrong than the sides that look so, or as likely; empty if nothing looks wrong, or another side is close to
    the reference: one that is rounded, and so farther than those, says nothing."""
    floor, others = next((side for side in every if side.floor), None), [side for side in every if not side.floor]
    wrong = [side for side in others if side.nature == "corrupt"]
    near = min((side.tail.p999 for side in wrong), default=0.0) / BEYOND
    if floor is None or not wrong or any(side.nature != "corrupt" and side.tail.p999 <= near for side in others):
        return ""
    own = [side for side in wrong if side.configuration == floor.configuration]
    first = {side.configuration: side for side in reversed(wrong)}  # the replicas of another engine have their weights from one file
    voters = [*own, *(side for name, side in first.items() if name != floor.configuration)]
    if len(voters) < 2:
        return "either"
    return "reference" if all(_alike(voters[0], side) for side in wrong) else ""


def _alike(one: Side, other: Side) -> bool:
    """True if both are far from the reference at the same tokens."""
    if one.items != other.items:
        return False
    known = ~(np.isnan(one.kl) | np.isnan(other.kl))
    return bool(known.any()) and float(np.corrcoef(one.kl[known], other.kl[known])[0, 1]) >= ALIKE


def _sides(measured: RecordData) -> Iterator[Side]:
    table = measured.table("divergence").join(measured.timed.select("launch", "configuration"), on="launch")
    found = {key: rows for key, rows in table.sort("task", "item", "position").partition_by(*KEYS, as_dict=True).items() if rows.height}
    floor = next((rows for key, rows in found.items() if key[2] == FLOOR), None)
    if floor is None:
        return
    floor_tail, again = tail_kl(_known(floor)), _bound(floor)
    replicas = table.group_by("configuration").agg(pl.col("replica").max())
    several = {name for name, last in replicas.iter_rows() if last > 0}
    order = {name: index for index, name in enumerate(measured.configurations)}
    for rows in sorted(found.values(), key=lambda rows: _rank(rows, order)):
        name, replica, side = rows.row(0, named=True)["configuration"], rows["replica"][0], rows["side"][0]
        tail, agreement = tail_kl(_known(rows)), float(rows["same_top"].mean())  # type: ignore[arg-type]
        changes = (rows["reference_logprob"] - rows["logprob"]).to_numpy()
        yield Side(
            configuration=name,
            replica=replica if name in several else None,
            floor=side == FLOOR,
            bound=_bound(rows),
            tail=tail,
            agreement=agreement,
            nll_change=float(changes.mean()),
            nature=nature_of(tail, agreement, floor_tail, again=again),
            items=tuple(rows.select("task", "item").rows()),
            kl=rows["kl"].fill_null(np.nan).to_numpy(),
            same_top=rows["same_top"].to_numpy().astype(np.float64),
            nll_changes=changes,
        )


def _rank(rows: pl.DataFrame, order: dict[str, int]) -> tuple[bool, int, int]:
    return rows["side"][0] != FLOOR, order.get(rows["configuration"][0], len(order)), int(rows["replica"][0])


def _bound(rows: pl.DataFrame) -> bool:
    return bool((rows["basis"] == "top").any())


def _known(rows: pl.DataFrame) -> Array:
    return rows["kl"].drop_nulls().to_numpy()
