"""Equal prompts and equal answers, canaries with their nonce, and answers with another's."""

from __future__ import annotations

import pytest

from fireassay.metrics.serving.answers import ANSWERS_IDENTICAL, CANARIES_ANSWERED, CROSS_TALK
from tests.metrics.serving.values import absent, estimate, every_second
from tests.serving_made import ServingMade


def asked_again(texts: list[list[str]]) -> ServingMade:
    """One list of answers per prompt, replica by replica."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    second = 0
    for example, answers in enumerate(texts):
        for index, text in enumerate(answers):
            kind = "rerun" if index else "identity"
            made.request(number, float(second), kind=kind, example=str(example), replica=index % 2, text=text)
            second += 1
    return made


def test_answers_without_any_text_agree_about_nothing() -> None:
    absent(ANSWERS_IDENTICAL, asked_again([["", ""], [" ", "\n"]]))
    assert estimate(ANSWERS_IDENTICAL, asked_again([["", "abc"]])).value == 0.0


def test_one_prompt_in_three_differs() -> None:
    value = estimate(ANSWERS_IDENTICAL, asked_again([["abc", "abc"], ["abcd", "abxd", "abcd"], ["e", "e"]]))
    assert (value.value, value.n_trials) == (pytest.approx(2 / 3), 3)
    assert "1 differed, the earliest: example 1 of launch 0 after 2 characters" in value.method


def test_a_text_that_goes_on_differs_too_and_single_answers_say_nothing() -> None:
    assert estimate(ANSWERS_IDENTICAL, asked_again([["ab", "abc"]])).value == 0.0
    assert "identity" in absent(ANSWERS_IDENTICAL, asked_again([["ab"], ["cd"]])).detail


def test_only_canaries_count() -> None:
    """Two of three canaries repeat their nonce; an answer of kind normal is none of them."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second, text in enumerate(["nonce-0 !", "sorry", "it is nonce-2"]):
        made.request(number, float(second), kind="canary", expected=f"nonce-{second}", text=text)
    made.request(number, 3.0, expected="42", text="41")
    value = estimate(CANARIES_ANSWERED, made)
    assert (value.value, value.n_trials) == (pytest.approx(2 / 3), 3)


def test_without_canaries_there_is_none() -> None:
    assert "canaries" in absent(CANARIES_ANSWERED, every_second()).detail


def asked(texts: list[str]) -> ServingMade:
    """Canaries nonce-01, nonce-011 and nonce-02, and then requests without a nonce."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    nonces = ["nonce-01", "nonce-011", "nonce-02"]
    for second, text in enumerate(texts):
        canary = second < len(nonces)
        made.request(number, float(second), kind="canary" if canary else "normal", expected=nonces[second] if canary else None, text=text)
    return made


def test_an_answer_with_a_stranger_s_nonce_counts_once() -> None:
    """The third answer holds two strangers' nonces, the fourth one; "nonce-01" inside of "nonce-011" is no stranger's."""
    value = estimate(CROSS_TALK, asked(["nonce-01", "nonce-011", "nonce-01 nonce-011", "is nonce-02", "-"]))
    assert (value.value, value.n_trials) == (2.0, 5)


def test_a_clean_record_counts_none_and_one_without_canaries_says_so() -> None:
    clean = estimate(CROSS_TALK, asked(["nonce-01", "no", "nonce-02"]))
    assert (clean.value, clean.low, clean.high) == (0.0, 0.0, 0.0)
    absent(CROSS_TALK, every_second(1, text="hello"))
