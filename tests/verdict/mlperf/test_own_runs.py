"""What do records of assay's own say to MLPerf's rules?  Hand-made records; expected values in the comments."""

from __future__ import annotations

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.verdict.mlperf.own_runs import judge_load, kept_logs, own_logs
from tests.handmade import Handmade
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
    assert {"LoadGen", "seeds", "accuracy run", "compliance tests"} <= {rule.rule for rule in result.of("unchecked")}


def test_arrivals_that_are_no_scenario_are_not_judged() -> None:
    assert judge_load(_load("poisson", 10), "mine") is None


def test_a_training_gives_its_start_its_evaluations_and_its_end() -> None:
    """Steps from 2 s after the launch began; scores at 5 s and 9 s, after 24 and 56 samples: run_stop is the last."""
    record = Handmade(levels=(1,), blocks=1)
    launch = record.launch(workers=1, wall_s=20.0)
    record.steps(launch, seconds=[1.0] * 8, items=8.0, start_s=2.0)
    record.event(launch, "first_step", 2.0, rank=0, incarnation=0)
    for at, value, steps in ((5.0, 0.5, 3), (9.0, 0.75, 7)):
        detail = {"name": "accuracy", "source": "script", "steps": steps}
        record.event(launch, "score", at, rank=0, incarnation=0, detail=detail, value=value, step=steps)
    measured = record.measured()
    assert kept_logs(measured) == []
    (log,) = own_logs(measured, "retinanet", "open")
    base = log.entries[0].time_ms
    times = {entry.key: (entry.time_ms - base) / 1000.0 for entry in log.entries if entry.key in ("init_stop", "run_start", "run_stop")}
    assert times == pytest.approx({"init_stop": 2.0, "run_start": 2.0, "run_stop": 9.0})
    assert [(entry.value, entry.metadata["samples_count"]) for entry in log.all("eval_accuracy")] == [(0.5, 24.0), (0.75, 56.0)]
    assert log.value("submission_benchmark") == "retinanet"
    assert log.all("run_stop")[0].metadata["status"] == "success"
