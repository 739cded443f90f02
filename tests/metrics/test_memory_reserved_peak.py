"""memory_reserved_peak: what torch held of the fullest device, whether it was in use or not."""

from __future__ import annotations

from assay.estimates.estimate import Estimate
from assay.metrics import memory_peak
from assay.metrics.memory_reserved_peak import METRIC
from tests.handmade import Handmade
from tests.metrics.peaks import check_that_what_nobody_told_is_absent


def test_it_is_told_beside_what_was_in_use() -> None:
    made = Handmade(levels=(2,), blocks=2)
    for _ in range(2):
        number = made.launch(workers=2)
        for rank, (in_use, taken) in enumerate(((1e9, 6e9), (3e9, 5e9))):
            made.reading(number, f"rank-{rank}", "memory_allocated_peak", in_use, unit="B", method="self")
            made.reading(number, f"rank-{rank}", "memory_reserved_peak", taken, unit="B", method="self")
    held, used = (one.compute(made.measured(), {})["workers=2"] for one in (METRIC, memory_peak.METRIC))
    assert isinstance(held, Estimate)
    assert isinstance(used, Estimate)
    assert (held.launch_values, used.launch_values) == ((6e9, 6e9), (3e9, 3e9))


def test_what_nobody_told_is_absent() -> None:
    check_that_what_nobody_told_is_absent(METRIC)
