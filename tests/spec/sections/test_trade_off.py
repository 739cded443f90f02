"""A cap and a floor as they are typed, and what no load can have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.spec.load import from_mapping
from fireassay.spec.model import Unreadable
from fireassay.spec.sections.trade_off import LatencyCap, ThroughputFloor, cap_of_text, floor_of_text


@pytest.mark.parametrize("text", ["e2e p99 500ms", "e2e_p99=0.5", "E2E P99 <= 500 ms", "e2e99 0.5s", "e2e p99: 0.5"])
def test_a_cap_is_a_latency_a_percentile_and_a_time(text: str) -> None:
    assert cap_of_text(text) == {"metric": "e2e", "percentile": 99, "limit_s": 0.5}
    assert LatencyCap.model_validate(cap_of_text(text)).name == "e2e_p99"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100 req/s", {"at_least": 100.0, "of": "requests"}),
        ("100", {"at_least": 100.0, "of": "requests"}),
        ("1.5e3 requests/s", {"at_least": 1500.0, "of": "requests"}),
        ("5000tok/s, ttft p95", {"at_least": 5000.0, "of": "tokens", "metric": "ttft", "percentile": 95}),
        ("5000 tokens/s: e2e_p50", {"at_least": 5000.0, "of": "tokens", "metric": "e2e", "percentile": 50}),
    ],
)
def test_a_floor_is_a_rate_and_perhaps_a_latency(text: str, expected: dict[str, Any]) -> None:
    assert floor_of_text(text) == expected
    assert ThroughputFloor.model_validate(expected).at_least == expected["at_least"]


@pytest.mark.parametrize(
    "text", ["", "e2e", "e2e p98 1s", "p99 500ms", "e2e p99", "e2e p99 -1", "e2e p99 soon", "e2e p99 500", "e2e p99 1 2"]
)
def test_another_cap_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(Unreadable):
        cap_of_text(text)


@pytest.mark.parametrize(
    "text", ["", "fast", "-5 req/s", "nan", "inf req/s", "100 rps", "100 req/m", "100 req/s, p99", "100 req/s e2e p99"]
)
def test_another_floor_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(Unreadable):
        floor_of_text(text)


@given(st.text(max_size=40))
def test_no_text_breaks_the_readers(text: str) -> None:
    for read in (cap_of_text, floor_of_text):
        try:
            read(text)
        except Unreadable:
            continue


@pytest.mark.parametrize("name", ["latency_cap", "throughput_floor"])
def test_a_training_has_neither(name: str) -> None:
    limit = {"limit_s": 0.5} if name == "latency_cap" else {"at_least": 100.0}
    data = {"name": "x", "workload": {"script": "train.py"}, "factor": {"levels": [1, 2]}, "gates": {name: limit}}
    with pytest.raises(SpecError, match=f"gates.{name}"):
        from_mapping(data)
