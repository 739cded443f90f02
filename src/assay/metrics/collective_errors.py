"""How many timed calls gave wrong data?

collective_errors = timed calls of a cell with at least one wrong element on at least one rank.  Every call sends numbers that differ by
rank, element and call, and the results of the timed calls themselves are compared to the last bit.  A count: exact.
Cannot tell: whether other data (subnormal or infinite numbers, other element types) would come through as well.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import exact
from assay.frames.links.collective_calls import CELL, asked_cells, missing, timed_loops
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import COUNT


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The count of each cell; Absent where no rank looked."""
    sums = (
        timed_loops(measured)
        .group_by(*CELL)
        .agg(pl.col("wrong").sum(), pl.col("checked").sum(), pl.col("launch").n_unique().alias("launches"))
    )
    known = {row[:4]: row[4:] for row in sums.iter_rows()}
    found: dict[str, Value] = {}
    for cell in asked_cells(measured):
        wrong, checked, launches = known.get((cell.workers, cell.op, int(cell.place == "in"), cell.nbytes), (0, 0, 0))
        if launches == 0:
            found[cell.name] = missing(measured, cell)
        elif checked == 0:
            found[cell.name] = Absent(reason="not_measured", detail="no rank looked at the data of the timed calls")
        else:
            found[cell.name] = exact(
                float(wrong),
                unit=COUNT,
                name="collective_errors",
                n_launches=launches,
                n_trials=checked,
                how=f"every result of {checked} timed calls compared with what it must be",
            )
    return found


METRIC = Metric(
    name="collective_errors",
    title="Calls with wrong data",
    unit=COUNT,
    kind="count",
    better="lower",
    dimension="correctness",
    formula="timed calls with a wrong element on some rank",
    compute=compute,
    about=("collectives",),
    primary=True,
)
