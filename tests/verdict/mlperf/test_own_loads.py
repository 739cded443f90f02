"""Is a load of assay's own long and large enough for its scenario?  Counts of MLPerf's inference rules."""

from __future__ import annotations

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.verdict.mlperf.own_loads import judge_load
from tests.serving_made import ServingMade


def _load(process: str, queries: int, *, seconds: float = 600.0, late: int = 0, **asked: object) -> RecordData:
    made = ServingMade(process=process, rate=(1.0,) if process in ("server", "poisson") else (), blocks=1, seconds=seconds, **asked)
    launch = made.launch(wall_s=seconds + 10.0)
    for place in range(queries):
        made.request(launch, seconds * place / max(1, queries - 1), at_s=[1.0 if place < late else 0.1], tokens_out=1)
    return made.measured()


def _statuses(measured: RecordData) -> dict[str, str]:
    result = judge_load(measured, "mine")
    assert result is not None
    return {rule.rule: rule.status for rule in result.rules if rule.status != "unchecked"}


@pytest.mark.parametrize(("process", "enough"), [("single_stream", 64), ("multi_stream", 662), ("offline", 24_576)])
def test_a_scenario_needs_its_queries(process: str, enough: int) -> None:
    name = "samples" if process == "offline" else "early stopping"
    assert _statuses(_load(process, enough))[name] == "pass"
    assert _statuses(_load(process, enough - 1))[name] == "fail"


def test_a_short_load_fails_and_says_what_a_load_cannot_show() -> None:
    result = judge_load(_load("single_stream", 100, seconds=30.0), "mine")
    assert result is not None
    assert [(rule.rule, rule.found) for rule in result.of("fail")] == [("duration", "30.1 s")]
    assert {"LoadGen", "seeds", "TEST01: answers", "TEST04: cached answers"} <= {rule.rule for rule in result.of("unchecked")}


def test_arrivals_that_are_no_scenario_are_not_judged() -> None:
    assert judge_load(_load("poisson", 10), "mine") is None
