"""Which engines of a record compute otherwise than its reference?  From the table `divergence`: given texts, scored by all.

A side is an engine, or one replica of it.  What its divergence looks like is decided by `divergence.nature_of` against the record's floor:
the reference in another number format, or asked again.  A replica is measured against the reference's first one.

If no other side is close to the reference, the reference may be the wrong one (`doubted`).  Of several, those that the reference alone
is far from have their divergence at the same tokens: the KLs of copies in float32, bfloat16 and int8 against a tiny Llama with a wrong weight
correlate by 0.998, those of copies with wrong weights of their own by 0.2 to 0.74.

How far is a replica's next-token distribution from the reference's, and is one of its weights wrong rather than rounded?

Both score the reference's own tokens (teacher forcing), so that one early difference cannot spoil everything after it.  At every position
KL(reference || replica), in nats.  Rounding (bf16, int8, int4) moves all positions alike: the tail is some ten times the median.  One wrong
weight matters where its input is large: few positions move far.  So the tail names it, while text agreement cannot (a tiny Llama: bf16
22 of 48 answers equal, one wrong weight 20 of 48).

    identical   no KL anywhere
    rounded     p99.9 at most BEYOND times what the reference shows against itself
    corrupt     more than the reference asked again shows, and p99.9 / median far above that of roundings: few positions differ far more
                than the rest, however small the difference
    coarser     beyond both, evenly: a coarser number format, or other weights
    different   less than AGREE of the most probable tokens are the same: another checkpoint, or a model that is broken throughout

The floor is the reference against itself on the same positions: in bfloat16 (a rounding: corrupt is what has LOCAL times its p99.9 /
median), or asked again over HTTP, where it often answers the same and no rounding is known (MIN_ALONE).  p99.9 / median of roundings of
SmolLM2-135M (bf16, fp16, int8, int8 in bf16, int6, int4; 2,052 tokens of given texts and 868 of greedy answers) was 6 to 29, and 21 to 44
from the five most probable tokens; of one wrong weight, off by 1.6 to 540 standard deviations, 61 to 500, and 174 to 800.  max / mean does
not tell them apart: int8 reached 41 and 57, since one outlier decides it.

In a tiny Llama a weight off by six standard deviations is named in 8 of 8 places, also in a replica in bfloat16.

Cannot tell: which weight; a wrong weight that all inputs reach (an embedding of a common token, a norm), or far too large, which looks
coarser or different; one so small that rounding hides it, in a replica that is rounded as well.  KL is a distance, not quality: the gate
`held` decides that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

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


Nature = Literal["identical", "rounded", "corrupt", "coarser", "different"]
BEYOND: Final = 3.0  # times the floor's p99.9
LOCAL: Final = 1.5  # times the floor's p99.9 / median
MIN_LOCAL: Final = 8.0  # ... and at least this
MIN_ALONE: Final = 80.0  # ... and this where no rounding of the model is known: those of a real one reach 44
AGREE: Final = 0.25
MIN_FLOOR: Final = 1e-6  # nats: an engine asked twice may differ by nothing; float32 in other batches moved p99.9 by 3.4e-7


@dataclass(frozen=True, kw_only=True)
class TailKL:
    """The distribution of the KL over positions. NaN: no positions."""

    positions: int
    mean: float
    median: float
    p99: float
    p999: float
    max: float

    @property
    def ratio(self) -> float:
        """How far the farthest token moves: max / mean."""
        return self.max / self.mean if self.mean > 0.0 else math.nan

    @property
    def local(self) -> float:
        """How much farther the farthest tokens move than the middle one: p99.9 / median. NaN: none moves."""
        return self.p999 / self.median if self.median > 0.0 else math.inf if self.p999 > 0.0 else math.nan


def tail_kl(kl: Array) -> TailKL:
    """Fold one KL per position. A negative one is a rounding error of a sum near 0, and counts as 0.

    Raises:
        ValueError: a KL is not a number: a log probability of -infinity, as logit processors make them. Use raw logits.
    """
    if np.isnan(kl).any():
        raise ValueError("a KL is not a number: compare raw logits, not processed ones")
    if not kl.size:
        return TailKL(positions=0, mean=math.nan, median=math.nan, p99=math.nan, p999=math.nan, max=math.nan)
    floored = np.maximum(kl, 0.0)
    return TailKL(
        positions=int(kl.size),
        mean=float(floored.mean()),
        median=float(np.median(floored)),
        p99=float(np.quantile(floored, 0.99)),
        p999=float(np.quantile(floored, 0.999)),
        max=float(floored.max()),
    )


def nature_of(replica: TailKL, agreement: float, floor: TailKL, *, again: bool = False) -> Nature:
    """What a replica's divergence looks like.

    Args:
        agreement: the share of positions with the same most probable token.
        again: whether the floor is the reference asked again, and not in another number format.
    """
    if replica.positions and replica.max == 0.0:
        return "identical"
    if agreement < AGREE:
        return "different"
    known = max(floor.p999, MIN_FLOOR)
    if replica.p999 <= BEYOND * (known if again else MIN_FLOOR):
        return "rounded"
    least = MIN_ALONE if again else MIN_LOCAL
    if replica.local >= (max(least, LOCAL * floor.local) if floor.p999 > MIN_FLOOR else least):
        return "corrupt"
    return "rounded" if replica.p999 <= BEYOND * known else "coarser"
