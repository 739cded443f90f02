"""session_time_p50: the time of whole sessions."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.session_time_p50 import METRIC
from tests.serving_made import ServingMade


def with_sessions(turns: int = 2, seen: int = 2, status: str = "ok") -> ServingMade:
    """40 sessions per launch; the second turn is due 3 s after the first and takes 1 s."""
    made = ServingMade(rate=(10.0,), blocks=3)
    for block in range(3):
        number = made.launch(block=block)
        for session in range(40):
            for turn in range(seen):
                made.request(
                    number,
                    session * 0.1 + 3.0 * turn,
                    session=session,
                    turn=turn,
                    at_s=[1.0],
                    tokens_out=1,
                    status=status if turn else "ok",
                    follows=turn > 0,
                )
            for turn in range(seen, turns):
                made.arrival(number, request=1000 + session, session=session, turn=turn, due_s=None)
    return made


def test_it_runs_from_the_first_turn_to_the_end_of_the_last() -> None:
    value = METRIC.compute(with_sessions().measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials) == (pytest.approx(4.0), 120)


@pytest.mark.parametrize("made", [with_sessions(turns=3), with_sessions(status="5xx"), with_sessions(turns=1, seen=1)])
def test_what_was_cut_off_failed_or_is_single_has_none(made: ServingMade) -> None:
    value = METRIC.compute(made.measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "more than one turn" in value.detail
