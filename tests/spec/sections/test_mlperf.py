"""Are MLPerf's minimums those of its early-stopping rule, and is what a run lacks told in its numbers?"""

from __future__ import annotations

import pytest

from fireassay.spec.sections.scenario import CONFIDENCE, requirements, shortfalls, validity
from fireassay.stats.models import queueing

SCENARIOS = ("single_stream", "multi_stream", "server", "offline")


def test_counts_are_those_of_the_early_stopping_rule() -> None:
    for process in ("single_stream", "multi_stream"):
        asked = requirements(process)
        assert asked is not None
        assert asked.percentile is not None
        assert asked.queries == queueing.floor(asked.percentile)
    server = requirements("server")
    assert server is not None
    assert server.queries == queueing.least_passes(0, 0.99)
    assert queueing.CONFIDENCE == CONFIDENCE


@pytest.mark.parametrize("process", SCENARIOS)
def test_every_scenario_lasts_ten_minutes(process: str) -> None:
    asked = requirements(process)
    assert asked is not None
    assert asked.seconds == 600.0


def test_what_a_run_lacks_is_told() -> None:
    assert shortfalls("server", 30.0, 300) == ("30 s of 600 s", "300 of 459 queries")
    assert validity("server", 30.0, 5000) == "MLPerf Server valid: no, 30 s of 600 s"
    assert validity("multi_stream", 600.0, 600, 4) == "MLPerf MultiStream valid: no, 600 of 662 queries and 4 of 8 samples in a query"
    assert validity("offline", 601.0, 1, 24_575) == "MLPerf Offline valid: no, 24575 of 24576 samples in a query"
    assert validity("single_stream", 600.0, 64) == "MLPerf SingleStream valid: the minimums are met"


@pytest.mark.parametrize("process", ["closed", "poisson", "users", "trace"])
def test_other_arrivals_are_no_matter_of_mlperf(process: str) -> None:
    assert requirements(process) is None
    assert shortfalls(process, 1.0, 1) == ()
    assert validity(process, 1.0, 1) == ""
