"""load_model: waits of a closed loop whose clients are not counted."""

from __future__ import annotations

import pytest

from tests.verdict.claiming import LATENCY, NUMBER, claim, found


@pytest.mark.parametrize(
    ("conditions", "named"),
    [
        ({"load": "closed loop"}, True),
        ({"arrival": "closed"}, True),
        ({"client": "closed-loop client"}, True),
        ({"load": "closed loop", "concurrency": 32}, False),
        ({"load": "open loop"}, False),
        ({}, False),
    ],
)
def test_a_closed_loop_says_its_clients(conditions: dict[str, object], named: bool) -> None:
    assert ("closed_loop_without_clients" in found(claim(numbers=[LATENCY | {"conditions": conditions}]))) is named


def test_a_closed_loop_in_words_is_one_and_a_training_has_none() -> None:
    what = {"text": "p99 of 0.2 s with a closed-loop client", "source": "s", "exclusive": True}
    assert found(claim(numbers=[LATENCY], claim=what))["closed_loop_without_clients"] == "warning"
    counted = what | {"text": "p99 of 0.2 s in a closed loop at a concurrency of 32"}
    assert "closed_loop_without_clients" not in found(claim(numbers=[LATENCY], claim=counted))
    assert "closed_loop_without_clients" not in found(claim(numbers=[NUMBER], claim=what))
