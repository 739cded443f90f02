"""Is it told before a run what it will lack for MLPerf?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.spec.sections.serving import Arrivals
from fireassay.traffic.arrivals.make import expected_shortfall


def asked(process: str, **keys: Any) -> Arrivals:
    return Arrivals.model_validate({"process": process, "duration_s": 600.0, **keys})


@pytest.mark.parametrize(
    ("arrivals", "load", "told"),
    [
        (asked("server"), 1.0, ""),
        (asked("server"), 0.5, "MLPerf Server valid: no, 300 of 459 queries"),
        (asked("server", requests=100), 50.0, "MLPerf Server valid: no, 100 of 459 queries"),
        (asked("server", duration_s=30.0), 100.0, "MLPerf Server valid: no, 30 s of 600 s"),
        (asked("single_stream"), None, ""),
        (asked("single_stream", requests=63), None, "MLPerf SingleStream valid: no, 63 of 64 queries"),
        (asked("multi_stream"), None, ""),
        (asked("multi_stream", requests=800), None, "MLPerf MultiStream valid: no, 100 of 662 queries"),
        (asked("multi_stream", samples_per_query=2), None, "MLPerf MultiStream valid: no, 2 of 8 samples in a query"),
        (asked("offline", requests=24_576, duration_s=1.0), None, ""),
        (asked("offline", requests=10), None, "MLPerf Offline valid: no, 10 of 24576 samples in a query"),
        (asked("poisson", duration_s=1.0), 1.0, ""),
    ],
)
def test_what_is_missing_is_foreseen(arrivals: Arrivals, load: float | None, told: str) -> None:
    assert expected_shortfall(arrivals, load) == told
