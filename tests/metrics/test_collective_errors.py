"""Are calls with wrong data counted, and do they lose their time?"""

from __future__ import annotations

from assay.estimates.estimate import Absent
from assay.metrics.collective_errors import METRIC as ERRORS
from assay.metrics.collective_time import METRIC as TIME
from assay.spec.sections.collectives import Cell
from tests.collectives_made import CALLS, LOOPS, Made, known, one


def test_loops_with_wrong_data_have_no_time_and_are_counted() -> None:
    """Of every launch's first loop at 4 KiB the second call is wrong; at 64 KiB all are."""

    def wrong(cell: Cell, launch: int, rank: int, call: int) -> tuple[int, str | None]:
        hit = (cell.size == 2**12 and launch == 0 and call == 1) or cell.size == 2**16
        return (7, "bit_flip: bit 3 of element 5") if hit and rank == 1 else (0, None)

    measured = Made(sizes=("1K:1M",), wrong=wrong).measured()
    errors, times = ERRORS.compute(measured, {}), TIME.compute(measured, {})
    some, every = one(measured, size=2**12).name, one(measured, size=2**16).name
    assert known(errors[some]).value == LOOPS  # one call of each loop of one launch
    assert known(errors[every]).value == 5 * LOOPS * CALLS
    assert known(times[some]).n_launches == 4  # none of the launch whose every loop was spoiled
    assert isinstance(times[every], Absent)
    assert "a wrong result has no speed" in times[every].detail
