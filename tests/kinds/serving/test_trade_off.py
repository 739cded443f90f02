"""The first screen of a load with a cap or a floor: the answer, its interval and load, and that it was picked."""

from __future__ import annotations

import re

import pytest

from fireassay.kinds.serving.show import answer
from tests.kinds.serving.test_answer import fits, screen
from tests.reports.conftest import judged
from tests.rivals_made import rivals
from tests.verdict.gates.test_trade_off import LOADS, gates

pytestmark = pytest.mark.slow


def test_the_latency_at_the_floor_is_the_headline() -> None:
    view = judged(rivals({"a": LOADS}, objectives={}, gates=gates(floor="20 req/s, e2e p50")))
    said = answer(view)
    assert re.fullmatch(r"p50 e2e at 20 requests/s or more: 3\d\d(\.\d)? ms \[3[\d.]+, 3[\d.]+\] at 8 in flight", said.headline)
    assert said.evidence == "Picked among 3 loads: 98.33 % intervals, which hold 95 % together."
    lines = screen(view)
    assert lines[0].startswith("PASS  served: p50 e2e at 20 requests/s or more:")
    assert fits(lines), "\n".join(lines)
    assert [line[0] for line in lines if re.match(r"[✓✗▸?] ", line)][:3] == ["✗", "▸", "✗"], "of a load that misses the floor"


def test_the_throughput_under_the_cap_is_the_headline() -> None:
    said = answer(judged(rivals({"a": LOADS}, objectives={}, gates=gates(cap="e2e p50 500ms"))))
    assert re.match(r"output tokens/s with p50 e2e ≤ 500 ms: 4\d\d \[4\d\d, 4\d\d\] at 8 in flight", said.headline)


def test_a_floor_that_no_load_reaches_fails_with_the_nearest() -> None:
    said = answer(judged(rivals({"a": LOADS}, objectives={}, gates=gates(floor="200 req/s, e2e p50"))))
    assert said.mark.word == "fail"
    assert said.headline.startswith("no load reaches 200 requests/s: at most 22.")
    assert said.evidence.startswith("Over 3 loads")


def test_a_latency_that_the_requests_cannot_carry_is_said_and_not_a_miss() -> None:
    said = answer(judged(rivals({"a": LOADS}, objectives={}, gates=gates(floor="10 req/s, e2e p99"))))
    assert said.headline.startswith("p99 e2e at 10 requests/s or more: p99 needs 10 independent trials beyond it")


def test_both_are_said_and_objectives_keep_the_headline() -> None:
    view = judged(rivals({"a": LOADS}, gates=gates(cap="e2e p50 500ms", floor="20 req/s, e2e p50")))
    said = answer(view)
    assert "within TTFT" in said.headline
    assert [line.label for line in said.lines if line.label in ("under cap", "at floor")] == ["under cap", "at floor"]
