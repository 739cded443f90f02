"""warm_cache: cached prompt tokens beyond what prompts share."""

from __future__ import annotations

from tests.serving_made import ServingMade
from tests.verdict.served import blind, found


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
