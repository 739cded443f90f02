"""The one sentence that may be quoted: the number, its interval, its conditions, and what was not measured."""

from __future__ import annotations

import pytest

from fireassay.spec.experiment import Gates, Launches
from fireassay.verdict.phrases import launch_words
from tests.handmade import Handmade
from tests.verdict.making import change, good, judged

pytestmark = pytest.mark.slow


def said(made: Handmade, **how: object) -> str:
    return judged(made, **how).verdict.sentence  # type: ignore[arg-type]


def test_a_recommendation_holds_speedup_efficiency_quality_and_conditions() -> None:
    """The base's steps take 1, 1.01 ... 1.04 s, whose geometric mean is 1.020; two workers are 1.8 times as fast."""
    sentence = said(good(prices=3.6))
    assert sentence.startswith(
        "handmade: 2 workers are the largest admissible worker count; speedup 1.800 [1.782, 1.818] over 1 worker (1.020 s "
    )
    assert "efficiency 90.00 % [89.12, 90.90]" in sentence
    assert "accuracy held (0.90, " in sentence
    assert "margin 0.1)" in sentence
    assert "$0.02828 " in sentence
    assert "Conditions: strong scaling, 5 launches per configuration in randomised rounds, 95 % intervals" in sentence


def test_what_was_not_measured_is_named() -> None:
    """Only what was asked for: a dimension without its input (a price, a fault, a source of energy) is not missing; [energy] is given here."""
    assert said(good()).endswith("Not measured: energy.")
    assert said(good(prices=3.6)).endswith("Not measured: energy.")


def test_the_machine_is_part_of_the_conditions() -> None:
    made = good()
    made.manifest["environment"]["before"] = {"cpu": {"model": "EPYC 9", "usable": {"count": 2}}}
    assert "95 % intervals, on EPYC 9, 2 usable cores." in said(made)
    made.manifest["environment"]["before"] = {"cpu": {"model": {"absent": "no /proc"}, "usable": {"absent": "no affinity"}}}
    assert "95 % intervals." in said(made)


def test_the_confidence_is_that_of_the_experiment() -> None:
    made = good()
    made.experiment = made.experiment.model_copy(update={"launches": Launches(confidence=0.9)})
    assert "90 % intervals" in said(made)


def test_the_base_alone_gives_its_time_and_why_more_do_not_pass() -> None:
    sentence = said(good(efficiency={2: 0.5}))
    assert "1 worker is the largest admissible worker count (the base): 1.020 s" in sentence
    assert "; 2 workers do not pass: efficiency 50.00 % [49.51, 50.50] misses the gate of at least 70 %." in sentence


def test_a_larger_count_that_is_open_is_said_to_be_open() -> None:
    sentence = said(good(efficiency={2: 0.7}))
    assert "; 2 workers are undecided: efficiency 70" in sentence
    assert "do not pass" not in sentence


def test_invalid_says_that_no_number_may_be_quoted() -> None:
    sentence = said(good(), state="interrupted", sealed=False)
    assert sentence.startswith("handmade: INVALID, no number of this record may be quoted: ")
    assert "interrupted" in sentence


def test_fail_names_the_configuration_and_the_evidence() -> None:
    made = good()
    change(made, "fingerprints", 6, lambda row: f"{row[1]}" if row[4] == "parameter_hash" else row[6], workers=2)
    assert said(made).startswith("handmade: FAIL: workers=2: parameter hashes differ between ranks before the first step")


def test_fail_of_what_is_required_names_only_that() -> None:
    sentence = said(good(levels=(1, 2, 4), efficiency={2: 0.5, 4: 0.4}, gates=Gates(required_workers=2)))
    assert sentence.startswith("handmade: FAIL: workers=2: ")
    assert "workers=4" not in sentence


def test_a_requirement_that_is_open_is_inconclusive_and_not_a_claim() -> None:
    """One worker is admissible, but two were required."""
    sentence = said(good(efficiency={2: 0.7}, gates=Gates(required_workers=2)))
    assert sentence.startswith("handmade: INCONCLUSIVE: 2 workers are required and undecided: efficiency 70")


def test_inconclusive_says_what_is_lacking() -> None:
    assert "no configuration was shown to hold quality" in said(good(blocks=2))


def test_adaptive_launches_are_told_with_what_ended_them_and_what_the_looking_cost() -> None:
    made = good()
    made.experiment = made.experiment.model_copy(update={"launches": made.experiment.launches.model_copy(update={"precision": 0.05})})
    made.manifest |= {
        "looks": [{"blocks": 5, "confidence": 0.975, "enough": True, "widths": {}, "sentence": "narrow"}],
        "looks_ended": "precision",
    }
    assert launch_words(made.measured()) == (
        "5 launches per configuration in randomised rounds (until every primary interval was within ±5 %; 1 interim analysis, "
        "compensated by intervals at 97.5 %)"
    )
    made.manifest["looks_ended"] = "at_most"
    assert "±5 % was not reached everywhere" in judged(made).verdict.sentence
