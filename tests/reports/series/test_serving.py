"""The series of a load, worked out by hand: bins, spans, percentiles, tallies, replicas."""

from __future__ import annotations

import pytest

from fireassay.reports.series.serving import BEYOND, ServingSeries, build
from fireassay.reports.view import View
from tests.serving_made import ServingMade


def series(made: ServingMade) -> ServingSeries:
    return build(made.measured())


def made(**more: object) -> ServingMade:
    return ServingMade(rate=(2.0,), blocks=1, seconds=10.0, **more)  # type: ignore[arg-type]


def test_training_has_none(view: View) -> None:
    assert view.serving is None


def test_a_bin_counts_what_was_due_in_it() -> None:
    record = made()
    number = record.launch()
    for place in range(40):  # four per second: a bin that holds eight is 2 s wide
        record.request(number, place / 4, status="5xx" if place == 0 else "ok", ttft_s=0.1)
    (line,) = series(record).timelines
    assert [(one.begin_s, one.end_s, one.due, one.ok, one.failed) for one in line.bins][:2] == [(0.0, 1.0, 4, 3, 1), (1.0, 2.0, 4, 4, 0)]
    assert line.bins[1].ttft_s == pytest.approx(0.1)
    assert sum(one.due for one in line.bins) == 40


def test_a_fault_that_nobody_saw_end_has_no_end() -> None:
    record = made()
    number = record.launch()
    record.request(number, 1.0)
    record.request(number, 9.0)
    record.event(number, "fault", 2.0, value=1, detail={"kind": "kill"})
    record.event(number, "replica_down", 2.5, value=1)
    record.event(number, "replica_up", 4.0, value=1)
    (line,) = series(record).timelines
    assert [(span.kind, span.what, span.begin_s, span.end_s) for span in line.spans] == [
        ("fault", "kill replica 1", 2.0, None),
        ("down", "replica 1 down", 2.5, 4.0),
    ]


def test_a_curve_ends_where_fewer_than_ten_lie_beyond() -> None:
    record = made()
    number = record.launch()
    for place in range(100):
        record.request(number, place / 10, ttft_s=(place + 1) / 1000)
    curve = next(one for one in series(record).curves if one.latency == "ttft_s")
    percents = [percent for percent, _ in curve.points]
    assert curve.requests == 100
    assert percents[-1] == 90  # 100 * (1 - 0.90) = 10 = BEYOND
    assert BEYOND == 10
    assert dict(curve.points)[50] == pytest.approx(0.05, abs=0.0011)


def test_failures_and_tallies_are_counts() -> None:
    record = made()
    number = record.launch()
    record.request(number, -1.0, phase="cold")
    for place, status in enumerate(("ok", "5xx", "timeout", "5xx", "ok")):
        record.request(number, place * 2.0, status=status)
    found = series(record)
    assert found.errors == {record.names[0]: {"5xx": 2, "timeout": 1}}
    assert (found.tallies[number].due, found.tallies[number].answered) == (5, 2)


def test_a_replica_is_told_with_its_readings() -> None:
    record = made()
    number = record.launch()
    for place in range(6):
        record.request(number, place * 1.5, replica=place % 2, status="5xx" if place == 1 else "ok", ttft_s=0.2)
    record.reading(number, "replica-1", "kv_cache_used", 0.2, at_s=1.0)
    record.reading(number, "replica-1", "kv_cache_used", 0.4, at_s=2.0)
    record.reading(number, "replica-1", "kv_cache_used", 0.9, at_s=60.0)  # after the window
    first, second = series(record).replicas
    assert (first.sent, first.answered, first.readings) == (3, 3, {})
    assert (second.sent, second.answered) == (3, 2)
    assert second.readings == {"kv_cache_used": pytest.approx(0.3)}


def test_the_first_launch_of_the_largest_load_is_drawn_and_every_fault() -> None:
    record = ServingMade(rate=(1.0, 5.0), blocks=2)
    for block, role in ((0, "timed"), (1, "timed"), (2, "fault")):
        for name in record.names:
            record.request(record.launch(name, block=block, role=role), 1.0)
    assert [(line.role, line.launch) for line in series(record).timelines] == [("fault", 4), ("fault", 5), ("timed", 1)]
