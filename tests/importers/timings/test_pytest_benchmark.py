"""Are the medians of pytest-benchmark those of its table?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay.estimates.estimate import Estimate
from tests.importers.timings.made import changed, one, times, value_of

pytestmark = pytest.mark.slow


def test_the_median_of_pytest_benchmark_is_that_of_its_table(tmp_path: Path) -> None:
    """It printed medians of 2,474.0000 ns and 212.0002 ns."""
    found = times(one(tmp_path, "pytest_benchmark.json"))
    assert value_of(found["test_bench.py::test_fib"]) == pytest.approx(2474.0000e-9, rel=1e-6)
    assert value_of(found["test_bench.py::test_pedantic"]) == pytest.approx(212.0002e-9, rel=1e-6)
    assert {value.n_launches for value in found.values() if isinstance(value, Estimate)} == {1}


def test_long_names_with_one_beginning_stay_apart_in_files_of_another_order(tmp_path: Path) -> None:
    """Two benchmarks whose names differ after 200 letters: 1 ms and 5 ms in every file, the second file in reverse."""

    def renamed(document: dict[str, Any], seconds: dict[str, float]) -> None:
        first = document["benchmarks"][0]
        document["benchmarks"] = [
            {**first, "fullname": "test.py::test[" + "x" * 200 + end, "stats": {**first["stats"], "data": [value] * 5}}
            for end, value in seconds.items()
        ]

    fast_first = {"a]": 1e-3, "b]": 5e-3}
    orders = [fast_first, dict(reversed(fast_first.items())), {"a]": 1.001e-3, "b]": 5.001e-3}]
    files = [
        changed(tmp_path / f"{number}.json", "pytest_benchmark.json", lambda document, order=order: renamed(document, order))
        for number, order in enumerate(orders)
    ]
    found = times(one(tmp_path, *files))
    assert sorted(round(value_of(value) * 1e3) for value in found.values()) == [1, 5]
    assert all(len(name) == 120 for name in found)
