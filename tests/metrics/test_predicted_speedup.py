"""predicted_speedup: by the links where they are known, by a law where they are not, refused where neither carries it."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.frames.record_data import Measured
from assay.metrics import fastest_workers, predicted_scaled_speedup
from assay.metrics.predicted_speedup import METRIC
from assay.stats.groups.expected_maximum import slowest_of
from tests.metrics.scaling_records import only, usl_record
from tests.simulated_made import TRUTH, cluster, record


def blind(measured: Measured) -> Measured:
    """The same record with no collective seen."""
    return replace(measured, tables={**measured.tables, "collectives": measured.table("collectives").clear()})


def truth(p: int) -> float:
    return 1.0 / (slowest_of(p, TRUTH["jitter"]) * cluster().compute_s(p) + cluster().transfer_s(p))


def test_twice_the_workers_are_predicted_by_the_links() -> None:
    found = only(METRIC, record())
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(truth(32), rel=0.03)
    assert found.low < truth(32) < found.high
    assert "FLAGGED" not in found.method


def test_two_counts_are_enough_with_the_links_and_flagged() -> None:
    found = only(METRIC, record(levels=(1, 4)))
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(truth(8), rel=0.05)
    assert found.method.startswith("FLAGGED, for it rests on 2 worker counts")


def test_without_the_links_fewer_than_four_counts_are_refused() -> None:
    found = only(METRIC, blind(record(levels=(1, 4))))
    assert isinstance(found, Absent)
    assert found.reason == "refused"
    assert "fewer than 4" in found.detail


def test_without_the_links_a_law_speaks_that_knows_nothing_of_them() -> None:
    """Amdahl with alpha = 0.1: S(16) = 16 / (1 + 0.1 * 15) = 6.4."""
    found = only(METRIC, usl_record((1, 2, 4, 8), alpha=0.1, beta=0.0))
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(6.4, rel=0.01)
    assert "without knowing the links" in found.method


def test_what_hides_is_given_with_its_bound() -> None:
    found = only(METRIC, record(overlap=0.2))
    assert isinstance(found, Estimate)
    assert "if nothing were hidden there" in found.method


def test_a_model_that_misses_the_largest_count_predicts_nothing() -> None:
    """Steps of 16 workers that take twice as long: the others miss them by a half."""
    whole = record()
    last = whole.timed.filter(pl.col("workers") == 16)["launch"].implode()
    longer = pl.col("begin_ns") + 2 * (pl.col("end_ns") - pl.col("begin_ns"))
    steps = whole.table("steps").with_columns(pl.when(pl.col("launch").is_in(last)).then(longer).otherwise("end_ns").alias("end_ns"))
    missed = replace(whole, tables={**whole.tables, "steps": steps})
    for metric in (METRIC, fastest_workers.METRIC, predicted_scaled_speedup.METRIC):
        found = only(metric, missed)
        assert isinstance(found, Absent)
        assert found.reason == "refused"
        assert "fitted without 16 workers, the model of communication misses them by" in found.detail
