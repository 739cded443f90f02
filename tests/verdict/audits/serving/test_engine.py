"""Did the engines serve as they should: evenly, warm, without refusals and errors?"""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from fireassay.reports.build_view import build
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Side
from tests.reports.written import content
from tests.serving_made import ServingMade
from tests.tiers import some
from tests.verdict.judging import concluded
from tests.verdict.served import blind, clean, found, steady

# ---- replica imbalance ----
# replica_imbalance: shares of the load, and times of the replicas.


def shared(first: int, *, of: int = 100, slow_s: float = 0.1, replicas: int = 2) -> ServingMade:
    """Replica 0 gets the first so many of the requests, the last replica the rest; it takes `slow_s` to its first text."""
    made = ServingMade(rate=(10.0,), blocks=3, replicas=replicas)
    for block in range(3):
        launch = made.launch(block=block)
        for place in range(of):
            mine = place < first
            made.request(launch, 0.1 * place, replica=0 if mine else replicas - 1, ttft_s=0.1 if mine else slow_s)
    return made


def test_even_shares_and_equal_times_are_fine() -> None:
    assert found("replica_imbalance", shared(50).measured()) == ()
    assert found("replica_imbalance", clean()) == ()


def test_more_than_a_quarter_above_the_even_share_is_named() -> None:
    assert found("replica_imbalance", shared(62).measured()) == ()
    (finding,) = found("replica_imbalance", shared(70).measured())
    assert (finding.rule, finding.severity) == ("replicas_uneven", "warning")
    assert finding.evidence == "replica 0 was sent 1.4 times its even share (70 of 100 requests; 3 of 3 launches, launches 0, 1, 2)"


def test_a_replica_that_got_nothing_counts() -> None:
    (finding,) = found("replica_imbalance", shared(100).measured())
    assert finding.evidence.startswith("replica 0 was sent 2 times its even share")


def test_what_a_router_shares_out_is_not_seen() -> None:
    """It is one address, so that every request seems to go to the first replica."""
    made = shared(100)
    serving = made.experiment.serving
    assert serving is not None
    (target,) = serving.targets
    behind = target.model_copy(update={"urls": (), "command": ("serve", "{port}"), "replicas": 2, "router": ("proxy", "{port}", "{ports}")})
    made.experiment = made.experiment.model_copy(update={"serving": serving.model_copy(update={"targets": (behind,)})})
    assert found("replica_imbalance", made.measured()) == ()
    assert blind("replica_imbalance", made.measured()) is not None


def test_a_replica_that_is_half_as_fast_is_named() -> None:
    (finding,) = found("replica_imbalance", shared(50, slow_s=0.2).measured())
    assert finding.rule == "replicas_unequal"
    assert finding.evidence.startswith("replica 1 takes 2 times as long to its first text as the fastest one")


def test_few_requests_and_one_replica_show_nothing() -> None:
    assert found("replica_imbalance", shared(30, of=39).measured()) == ()
    assert blind("replica_imbalance", shared(30, of=39).measured()) is not None
    assert found("replica_imbalance", shared(100, replicas=1).measured()) == ()


# ---- cold start ----
# cold_start: what the first requests after a start took, beside the load's.


def started(cold_s: float) -> ServingMade:
    made = ServingMade(rate=(5.0,), blocks=2)
    for block in range(2):
        launch = made.launch(block=block)
        made.request(launch, -0.9, phase="cold", ttft_s=cold_s)
        for place in range(20):
            made.request(launch, 0.2 * place, ttft_s=0.1)
    return made


def test_a_cold_request_five_times_as_slow_is_a_note() -> None:
    (finding,) = found("cold_start", started(0.5).measured())
    assert (finding.rule, finding.severity, finding.configuration) == ("cold_start", "note", "rate=5")
    assert finding.evidence == (
        "the first requests after a start took 500 ms to the first text, 5 times the load's median of 100 ms; they are in no other number"
    )


def test_up_to_twice_is_not_worth_saying() -> None:
    assert found("cold_start", started(0.2).measured()) == ()


def test_without_cold_requests_nobody_knows() -> None:
    made = ServingMade(rate=(5.0,), blocks=1)
    made.request(made.launch(), 0.0)
    assert blind("cold_start", made.measured()) == "no cold request was answered (serving.arrivals.cold)"
    assert blind("cold_start", started(0.5).measured()) is None


# ---- warm cache ----
# warm_cache: cached prompt tokens beyond what prompts share.


def cached(tokens: int | None, *, prefix: int = 0, cache: str = "bust", turn: int | None = None) -> ServingMade:
    made = ServingMade(rate=(5.0,), blocks=1, prompts={"prefix_tokens": prefix, "cache": cache})
    launch = made.launch()
    for place in range(20):
        made.request(launch, 0.2 * place, tokens_in=100, cached=tokens, session=None if turn is None else place, turn=turn)
    return made


def test_a_tenth_is_let_pass_and_more_is_named() -> None:
    assert found("warm_cache", cached(0).measured()) == ()
    assert found("warm_cache", cached(10).measured()) == ()
    (finding,) = found("warm_cache", cached(60).measured())
    assert (finding.rule, finding.severity) == ("cache_was_warm", "warning")
    assert finding.evidence.startswith("60 % of the prompt tokens came from the server's cache, beyond the 0 tokens that prompts share")


def test_the_shared_prefix_may_be_cached() -> None:
    assert found("warm_cache", cached(60, prefix=50).measured()) == ()


def test_a_warm_cache_that_is_asked_for_is_fine() -> None:
    assert found("warm_cache", cached(90, cache="as_is").measured()) == ()


def test_later_turns_of_a_conversation_are_expected_to_be_cached() -> None:
    assert found("warm_cache", cached(90, turn=1).measured()) == ()
    assert len(found("warm_cache", cached(90, turn=0).measured())) == 1


def test_most_servers_do_not_say() -> None:
    assert blind("warm_cache", cached(None).measured()) is not None
    assert blind("warm_cache", cached(0).measured()) is None


# ---- repeated prompts ----
# repeated_prompts: what was sent to an address before may come from a warm cache.


def asked(**how: Any) -> list[str]:
    salted = how.pop("salted", True)
    record = ServingMade(rate=(20.0,), blocks=1, seconds=5.0, **how)
    record.manifest["schedules"] = {"0": {"sha256": "ab", "requests": 1, **({"salted": True} if salted else {})}}
    steady(record)
    return [one.evidence for one in found("repeated_prompts", record.measured())]


def test_prompts_that_are_new_in_every_record_need_no_word() -> None:
    assert asked() == []
    assert asked(task="embeddings") == []  # of made texts


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"prompts": {"cache": "as_is"}}, "as_is"),
        ({"task": "embeddings", "prompts": {"source": "rows.jsonl"}}, "rows.jsonl"),
        ({"salted": False}, "of a version"),
    ],
)
def test_wherever_prompts_are_sent_again_to_one_address_it_is_named(how: dict[str, Any], says: str) -> None:
    (evidence,) = asked(**how)
    assert says in evidence
    assert asked(started=True, **how) == []  # a fresh engine before every block


# ---- rate limited ----
# rate_limited: answers that say "later", and how long streams waited behind them.


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


@pytest.mark.slow
def test_a_server_that_takes_everything_limits_nothing() -> None:
    assert found("rate_limited", clean()) == ()
    assert found("rate_limited", limited(20, status=500).measured()) == ()


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 503])
def test_a_limit_is_named_with_what_it_cost(status: int) -> None:
    (finding,) = found("rate_limited", limited(20, status=status).measured())
    assert (finding.rule, finding.severity, finding.configuration) == ("rate_limited", "warning", "concurrency=1")
    assert finding.evidence == (f"20 requests of 200 were rejected (10 %: 20 with {status}); streams waited 40 s after them in total")


@pytest.mark.slow
def test_a_single_refusal_is_a_note() -> None:
    (finding,) = found("rate_limited", limited(1).measured())
    assert finding.severity == "note"


# ---- server errors ----
# server_errors: failed requests by class, the commonest words of each, cleaned.


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


# ---- certificates ----
# certificates: a load that checked nobody's certificate says so in every report, and a comparison names it.


def made(*, verified: bool) -> ServingMade:
    record = ServingMade(rate=(20.0,), blocks=3, seconds=5.0, client={"verify_tls": verified})
    steady(record, ttft_s=0.1, gap_s=0.01, tokens_out=10)
    return record


@pytest.mark.slow
def test_unchecked_certificates_are_a_warning_and_checked_ones_are_nothing() -> None:
    (finding,) = found("certificates", made(verified=False).measured())
    assert (finding.rule, finding.severity) == ("certificates_unchecked", "warning")
    assert found("certificates", made(verified=True).measured()) == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", some(["terminal", "html", "markdown", "latex", "excel", "json"], 2))
def test_every_report_shows_it(name: str) -> None:
    for verified in (True, False):
        measured = made(verified=verified).measured()
        shown = content(build(measured, concluded(measured)), name)
        assert ("no-verify-tls" in _text(shown)) is not verified


def _text(content: str | bytes) -> str:
    if isinstance(content, str):
        return content.replace("{", "").replace("}", "")
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        return "".join(book.read(name).decode("utf-8", "replace") for name in book.namelist())


@pytest.mark.slow
def test_a_comparison_names_it_as_a_condition_that_differs() -> None:
    sides = []
    for verified in (True, False):
        measured = made(verified=verified).measured()
        sides.append(Side(label=str(verified), measured=measured, judgement=concluded(measured)))
    mismatches = {one.field: one.kind for one in compare(tuple(sides)).mismatches}
    assert mismatches["serving.client.verify_tls"] == "condition"
