"""Are the medians of pytest-benchmark those of its table?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.estimates.estimate import Estimate
from tests.importers.timings.made import one, times, value_of

pytestmark = pytest.mark.slow


def test_the_median_of_pytest_benchmark_is_that_of_its_table(tmp_path: Path) -> None:
    """It printed medians of 2,474.0000 ns and 212.0002 ns."""
    found = times(one(tmp_path, "pytest_benchmark.json"))
    assert value_of(found["test_bench.py::test_fib"]) == pytest.approx(2474.0000e-9, rel=1e-6)
    assert value_of(found["test_bench.py::test_pedantic"]) == pytest.approx(212.0002e-9, rel=1e-6)
    assert {value.n_launches for value in found.values() if isinstance(value, Estimate)} == {1}
