"""Were tokens counted as they should be, and are outputs as long as asked?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.serving_made import ServingMade
from tests.verdict.served import blind, clean, found, rules

# ---- token counts ----
# token_counts: a usage that says more than the tokenizer counts is named; honest servers are not.


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


# ---- output lengths ----
# output_lengths: answers that are shorter than asked are named, with how many.


def answered(short: int, *, length: int = 50, asked: int = 100, **serving: object) -> ServingMade:
    """100 answers, of which so many have another length."""
    made = ServingMade(rate=(10.0,), blocks=1, **serving)
    launch = made.launch()
    for place in range(100):
        made.request(launch, 0.1 * place, tokens_out=length if place < short else asked, asked_out=asked, chunks=1)
    return made


def test_answers_of_the_length_asked_for_are_fine() -> None:
    assert found("output_lengths", answered(0).measured()) == ()
    assert blind("output_lengths", clean()) is None


def test_a_tenth_that_is_cut_is_named() -> None:
    (finding,) = found("output_lengths", answered(10).measured())
    assert (finding.rule, finding.severity) == ("lengths_not_as_asked", "warning")
    assert finding.evidence == (
        "10 % of 100 answers are more than 10 % from the requested length, 10 of them shorter; median 100 tokens, requested 100"
    )


@pytest.mark.parametrize(("short", "length", "findings"), [(5, 50, 0), (6, 50, 1), (100, 90, 0), (100, 89, 1), (100, 111, 1)])
def test_the_limits_are_a_twentieth_of_the_answers_and_a_tenth_of_the_length(short: int, length: int, findings: int) -> None:
    assert len(found("output_lengths", answered(short, length=length).measured())) == findings


@pytest.mark.parametrize(("forced", "findings"), [(False, 0), (True, 1)])
def test_in_an_evaluation_the_model_stops_by_itself(forced: bool, findings: int, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = answered(10, ignore_eos=forced).measured()
    kind = replace(measured.kind, unit="item")
    monkeypatch.setitem(vars(measured), "kind", kind)  # a cached property
    assert len(found("output_lengths", measured)) == findings


def test_two_tokens_more_or_less_are_never_far() -> None:
    assert found("output_lengths", answered(100, length=2, asked=4).measured()) == ()


def test_where_answers_may_end_where_they_like_it_is_a_note() -> None:
    (finding,) = found("output_lengths", answered(10, ignore_eos=False).measured())
    assert finding.severity == "note"


def test_lengths_by_the_tokenizer_count_where_the_server_tells_none() -> None:
    made = ServingMade(rate=(10.0,), blocks=1)
    launch = made.launch()
    for place in range(100):
        made.counted(launch, made.request(launch, 0.1 * place, tokens_out=None, asked_out=100, chunks=1), tokens_out=40)
    assert len(found("output_lengths", made.measured())) == 1


def test_without_any_length_it_cannot_look() -> None:
    made = ServingMade(rate=(10.0,), blocks=1)
    made.request(made.launch(), 0.0, tokens_out=None)
    assert blind("output_lengths", made.measured()) == "no answer's length was both requested and counted"
