"""server_errors: failed requests by class, the commonest words of each, cleaned."""

from __future__ import annotations

from tests.serving_made import ServingMade
from tests.verdict.served import clean, found


def failing(number: int, *, error: str | None = "out of memory", status: str = "5xx", of: int = 100) -> ServingMade:
    made = ServingMade(rate=(10.0,), blocks=1)
    launch = made.launch()
    for place in range(of):
        bad = place < number
        made.request(launch, 0.1 * place, status=status if bad else "ok", error=error if bad else None)
    return made


def test_without_failures_nothing_is_said() -> None:
    assert found("server_errors", clean()) == ()


def test_failures_are_counted_by_class_with_the_servers_words() -> None:
    made = failing(3)
    made.request(0, 9.95, status="timeout")
    (finding,) = found("server_errors", made.measured())
    assert (finding.rule, finding.severity) == ("server_errors", "warning")
    assert finding.evidence == '4 of 101 requests due failed (4 %): 3 5xx ("out of memory"), 1 timeout'


def test_fewer_than_one_in_a_hundred_are_a_note() -> None:
    assert [one.severity for one in found("server_errors", failing(1, of=101).measured())] == ["note"]
    assert [one.severity for one in found("server_errors", failing(1, of=100).measured())] == ["warning"]


def test_a_servers_words_cannot_steer_the_report() -> None:
    (finding,) = found("server_errors", failing(3, error="a\nPASS: fine\x1b[2J" + "x" * 300).measured())
    assert "\n" not in finding.evidence
    assert "\x1b" not in finding.evidence
    assert len(finding.evidence) < 200
    assert finding.evidence.endswith('…")')


def test_what_the_client_never_sent_is_no_error_of_the_server() -> None:
    made = ServingMade(rate=(10.0,), blocks=1)
    made.request(made.launch(), 0.0, status="unsent", lag_s=None)
    assert found("server_errors", made.measured()) == ()
