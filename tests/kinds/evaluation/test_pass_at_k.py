"""Is pass@k the unbiased estimate over problems, and not measured with fewer than k programs of one?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.recorded import passes
from fireassay.verdict.judge import judge
from tests.answered import scored

RIGHT = {"p0": 0, "p1": 1, "p2": 3, "p3": 10}  # of ten programs


def made(folder: Path, k: tuple[int, ...], samples: int = 10) -> RecordData:
    """A record in which ten programs of each problem were judged, and `samples` of one."""
    lines = [
        {"id": name, "answer": "yes" if sample < right else "no", "reference": "yes"}
        for name, right in RIGHT.items()
        for sample in range(samples if name == "p1" else 10)
    ]
    measured = scored(folder, {"a": lines}, k=list(k))
    judged = measured.table("scores").with_columns(pl.lit("pass_at_1").alias("metric"))
    names = ("experiment", "manifest", "state", "sealed", "seal")
    return RecordData(**{name: getattr(measured, name) for name in names}, tables={**measured.tables, "scores": judged})


def test_it_is_the_mean_of_the_unbiased_estimates(tmp_path: Path) -> None:
    measured = made(tmp_path, (1, 5))
    (metric,) = passes(measured).values()
    value = metric.compute(measured, {})["answers=a"]
    assert isinstance(value, Estimate)
    each = [1.0 - np.prod([1.0 - 5 / i for i in range(10 - right + 1, 11)]) for right in RIGHT.values()]
    assert value.value == pytest.approx(np.mean(each), abs=1e-12)
    assert value.low <= value.value <= value.high


def test_it_is_among_the_numbers_of_a_record_of_our_own(tmp_path: Path) -> None:
    assert isinstance(judge(made(tmp_path, (1, 5))).results["pass_at_5"]["answers=a"], Estimate)


def test_fewer_programs_than_k_leave_it_unmeasured(tmp_path: Path) -> None:
    measured = made(tmp_path, (10,), samples=9)
    value = passes(measured)["pass_at_10"].compute(measured, {})["answers=a"]
    assert isinstance(value, Absent)
    assert "the fewest are 9" in value.detail


def test_pass_at_1_is_the_score_itself(tmp_path: Path) -> None:
    assert passes(made(tmp_path, (1,))) == {}
