"""Is every worker of pyperf a launch, with its loops and warm-ups?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.estimates.estimate import Estimate
from tests.importers.timings.made import changed, one, times

pytestmark = pytest.mark.slow


def test_every_worker_of_pyperf_is_a_launch(tmp_path: Path) -> None:
    """`pyperf stats`: sort 4 runs with values, 12 values, median 503 ns, mean 496 ns, standard deviation 124 ns."""
    measured = one(tmp_path, "pyperf.json")
    found = times(measured)["sort"]
    assert isinstance(found, Estimate)
    assert (found.n_launches, found.n_trials) == (4, 12)
    assert found.low < 496e-9 < found.high
    reported = {entry["name"]: entry["value"] for entry in (measured.foreign or {})["reported"] if entry["benchmark"] == "sort"}
    assert {name: round(value * 1e9) for name, value in reported.items()} == {
        "mean": 496,
        "median": 503,
        "stddev": 124,
        "min": 325,
        "max": 682,
    }
    rows = measured.table("trials")
    assert set(rows.filter(warm_up=0)["calls"]) == {32768}
    assert rows.filter(warm_up=1).height == 8  # one in each worker


def test_a_file_of_memory_alone_is_refused_by_what_it_holds(tmp_path: Path) -> None:
    """As pyperf timeit --track-memory writes it."""
    file = changed(tmp_path / "memory.json", "pyperf_one.json", lambda document: document["metadata"].update(unit="byte"))
    with pytest.raises(SpecError, match=r"no timed benchmarks, but .* in byte"):
        one(tmp_path, file)
