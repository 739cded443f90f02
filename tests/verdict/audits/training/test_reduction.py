"""How often, and in which pieces, DistributedDataParallel reduces."""

from __future__ import annotations

import pytest

from fireassay.verdict.judge import examine
from tests.handmade import Handmade
from tests.parallel_made import call, told

MIB = 1 << 20


def record(*, gradients: int, calls: int, nbytes: int, passes: int = 1, bucket: int = 25 * MIB) -> Handmade:
    """Two workers, four steps, each with so many calls of so many bytes."""
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1)
    number = made.launch(workers=2)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[1.0] * 4)
        made.fingerprint(number, "backward_passes", passes, rank=rank)
        for step in range(4):
            for _ in range(calls):
                call(made, number, rank=rank, step=step, nbytes=nbytes)
    told(made, number, ddp=[2], bytes=gradients, bucket_bytes=bucket)
    return made


@pytest.mark.parametrize(
    ("made", "right"),
    [
        (record(gradients=8 * MIB, calls=1, nbytes=8 * MIB), []),
        (record(gradients=8 * MIB, calls=4, nbytes=8 * MIB, passes=4), ["reduced_every_pass"]),
        (record(gradients=8 * MIB, calls=1, nbytes=8 * MIB, passes=4), []),  # within no_sync
        (record(gradients=8 * MIB, calls=32, nbytes=MIB // 4, bucket=MIB // 4), ["small_buckets"]),
        (record(gradients=8 * MIB, calls=4, nbytes=2 * MIB, bucket=2 * MIB), []),
        (record(gradients=MIB // 4, calls=2, nbytes=MIB // 8, bucket=MIB // 8), []),  # there is not more to send
    ],
)
def test_what_costs_transfer_for_nothing_is_named(made: Handmade, right: list[str]) -> None:
    found = examine(made.measured(), "gradient_reduction")
    assert [(one.rule, one.severity) for one in found] == [(rule, "note") for rule in right]


def test_the_remedy_is_in_numbers() -> None:
    (finding,) = examine(record(gradients=8 * MIB, calls=4, nbytes=8 * MIB, passes=4).measured(), "gradient_reduction")
    assert "4 backward passes and reduces the gradients 4 times" in finding.evidence
