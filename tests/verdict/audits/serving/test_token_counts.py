"""token_counts: a usage that says more than the tokenizer counts is named; honest servers are not."""

from __future__ import annotations

from tests.serving_made import ServingMade
from tests.verdict.served import blind, found, rules


def counted(*, said: int | None, by_tokenizer: int | None, said_in: int | None = 100, counted_in: int | None = 100) -> ServingMade:
    made = ServingMade(rate=(5.0,), blocks=1)
    launch = made.launch()
    for place in range(50):
        request = made.request(launch, 0.2 * place, tokens_out=said, chunks=100, tokens_in=said_in)
        made.counted(launch, request, tokens_in=counted_in, tokens_out=by_tokenizer)
    return made


def test_equal_counts_and_one_token_without_text_are_fine() -> None:
    assert found("token_counts", counted(said=100, by_tokenizer=100).measured()) == ()
    assert found("token_counts", counted(said=101, by_tokenizer=100).measured()) == ()
    assert found("token_counts", counted(said=103, by_tokenizer=100).measured()) == ()  # 2 % and one a request


def test_a_usage_five_per_cent_too_high_is_named() -> None:
    (finding,) = found("token_counts", counted(said=105, by_tokenizer=100).measured())
    assert (finding.rule, finding.severity) == ("token_counts_differ", "warning")
    assert finding.evidence == "the server reports 5,250 output tokens for 50 requests, the tokenizer counts 5,000: more by 5 %"


def test_prompts_that_the_server_cut_are_named() -> None:
    (finding,) = found("token_counts", counted(said=100, by_tokenizer=100, said_in=90).measured())
    assert finding.evidence.endswith("4,500 prompt tokens for 50 requests, the tokenizer counts 5,000: fewer by 10 %")


def test_a_chat_templates_few_tokens_are_let_pass() -> None:
    assert found("token_counts", counted(said=100, by_tokenizer=100, said_in=106).measured()) == ()


def test_a_server_without_usage_is_counted_by_the_tokenizer_and_that_is_said() -> None:
    assert rules("token_counts", counted(said=None, by_tokenizer=100).measured()) == [("tokens_by_tokenizer", "note")]


def test_where_nobody_counted_that_is_said() -> None:
    measured = counted(said=None, by_tokenizer=None).measured()
    assert rules("token_counts", measured) == [("token_counts_not_measured", "note")]
    assert blind("token_counts", measured) is not None
    assert blind("token_counts", counted(said=100, by_tokenizer=100).measured()) is None
