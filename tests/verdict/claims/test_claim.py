"""The verdict on a claim, and the smallest set of quantities that would make it sound."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay import catalog
from fireassay.errors import SpecError
from fireassay.spec.claim import Claim, load_claim
from fireassay.verdict.claims.claim import QUANTITIES, Quantity, audit_claim, facts_needed, smallest_set
from fireassay.verdict.types import Finding
from tests.verdict.claiming import BASELINE, LATENCY, NOTHING, NUMBER, QUALITY, SIDE, claim, found, measure

BOTH, STRONGEST, SCORES = (
    "time of both sides in every launch",
    "time of the strongest baseline in every launch",
    "score of every held-out item",
)


@pytest.fixture
def examples(repository: Path) -> Path:
    return repository / "examples" / "claims"


# ---- the examples: figures and answers of their sources ------------------------------------------------------------


def test_the_eight_times_claim_measures_its_baselines_slack(examples: Path) -> None:
    """The source's answer: the baseline had fp32, a small batch and no compilation, and 8 on 8 devices is a red flag."""
    said = load_claim(examples / "eight_times.toml")
    audited = audit_claim(said)
    assert audited.status == "unsound"
    rules = found(said)
    assert rules["baseline_not_equally_optimised"] == rules["conditions_differ"] == "invalid"
    assert rules["speedup_at_workers"] == "warning"
    assert measure(audited) == [STRONGEST, SCORES]
    assert audited.sentence.startswith("Unsound as stated, because of apples to oranges, weak baseline")


def test_the_two_methods_claim_is_a_bundle_of_no_system(examples: Path) -> None:
    """The source's answer: for each method its times and its accuracy, on one configuration, in one run."""
    said = load_claim(examples / "two_methods.toml")
    audited = audit_claim(said)
    assert found(said)["numbers_of_different_runs"] == "invalid"
    assert audited.sentence.startswith("Unsound as stated, because of construct mismatch")
    assert measure(audited) == [BOTH, SCORES]


def test_the_tokens_per_second_claim_breaks_its_objective(examples: Path) -> None:
    """The source's answer: report the throughput under the objective."""
    said = load_claim(examples / "tokens_per_second.toml")
    assert found(said)["objective_not_met"] == "invalid"
    assert measure(audit_claim(said)) == [BOTH, SCORES, "latency of every request under the load"]


def test_the_sound_claim_is_sound_and_needs_nothing(examples: Path) -> None:
    audited = audit_claim(load_claim(examples / "sound.toml"))
    assert audited.status == "sound"
    assert audited.sentence == f"Sound as stated: none of {len(audited.pitfalls)} pitfalls applies."
    assert (audited.quantities, audited.otherwise) == ((), ())
    assert found(load_claim(examples / "sound.toml")) == {}


# ---- the verdict -----------------------------------------------------------------------------------------------------


def test_a_claim_that_leaves_something_open_is_not_stated_and_says_what_would_close_it() -> None:
    audited = audit_claim(claim({"warm_up_excluded": NOTHING, "scaling": NOTHING}))
    assert audited.status == "not stated"
    assert audited.sentence == "Not stated: it leaves open cold start in the numbers and strong and weak scaling confused."
    assert audited.quantities == ()
    assert [q.name for q in audited.otherwise] == ["time of every step or request", "items of every step"]


def test_what_must_be_measured_anyway_is_not_asked_for_twice() -> None:
    audited = audit_claim(claim({"data_loading_timed": True, "warm_up_excluded": NOTHING}))
    assert measure(audited) == ["phases of every step"]
    assert audited.otherwise == ()


def test_every_claim_is_asked_about_every_pitfall_that_claims_can_fall_into() -> None:
    named = {pitfall.name for pitfall in audit_claim(claim()).pitfalls}
    assert named == set(catalog.load_all("verdict.claims.audits"))
    assert len(named) >= 15


# ---- the smallest set ------------------------------------------------------------------------------------------------


def test_a_quantity_that_gives_more_replaces_one_that_gives_less() -> None:
    assert smallest_set(frozenset({"launch_values", "base_value"})) == (QUANTITIES[0],)
    assert smallest_set(frozenset({"launch_values", "strong_base"})) == (QUANTITIES[1],)


def test_nothing_needed_is_nothing_to_measure_and_an_unknown_fact_is_a_quantity_of_its_own() -> None:
    assert smallest_set(frozenset()) == ()
    (own,) = smallest_set(frozenset({"colour"}))
    assert own.name == "colour"


def test_the_set_is_smaller_than_the_greedy_one() -> None:
    """Six facts: the largest quantity gives four of them and leaves two apart; two of three give all six."""

    def quantity(name: str, gives: str) -> Quantity:
        return Quantity(name=name, what="", how="", gives=frozenset(gives))

    among = (quantity("large", "abde"), quantity("left", "abc"), quantity("right", "def"))
    assert [q.name for q in smallest_set(frozenset("abcdef"), among)] == ["left", "right"]


@given(st.frozensets(st.sampled_from(sorted(frozenset().union(*(q.gives for q in QUANTITIES))))))
def test_no_smaller_set_gives_all_facts(facts: frozenset[str]) -> None:
    chosen = smallest_set(facts)
    assert facts <= frozenset().union(*(quantity.gives for quantity in chosen))
    for fewer in itertools.combinations(QUANTITIES, max(0, len(chosen) - 1)):
        assert not chosen or not facts <= frozenset().union(*(quantity.gives for quantity in fewer))


@pytest.mark.slow
def test_every_fact_that_an_audit_asks_for_is_given_by_a_quantity() -> None:
    """The facts are text in the audits' files: those that no quantity gives are slips of the pen."""
    claims = [
        claim(numbers=[n], quality=q, slo=s, prediction=p, baseline=b)
        for n, q, s, p, b in itertools.product(
            (
                {"metric": "speedup", "value": 9, "workers": 8, "summary": {"of": "ratios", "mean": "arithmetic"}, "statistic": "best"},
                {"metric": "latency", "value": 9, "statistic": "p99", "trials": 5, "synchronised": False},
            ),
            (None, {"same_launches": False}),
            (None, {"objective": "x", "met": False}),
            (None, {"workers": 99, "measured_up_to": 2}),
            ({}, {"precision": "fp32"}),
        )
    ]
    needed = {fact for said in claims for p in audit_claim(said).pitfalls for fact in facts_needed(p.findings)}
    assert needed - frozenset().union(*(quantity.gives for quantity in QUANTITIES)) == frozenset()
    assert len(needed) >= 8


# ---- any claim -------------------------------------------------------------------------------------------------------

MAYBE = st.sampled_from([True, False, NOTHING])
NUMBERS = st.fixed_dictionaries(
    {
        "metric": st.sampled_from(["speedup", "throughput", "latency", "accuracy", "cost", "x", "wall time", "ttft"]),
        "value": st.floats(allow_nan=False, allow_infinity=False),
        "statistic": st.sampled_from(["mean", "median", "best", "p50", "p99", "p999", "single", NOTHING]),
        "baseline": st.sampled_from([NOTHING, {}, BASELINE, {"workers": 8, "kind": "unknown"}]),
        "launches": st.sampled_from([NOTHING, 1, 5]),
        "trials": st.sampled_from([NOTHING, 1, 5000]),
        "interval": st.just(NOTHING),
        "workers": st.sampled_from([NOTHING, 1, 8]),
        "of": st.sampled_from([NOTHING, "A", "B"]),
        "run": st.sampled_from([NOTHING, "r", "s"]),
        "scaling": st.sampled_from([NOTHING, "strong", "weak"]),
        "synchronised": MAYBE,
        "warm_up_excluded": MAYBE,
        "data_loading_timed": MAYBE,
        "planned_launches": st.sampled_from([NOTHING, 9]),
        "summary": st.sampled_from([NOTHING, {"of": "percentages", "mean": "geometric"}]),
        "conditions": st.sampled_from([{}, {"seed": 1}, {"seed": "one"}]),
        "unit": st.sampled_from([NOTHING, "s", "tokens/s"]),
    }
)
SIDES = st.sampled_from([{}, {"batch": 1}, {"batch": "1", "global_batch": 8}, {"global_batch": "many", "hardware": "H100"}])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(NUMBERS, min_size=1, max_size=3),
    SIDES,
    SIDES,
    st.sampled_from([None, QUALITY, {"metric": "f1", "margin": 1e-9, "items": 1}, {"metric": "accuracy", "margin": 5.0, "items": 3}]),
    st.sampled_from([None, {"objective": "o"}, {"objective": "o", "metric": "latency", "limit": 0.0}]),
)
def test_any_claim_is_answered(numbers: list[dict[str, Any]], baseline: Any, candidate: Any, quality: Any, slo: Any) -> None:
    said = [{key: value for key, value in number.items() if value is not NOTHING} for number in numbers]
    sections = {"quality": quality, "slo": slo}
    made = Claim.model_validate(
        {
            "claim": {"text": "x", "source": "y"},
            "number": said,
            "conditions": {"baseline": baseline, "candidate": candidate},
            **{name: section for name, section in sections.items() if section is not None},
        }
    )
    audited = audit_claim(made)
    assert audited.sentence
    grave = [f for p in audited.pitfalls for f in p.findings if f.severity != "note"]
    assert (audited.status == "unsound") is bool(grave)
    assert all(isinstance(finding, Finding) and finding.evidence and finding.remedy for finding in grave)


def test_the_helper_leaves_out_what_it_is_told_to() -> None:
    assert found(claim()) == {}
    assert {"metric", "value"} <= set(NUMBER) & set(LATENCY)
    assert set(SIDE) >= {"precision", "hardware"}
    with pytest.raises(SpecError):
        claim({"metric": NOTHING})
