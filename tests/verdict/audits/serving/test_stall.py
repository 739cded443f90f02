"""stall: a silence of all streams while requests are under way is named with its place; idle times are not."""

from __future__ import annotations

import re

import pytest

from tests.serving_made import ServingMade
from tests.verdict.served import blind, clean, found


def load(*, stalled: tuple[float, float] | None = None, every_s: float = 0.1, streamed: bool = True) -> ServingMade:
    """A request every 0.1 s that takes 0.5 s (first text after 0.1 s); in a stall everything waits for its end."""
    made = ServingMade(rate=(1 / every_s,), blocks=1, seconds=20.0)
    launch = made.launch()
    for place in range(round(20.0 / every_s)):
        due = every_s * place
        usual = [due + 0.1 * step for step in ((1, 2, 3, 4, 5) if streamed else (5,))]
        times = usual if stalled is None else [max(t, stalled[1] + 0.001) if t >= stalled[0] else t for t in usual]
        made.request(launch, due, at_s=[t - due for t in times], tokens_out=len(times))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [True, False])
def test_a_load_without_a_stall_is_silent(streamed: bool) -> None:
    assert found("stall", load(streamed=streamed).measured()) == ()
    assert found("stall", clean()) == ()
    assert found("stall", clean(rate=(), concurrency=(1,))) == ()


@pytest.mark.parametrize("streamed", [True, False])
def test_a_stall_of_two_seconds_is_named_with_its_place(streamed: bool) -> None:
    """The longest own wait is 0.1 s, without streaming 0.5 s: six times that are 0.6 s and 3 s. Bins of 50 ms cost up to two of them."""
    length = 2.0 if streamed else 4.0
    (finding,) = found("stall", load(stalled=(8.0, 8.0 + length), streamed=streamed).measured())
    assert (finding.rule, finding.severity, finding.configuration) == ("stalled", "warning", "rate=10")
    seconds, into = re.findall(r"[\d.]+", finding.evidence)[:2]
    assert length - 0.1 <= float(seconds) <= length + 0.1  # the last text before it came at 7.9 s
    assert 7.9 <= float(into) <= 8.05


def test_half_a_second_is_the_shortest_that_is_named() -> None:
    assert found("stall", load(stalled=(8.0, 8.4)).measured()) == ()


def test_a_time_without_requests_is_no_stall() -> None:
    """One request every 5 s that takes 0.5 s."""
    made = ServingMade(rate=(1.0,), blocks=1, seconds=100.0)
    launch = made.launch()
    for place in range(20):
        made.request(launch, 5.0 * place, ttft_s=0.1, gap_s=0.1, tokens_out=5)
    assert found("stall", made.measured()) == ()


def test_slow_answers_one_after_the_other_are_no_stall() -> None:
    made = ServingMade(concurrency=(1,), blocks=1, seconds=100.0, stream=False)
    launch = made.launch()
    for place in range(20):
        made.request(launch, 5.0 * place, at_s=[4.9], tokens_out=1, stream=0, follows=place > 0)
    assert found("stall", made.measured()) == ()


@pytest.mark.slow
def test_few_requests_show_nothing() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.request(made.launch(), 0.0)
    assert blind("stall", made.measured()) == "no launch sent 10 requests"
    assert blind("stall", clean()) is None
