"""How many bytes does a rank communicate in a step, by the hooks and by torch's own list?  Values worked out by hand."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent, Value
from fireassay.frames.training.communication.links import demand
from fireassay.frames.training.communication.listed_collectives import inventory
from fireassay.metrics.training.communication import COMM_EXPOSED
from fireassay.metrics.training.communication_steps import COMM_TOTAL, COMM_TRANSFER, COMM_VOLUME
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, ms
from tests.metrics.narrow import absence, estimated

STEPS = 4


def launched(*, hooks: bool = True, calls_a_step: int = 2) -> tuple[Handmade, int]:
    """Two ranks, 4 steps of 100 ms; the hooks see all_reduces of 1,000 bytes, of 10 ms each."""
    made = Handmade(levels=(1, 2), blocks=1)
    made.steps(made.launch(workers=1), seconds=[0.1] * STEPS)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * STEPS)
        for step in range(STEPS if hooks else 0):
            calls(made, number, rank, step, [(10 * n, 10 * n + 10) for n in range(calls_a_step)])
    return made, number


def listed(
    made: Handmade,
    number: int,
    count: int,
    *,
    op: str = "all_reduce",
    nbytes: int | None = 1000,
    each_ms: float | None = None,
    steps: range = range(1, STEPS),
) -> None:
    """torch lists so many calls of a kind of the last steps of both ranks."""
    for rank in (0, 1):
        for step in steps:
            total, ns = (None if nbytes is None else count * nbytes, None if each_ms is None else round(count * each_ms * 1e6))
            made.rows["inventory"].append((number, rank, 0, step, "0", op, "float32", 2, count, total, ns))


def of(made: Handmade, metric: object = COMM_VOLUME, configuration: str = "workers=2") -> Value:
    return metric.compute(made.measured(), {})[configuration]  # type: ignore[attr-defined,no-any-return]


def test_the_hooks_bytes_agree_with_torchs_list() -> None:
    made, number = launched()
    listed(made, number, 2)
    found = estimated(of(made))
    assert found.value == 2000.0
    assert "comm_volume|by:hooks" in found.signature
    assert "lists no others: 2 all_reduce a step" in found.method
    assert ms(of(made, COMM_TOTAL)) == pytest.approx(20.0)


def test_without_torchs_list_the_method_says_that_nothing_was_compared() -> None:
    made, number = launched()
    made.event(number, "flight_recorder", 9.0, rank=0, detail={"absent": "it is switched off: TORCH_FR_BUFFER_SIZE=0"})
    assert estimated(of(made)).value == 2000.0
    assert "cannot be compared: it is switched off: TORCH_FR_BUFFER_SIZE=0" in estimated(of(made)).method


def test_calls_missed_by_the_hooks_are_taken_from_torch_without_a_total() -> None:
    """3 of 2 + 1: a broadcast by an engine of its own. The time of two of them would be too small a number for all three."""
    made, number = launched()
    listed(made, number, 2)
    listed(made, number, 1, op="broadcast", nbytes=500)
    found = estimated(of(made))
    assert found.value == 2500.0
    assert "by:flight_recorder" in found.signature
    assert "2 all_reduce and 1 broadcast a step, of which the hooks saw 2" in found.method
    for metric in (COMM_TOTAL, COMM_TRANSFER):
        assert "lists 3 collectives a step but the hooks saw 2" in absence(of(made, metric)).detail


def test_where_the_hooks_missed_calls_of_a_type_without_a_size_that_is_said_and_not_that_nothing_was_seen() -> None:
    made, number = launched()
    listed(made, number, 2)
    listed(made, number, 1, op="broadcast", nbytes=None)
    found = absence(of(made))
    assert found.reason == "not_measured"
    assert "lists 3 collectives a step, of which the hooks saw 2" in found.detail
    assert "no collective" not in found.detail


def test_a_call_now_and_then_is_no_miss() -> None:
    """One in four steps has another all_reduce: the median step has none."""
    made, number = launched()
    listed(made, number, 2)
    listed(made, number, 1, op="barrier", nbytes=0, steps=range(3, 4))
    assert inventory(made.measured(), "workers=2").unseen == 0.0  # type: ignore[union-attr]
    assert ms(of(made, COMM_TOTAL)) == pytest.approx(20.0)


def test_point_to_point_is_not_compared_for_gloo_does_not_list_it() -> None:
    made, number = launched()
    listed(made, number, 2)
    listed(made, number, 5, op="send")
    assert inventory(made.measured(), "workers=2").calls == 2.0  # type: ignore[union-attr]


def test_without_hooks_torch_lists_bytes_and_the_demand_of_the_model() -> None:
    made, number = launched(hooks=False)
    listed(made, number, 3, nbytes=4000)
    assert estimated(of(made)).value == 12000.0
    sent = demand(made.measured(), (1, 2))
    assert not isinstance(sent, Absent)
    assert [(one.op, one.calls, one.nbytes) for one in sent.sent] == [("all_reduce", 3.0, 12000.0)]
    assert "flight recorder" in sent.source
    exposed = absence(of(made, COMM_EXPOSED))
    assert "lists 3 all_reduce a step, but not what of them computing hides" in exposed.detail
    assert absence(of(made, COMM_TOTAL)).reason == "not_measured"


def test_ncclts_durations_make_a_total_that_says_that_it_is_a_sum() -> None:
    """3 calls of 4 ms: 12 ms, though they may have run at once."""
    made, number = launched(hooks=False)
    listed(made, number, 3, each_ms=4.0)
    found = estimated(of(made, COMM_TOTAL))
    assert ms(found) == pytest.approx(12.0)
    assert "by:flight_recorder" in found.signature
    assert "calls that run at once count twice" in found.method


def test_without_any_source_it_is_absent_with_each_reason() -> None:
    made, number = launched(hooks=False)
    assert "workload.attach = false" in absence(of(made)).detail
    assert "marks its own steps" not in absence(of(made)).detail  # such scripts are hooked for their communication
    made.event(number, "flight_recorder", 9.0, rank=0, detail={"absent": "it lists no call"})
    assert absence(of(made)).detail.endswith("nor by torch itself: it lists no call")
    listed(made, number, 1, nbytes=None)
    assert isinstance(of(made), Absent)
    assert absence(of(made, configuration="workers=1")).reason == "not_applicable"


def test_a_repeated_step_counts_in_its_last_version() -> None:
    made, number = launched()
    listed(made, number, 2)
    again = [(*row[:2], 1, *row[3:8], 7, *row[9:]) for row in made.rows["inventory"]]
    made.rows["inventory"] += again  # of a later life, in which no step was made
    assert inventory(made.measured(), "workers=2").calls == 2.0  # type: ignore[union-attr]
