"""rate_limited: answers that say "later", and how long streams waited behind them."""

from __future__ import annotations

import pytest

from tests.serving_made import ServingMade
from tests.verdict.served import clean, found

pytestmark = pytest.mark.slow


def limited(number: int, *, status: int = 429, of: int = 200) -> ServingMade:
    """One stream; behind each of the first answers, which take 0.1 s, it waits for 2 s."""
    made = ServingMade(concurrency=(1,), blocks=1, seconds=600.0)
    launch, due = made.launch(), 0.0
    for place in range(of):
        bad = place < number
        told = (
            {"status": "4xx" if status < 500 else "5xx", "http_status": status, "done_s": 0.1} if bad else {"at_s": [0.1], "tokens_out": 1}
        )
        made.request(launch, due, stream=0, follows=place > 0, **told)  # type: ignore[arg-type]
        due += 2.1 if bad else 0.1
    return made


def test_a_server_that_takes_everything_limits_nothing() -> None:
    assert found("rate_limited", clean()) == ()
    assert found("rate_limited", limited(20, status=500).measured()) == ()


@pytest.mark.parametrize("status", [429, 503])
def test_a_limit_is_named_with_what_it_cost(status: int) -> None:
    (finding,) = found("rate_limited", limited(20, status=status).measured())
    assert (finding.rule, finding.severity, finding.configuration) == ("rate_limited", "warning", "concurrency=1")
    assert finding.evidence == (f"20 requests of 200 were rejected (10 %: 20 with {status}); streams waited 40 s after them in total")


def test_a_single_refusal_is_a_note() -> None:
    (finding,) = found("rate_limited", limited(1).measured())
    assert finding.severity == "note"
