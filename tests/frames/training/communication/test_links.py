"""Alpha and beta from calls written down by hand, with waiting and queueing in them; and what a step sends."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.frames.links.network_probe import predicted
from fireassay.frames.training.communication.links import BUCKET, Demand, Links, Sent, demand, links, transfers
from fireassay.stats.models.affine_fit import Affine
from tests.handmade import Handmade
from tests.metrics.narrow import absence

ALPHA, BETA = 5e-6, 1e-9
S = 1_000_000_000


def call(
    made: Handmade,
    launch: int,
    number: int,
    *,
    ranks: int,
    nbytes: int,
    op: str = "all_reduce",
    step: int | None = 0,
    phase: str = "backward",
    late: int = 0,
    begin: int = 0,
    seconds: float | None = None,
    group: str = "0",
) -> None:
    """A call on all ranks: rank 0 comes `late` ns after the others, and the last to come takes what the model says."""
    took = predicted(op, ranks, nbytes, ALPHA, BETA) if seconds is None else seconds
    for rank in range(ranks):
        came = begin + (late if rank == 0 else 0)
        row: tuple[Any, ...] = (
            launch,
            rank,
            0,
            group,
            number,
            step,
            op,
            ranks,
            nbytes,
            "float32",
            phase,
            1,
            came,
            begin + late + round(took * S),
            None,
            None,
            None,
            "host",
        )
        made.rows["collectives"].append(row)


def swept(op: str = "all_reduce", ranks: tuple[int, ...] = (4,)) -> Handmade:
    made = Handmade(levels=(1, 4), blocks=1)
    for size in ranks:
        number = made.launch(workers=4, role="communication")
        for place, nbytes in enumerate((1 << 10, 1 << 16, 1 << 22)):
            call(made, number, place, ranks=size, nbytes=nbytes, op=op, step=None, phase="timed", late=1_000_000, begin=place * S)
    return made


@pytest.mark.parametrize("op", ["all_reduce", "all_gather", "reduce_scatter"])
def test_a_sweep_gives_alpha_and_beta_whatever_the_operation_and_the_waiting(op: str) -> None:
    found = links(transfers(swept(op).measured()), (1, 4), op)
    assert isinstance(found, Links)
    assert found.whole.fixed == pytest.approx(ALPHA, rel=1e-3)
    assert found.whole.per_unit == pytest.approx(BETA, rel=1e-3)
    assert found.swept


def test_groups_of_several_sizes_lie_on_one_line() -> None:
    found = links(transfers(swept(ranks=(2, 4)).measured()), (1, 4), "all_reduce")
    assert isinstance(found, Links)
    assert found.sizes == (2, 4)
    assert found.whole.per_unit == pytest.approx(BETA, rel=1e-3)
    assert sorted(found.alone) == [0, 1]


def test_without_a_sweep_three_worker_counts_give_it_block_by_block() -> None:
    """One size in groups of 2, 4 and 8 is three places on the line."""
    made = Handmade(levels=(1, 2, 4, 8), blocks=2)
    for block in range(2):
        for workers in (2, 4, 8):
            number = made.launch(workers=workers, block=block)
            call(made, number, 0, ranks=workers, nbytes=1 << 20)
    found = links(transfers(made.measured()), (1, 2, 4, 8), "all_reduce")
    assert isinstance(found, Links)
    assert not found.swept
    assert found.whole.fixed == pytest.approx(ALPHA, rel=0.01)
    assert sorted(found.alone) == [0, 1]


def test_a_call_that_waits_for_the_one_before_counts_from_its_end() -> None:
    """Two buckets entered at once: the second lasts twice as long to its caller, and takes as long as the first."""
    made = Handmade(levels=(1, 2), blocks=1)
    number = made.launch(workers=2)
    call(made, number, 0, ranks=2, nbytes=1000, seconds=0.010)
    call(made, number, 1, ranks=2, nbytes=1000, seconds=0.020)
    assert transfers(made.measured())["seconds"].to_list() == pytest.approx([0.010])


def test_partial_unended_and_warm_up_loops_are_left_out() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    number = made.launch(workers=2)
    call(made, number, 0, ranks=2, nbytes=1000)
    made.rows["collectives"].pop()  # a rank that was not seen
    call(made, number, 1, ranks=2, nbytes=1000, phase="warm_up", step=None)
    call(made, number, 2, ranks=2, nbytes=1000)
    made.rows["collectives"] = [(*row[:13], None, *row[14:]) if row[4] == 2 else row for row in made.rows["collectives"]]
    found = transfers(made.measured())
    assert found.height == 0
    assert "has a begin and an end" in absence(links(found, (1, 2), "all_reduce")).detail


def test_one_size_separates_nothing() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    call(made, made.launch(workers=2), 0, ranks=2, nbytes=1000)
    assert "too few different sizes" in absence(links(transfers(made.measured()), (1, 2), "all_reduce")).detail


# ------------------------------------------------------------------------------------------------------- what a step sends


def test_the_calls_of_a_step_are_counted() -> None:
    """Two steps of an all_reduce of 1000 and 3000 bytes and an all_gather of 500: per step 2 calls and 4000 bytes, 1 and 500."""
    made = Handmade(levels=(1, 2), blocks=1)
    number = made.launch(workers=2)
    for step in range(2):
        for place, (nbytes, op) in enumerate(((1000, "all_reduce"), (3000, "all_reduce"), (500, "all_gather"))):
            call(made, number, 3 * step + place, ranks=2, nbytes=nbytes, op=op, step=step)
    found = demand(made.measured(), (1, 2))
    assert isinstance(found, Demand)
    assert found.sent == (Sent(op="all_gather", calls=1.0, nbytes=500.0), Sent(op="all_reduce", calls=2.0, nbytes=4000.0))
    by_hand = predicted("all_gather", 8, 500, ALPHA, BETA) + 2 * predicted("all_reduce", 8, 2000, ALPHA, BETA)
    assert found.seconds(Affine(fixed=ALPHA, per_unit=BETA, spread=0.0), 8) == pytest.approx(by_hand)
    assert found.seconds(Affine(fixed=ALPHA, per_unit=BETA, spread=0.0), 1) == 0.0


def test_the_bytes_of_steps_come_next_and_parameters_last() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    number = made.launch(workers=2)
    made.fingerprint(number, "parameters", 10_000_000)
    found = demand(made.measured(), (1, 2))
    assert isinstance(found, Demand)
    assert found.sent == (Sent(op="all_reduce", calls=2.0, nbytes=4e7),)  # 40 MB in buckets of 26.2 MB
    assert "float32" in found.source
    made.rows["communication"].append((number, 0, 0, 0, "engine", None, 5, None, BUCKET))
    found = demand(made.measured(), (1, 2))
    assert isinstance(found, Demand)
    assert found.sent == (Sent(op="all_reduce", calls=1.0, nbytes=float(BUCKET)),)


def test_nothing_seen_is_absent() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=2)
    assert isinstance(demand(made.measured(), (1, 2)), Absent)
