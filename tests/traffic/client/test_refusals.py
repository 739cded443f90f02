"""Do ten identical refusals end a load, with the server's words and the cure, and nothing else?"""

from __future__ import annotations

import pytest

from fireassay.traffic.client.refusals import NO_SERVER, Refusals, sentence


def taken(*statuses: int | None, after: int | None = 3) -> list[bool]:
    refusals = Refusals(after)
    return [refusals.refused(status, "no") is not None for status in statuses]


@pytest.mark.parametrize("status", [400, 401, 404, 422, 500, 200, NO_SERVER])
def test_the_same_refusal_in_a_row_ends_a_load(status: int) -> None:
    assert taken(status, status, status) == [False, False, True]


def test_another_status_between_begins_the_count_again() -> None:
    assert taken(401, 401, 404, 401, 401, 401) == [False] * 5 + [True]


@pytest.mark.parametrize("status", [408, 425, 429, 502, 503, 504, None])
def test_what_asks_for_patience_or_is_no_refusal_ends_nothing(status: int | None) -> None:
    assert taken(*[status] * 9) == [False] * 9


def test_after_a_success_a_refusal_is_a_result() -> None:
    refusals = Refusals(1)
    refusals.answered()
    assert refusals.refused(401, "no") is None


def test_keep_going_never_ends() -> None:
    assert taken(*[401] * 30, after=None) == [False] * 30


def test_the_sentence_has_the_servers_words_the_number_sent_and_the_flag() -> None:
    text = sentence("http://h:1", {"status": 401, "words": "HTTP 401: missing key"}, 10)
    assert text.splitlines() == [
        'http://h:1 answers 401 Unauthorized: "missing key"',
        "10 requests were sent, none counted (--keep-going sends them all).",
        "Give the key's variable: --api-key-env OPENAI_API_KEY",
    ]
    unreadable = sentence("http://h:1", {"status": 200, "words": "the answer (text/html) is not JSON"}, 10).splitlines()
    assert unreadable[0] == 'http://h:1 answers 200 OK: "the answer (text/html) is not JSON"'
    assert "the URL is the engine's API" in unreadable[2]
    page = sentence("http://h:1", {"status": 501, "words": "HTTP 501: <html>\n <h1>No\n POST</h1></html>"}, 10).splitlines()
    assert page[0] == 'http://h:1 answers 501 Not Implemented: "No POST"'
    assert "log" in sentence("http://h:1", {"status": 500, "words": "HTTP 500: CUDA out of memory"}, 10)
    assert "--model" in sentence("http://h:1", {"status": 404, "words": "HTTP 404"}, 10)
    assert sentence("http://h:1", {"status": NO_SERVER, "words": "refused"}, 10).startswith('no server at http://h:1: "refused"')
    assert sentence("http://h:1/foo", {"status": 404, "words": ""}, 10).endswith("; write http://h:1 if the server answers there")
    assert sentence("http://h:1/v1", {"status": 404, "words": ""}, 10).endswith("--model")


def test_a_refused_budget_is_named_where_the_body_may_be_wrong() -> None:
    budget = {"body.thinking.budget_tokens": 1024}
    bad = sentence("http://h:1", {"status": 400, "words": "HTTP 400: too many"}, 10, budget)
    assert bad.endswith("; the engine may not allow thinking.budget_tokens = 1024 (--steps, --step-field)")
    assert "1024" not in sentence("http://h:1", {"status": 401, "words": ""}, 10, budget)
