"""unfinished: what the drain cut off is counted apart from other timeouts."""

from __future__ import annotations

from tests.serving_made import ServingMade
from tests.verdict.served import clean, found


def cut(number: int, *, error: str = "not finished 60 s after the last request was due", of: int = 100) -> ServingMade:
    made = ServingMade(rate=(10.0,), blocks=1)
    launch = made.launch()
    for place in range(of):
        bad = place >= of - number
        made.request(launch, 0.1 * place, status="timeout" if bad else "ok", error=error if bad else None)
    return made


def test_a_clean_record_is_silent() -> None:
    assert found("unfinished", clean()) == ()


def test_answers_that_were_cut_off_are_counted() -> None:
    (finding,) = found("unfinished", cut(5).measured())
    assert (finding.rule, finding.severity) == ("answers_cut_off", "warning")
    assert finding.evidence.startswith("5 of 100 requests (5 %) had not ended 60 s after the last one was due")


def test_fewer_than_one_in_a_hundred_are_a_note() -> None:
    assert [one.severity for one in found("unfinished", cut(1, of=101).measured())] == ["note"]


def test_other_timeouts_are_the_servers() -> None:
    assert found("unfinished", cut(5, error="not finished in 600 s").measured()) == ()
