"""karp_flatt: the serial fraction that each worker count shows on its own."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics import karp_flatt, speedup
from tests.handmade import Handmade


def test_the_reference_table_gives_the_fraction_of_its_last_row() -> None:
    """3600 s on 1 and 250 s on 32 workers: e = (250/3600 - 1/32) / (1 - 1/32) = 0.0394265."""
    made = Handmade(levels=(1, 32), blocks=2)
    for block in range(2):
        made.launch(workers=1, block=block, wall_s=3600.0)
        made.launch(workers=32, block=block, wall_s=250.0)
    measured = made.measured()
    values = karp_flatt.METRIC.compute(measured, {"speedup": speedup.METRIC.compute(measured, {})})
    value = values["workers=32"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.0394265, abs=1e-7)
    assert isinstance(values["workers=1"], Absent)
    assert value.low <= value.value <= value.high
