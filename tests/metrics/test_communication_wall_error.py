"""communication_wall_error: small where the model holds, large where something sets in at the end."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.communication_wall_error import METRIC
from tests.metrics.scaling_records import only
from tests.simulated_made import record


def test_a_model_that_holds_is_not_far_off() -> None:
    found = only(METRIC, record())
    assert isinstance(found, Estimate)
    assert abs(found.value) < 0.03
    assert "at p = 16, predicted without it" in found.method
    assert len(found.launch_values) == 4


def test_what_sets_in_only_at_the_end_shows() -> None:
    """Steps of 16 workers that take twice as long: half of what was measured is promised."""
    whole = record()
    last = whole.timed.filter(pl.col("workers") == 16)["launch"].implode()
    longer = pl.col("begin_ns") + 2 * (pl.col("end_ns") - pl.col("begin_ns"))
    steps = whole.table("steps").with_columns(pl.when(pl.col("launch").is_in(last)).then(longer).otherwise("end_ns").alias("end_ns"))
    found = only(METRIC, replace(whole, tables={**whole.tables, "steps": steps}))
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(-0.5, abs=0.03)
    assert found.high < -0.4


def test_two_counts_leave_nothing_to_predict_from() -> None:
    found = only(METRIC, record(levels=(1, 4)))
    assert isinstance(found, Absent)
    assert found.reason == "insufficient"
