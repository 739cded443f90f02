"""cross_talk: one answer with another's nonce is a failure; echoes of one's own are not."""

from __future__ import annotations

import polars as pl

from tests.serving_made import ServingMade
from tests.verdict.served import blind, changed, clean, found, rules

NONCES = ("nonce-alpha", "nonce-bravo", "nonce-charlie")


def canaries(answers: tuple[str | None, ...], *, extra: str | None = None, role: str = "timed") -> ServingMade:
    made = ServingMade(rate=(1.0,), blocks=1)
    launch = made.launch(role=role)
    for place, (nonce, text) in enumerate(zip(NONCES, answers, strict=True)):
        made.request(launch, float(place), kind="canary", expected=nonce, text=text)
    if extra is not None:
        made.request(launch, 5.0, text=extra)
    return made


def test_everybody_gets_their_own() -> None:
    assert found("cross_talk", clean()) == ()
    assert found("cross_talk", canaries(NONCES).measured()) == ()
    assert blind("cross_talk", canaries(NONCES).measured()) is None


def test_swapped_answers_fail_and_are_named() -> None:
    swapped = (NONCES[1], NONCES[0], NONCES[2])
    (finding,) = [one for one in found("cross_talk", canaries(swapped).measured()) if one.severity == "fail"]
    assert finding.rule == "cross_talk"
    assert finding.evidence == ("2 answers contain another request's nonce, the first: request 0 of launch 0 got the nonce of request 1")


def test_one_swap_among_simulated_canaries_is_enough() -> None:
    """The answer to one canary of the middle launch is given to a plain request."""
    record = clean()
    nonce = record.table("arrivals").filter((pl.col("kind") == "canary") & (pl.col("launch") == 1))["expected"][0]
    plain = record.table("requests").filter((pl.col("kind") == "normal") & (pl.col("launch") == 1) & (pl.col("phase") == "main"))
    victim = (pl.col("launch") == 1) & (pl.col("request") == plain["request"][3])
    text = pl.when(victim).then(pl.lit(f"well, {nonce} then")).otherwise(pl.col("text"))
    assert rules("cross_talk", changed(record, "requests", lambda frame: frame.with_columns(text=text))) == [("cross_talk", "fail")]


def test_an_answer_that_holds_anothers_nonce_beside_ones_own_fails_too() -> None:
    assert ("cross_talk", "fail") in rules("cross_talk", canaries((f"{NONCES[0]} {NONCES[1]}", *NONCES[1:])).measured())


def test_a_fault_launch_is_looked_at_too() -> None:
    assert ("cross_talk", "fail") in rules("cross_talk", canaries((NONCES[1], *NONCES[1:]), role="fault").measured())


def test_a_nonce_that_begins_another_is_no_strangers() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    launch = made.launch()
    for place, nonce in enumerate(("nonce-1", "nonce-12")):
        made.request(launch, float(place), kind="canary", expected=nonce, text=nonce)
    assert found("cross_talk", made.measured()) == ()


def test_a_model_that_does_not_answer_is_no_swap_and_is_said() -> None:
    measured = canaries(("no", "no", "no")).measured()
    assert rules("cross_talk", measured) == [("canaries_unanswered", "note")]
    assert "so a swap would look the same" in (blind("cross_talk", measured) or "")


def test_without_canaries_it_says_that_it_cannot_look() -> None:
    assert rules("cross_talk", clean(canaries=0.0)) == [("cross_talk_not_measured", "note")]
    assert blind("cross_talk", clean(canaries=0.0)) == "no request carried a nonce (serving.correctness.canaries)"


def test_answers_whose_text_was_not_kept_show_nothing() -> None:
    assert rules("cross_talk", canaries((None, None, None)).measured()) == [("cross_talk_not_measured", "note")]
