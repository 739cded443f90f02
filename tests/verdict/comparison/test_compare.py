"""Is a comparison decided on launches, under equal conditions, quality first, and does it say what it could not have seen?

Records of `tests.verdict.making`: steps of 1/(0.9 p) s by 5 launches; an efficiency of 0.99 instead of 0.9 at 2 workers is
a throughput 10 % higher there and the same elsewhere.  Sessions of this machine do not differ (QUIET): the rule for those that do
is tested in `test_sessions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.estimates.estimate import Absent
from fireassay.spec.experiment import Comparison as ComparisonSpec
from fireassay.spec.experiment import Quality
from fireassay.verdict.comparison import compare as tested
from fireassay.verdict.comparison.compare import compare_configurations
from fireassay.verdict.comparison.sessions import Days
from fireassay.verdict.comparison.types import Change, Comparison, Side
from tests.tiers import drawn
from tests.verdict.comparing import complete, relabelled, side, with_experiment, with_manifest
from tests.verdict.judging import verdict_of
from tests.verdict.making import EXAMPLES, RIGHT

pytestmark = pytest.mark.slow


OPPOSITE = {"faster": "slower", "cheaper": "dearer", "higher": "lower", "more energy": "less energy", "more memory": "less memory"}
OPPOSITE |= {value: key for key, value in OPPOSITE.items()}
QUIET = Days(assumed=1e-6)


def compare(sides: Sequence[Side], **how: Any) -> Comparison:
    return tested.compare(sides, days=QUIET, **how)


def compare_at(sides: Sequence[Side], configurations: Sequence[str], **how: Any) -> Comparison:
    return tested.compare_at(sides, configurations, days=QUIET, **how)


@pytest.fixture(scope="module")
def plain() -> Side:
    return side("A", complete())


@pytest.fixture(scope="module")
def better() -> Side:
    return side("B", complete(efficiency={2: 0.99}))


def only(made: Comparison) -> Change:
    (found,) = made.decisive()
    return found


def change(made: Comparison, metric: str, configuration: str = "workers=2") -> Change:
    return next(c for c in made.changes if (c.metric, c.configuration) == (metric, configuration))


def in_session(one: Side, label: str, group: int) -> Side:
    return with_manifest(one, label, "session", {"id": "s1", "arm": group, "arms": 2, "label": label})


# ---- what decides ----------------------------------------------------------------------------------------------------


def test_ten_per_cent_more_throughput_is_faster_with_the_ratio_and_its_interval(plain: Side, better: Side) -> None:
    made = compare([plain, better])
    found = only(made)
    assert (made.state, found.metric, found.configuration) == ("compared", "throughput", "workers=2")
    assert (found.outcome, found.word) == ("improved", "faster")
    assert found.ratio == pytest.approx(0.99 / 0.9)
    assert found.low is not None
    assert found.low < 1.1 < (found.high or 0.0)
    assert found.minimum_detectable_effect is not None
    assert "detectable change" in made.sentence
    assert "accuracy held" in made.sentence


def test_the_interval_is_that_of_welch_on_log_launch_values(plain: Side, better: Side) -> None:
    """scipy.stats.ttest_ind(equal_var=False) on the logarithms of the launches' throughputs."""
    import numpy as np
    from scipy import stats

    found = only(compare([plain, better]))
    assert not isinstance(found.baseline, Absent)
    assert not isinstance(found.value, Absent)
    a, b = np.log(found.baseline.launch_values), np.log(found.value.launch_values)
    expected = stats.ttest_ind(b, a, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert found.p_value == pytest.approx(expected.pvalue)


def test_launches_of_one_session_are_paired_by_block_and_others_never(plain: Side, better: Side) -> None:
    """The drift of 1 % from block to block is common to both sides: only pairing takes it out."""
    apart = only(compare([plain, better]))
    paired = only(compare([in_session(plain, "A", 0), in_session(better, "B", 1)]))
    assert ("5 rounds" in paired.method, "Welch" in apart.method) == (True, True)
    assert paired.ratio == pytest.approx(1.1)
    assert (paired.high or 0) - (paired.low or 0) < 1e-6 < (apart.high or 0) - (apart.low or 0)


def test_sides_without_a_common_configuration_are_named_and_no_flag_that_cannot_help_is(plain: Side) -> None:
    other = side("other", complete(levels=(4, 8)))
    made = compare([plain, other], varying=["factor.levels"], force=True)
    assert (made.state, made.sides) == ("incomparable", (plain.label, "other"))
    assert made.refused[-1].override == ""
    assert made.refused[-1].why.endswith("to compare one of each: --at workers=1 --at workers=4")


def test_configurations_of_one_record_are_paired_by_block(plain: Side) -> None:
    made = compare_configurations(plain, ["workers=1", "workers=2"])
    found = only(made)
    assert (made.sides, found.word, "rounds" in found.method) == (("workers=1", "workers=2"), "faster", True)
    assert found.ratio == pytest.approx(1.8, rel=0.01)
    assert not any("interleaved" in note for note in made.notes)


def test_the_decisive_configuration_may_be_named(plain: Side, better: Side) -> None:
    made = compare([plain, better], at="workers=1")
    assert (made.configuration, only(made).outcome) == ("workers=1", "equivalent")
    assert change(made, "throughput").word == "faster"


def test_lower_times_and_costs_are_faster_and_cheaper(plain: Side, better: Side) -> None:
    made = compare([plain, better])
    assert (change(made, "step_time").word, change(made, "cost_per_step").word) == ("faster", "cheaper")
    assert change(made, "wall_time").word == "equivalent"


def test_the_primary_metric_is_the_baselines_or_the_one_asked_for(plain: Side, better: Side) -> None:
    named = with_experiment(plain, "A", "comparison", ComparisonSpec(primary="step_time").model_dump())
    assert only(compare([named, better])).metric == "step_time"
    assert only(compare([named, better], primary="wall_time")).outcome == "equivalent"


def test_other_metrics_are_corrected_and_the_primary_is_not(plain: Side, better: Side) -> None:
    made = compare([plain, better])
    assert only(made).p_adjusted == only(made).p_value
    others = [c for c in made.changes if not c.primary and c.p_value is not None]
    assert all((c.p_adjusted or 0.0) >= (c.p_value or 0.0) for c in others)
    assert any((c.p_adjusted or 0.0) > (c.p_value or 0.0) for c in others)


def test_of_several_sides_the_primaries_are_corrected_by_holm(plain: Side, better: Side) -> None:
    made = compare([plain, better, relabelled(better, "C")])
    first, second = made.decisive()
    assert (first.side, second.side) == ("B", "C")
    assert first.p_adjusted == pytest.approx(2 * (first.p_value or 0.0))
    assert set(made.table) == {"A", "B", "C"}


def test_margin_and_confidence_are_the_baselines(plain: Side, better: Side) -> None:
    wide = with_experiment(plain, "A", "comparison", ComparisonSpec(equivalence=0.2, smallest_effect=0.15).model_dump())
    assert only(compare([wide, better])).outcome == "equivalent"
    assert compare([wide, better]).equivalence == 0.2


def test_a_side_that_stopped_when_it_was_narrow_costs_confidence_whichever_it_is(plain: Side, better: Side) -> None:
    """alpha/2 for one such record, 0.4 alpha for two (docs/decisions/0011-sequential-looks.md)."""
    looks = [{"confidence": 0.975, "blocks": 5, "enough": True, "widths": {}, "sentence": ""}]
    looked_a, looked_b = (with_manifest(one, one.label, "looks", looks) for one in (plain, better))
    assert compare([plain, better]).confidence == 0.95
    assert compare([looked_a, better]).confidence == compare([plain, looked_b]).confidence == pytest.approx(0.975)
    both = compare([looked_a, looked_b])
    assert both.confidence == pytest.approx(0.98)
    assert both.sentence.endswith("98 % confidence.")


# ---- what is not decided ---------------------------------------------------------------------------------------------


def test_two_launches_a_side_give_no_verdict() -> None:
    few = {"blocks": 2, "quality": None, "leave_out": ("scores",)}
    found = only(compare([side("A", complete(**few)), side("B", complete(**few, efficiency={2: 0.99}))]))
    assert (found.outcome, found.word, found.launches_needed) == ("inconclusive", "no verdict: too few launches", 3)


def test_a_change_below_the_noise_floor_of_either_machine_is_inconclusive(plain: Side, better: Side) -> None:
    noisy = with_manifest(better, "B", "environment/before/doctor/noise_floor", 0.15)
    for sides in ([plain, noisy], [relabelled(noisy, "A"), relabelled(plain, "B")]):
        made = compare(sides)
        assert (made.floor, only(made).outcome) == (0.15, "inconclusive")
        assert "noise floor" in only(made).sentence


def test_records_made_apart_are_held_to_the_floor_of_launches_made_apart(plain: Side, better: Side) -> None:
    doctor = {"noise_floor": 0.01, "noise_floor_apart": 0.15}
    apart = with_manifest(better, "B", "environment/before/doctor", doctor)
    assert compare([plain, apart]).floor == 0.15
    session = {"id": "0123456789ab", "arms": 2}
    sides = [with_manifest(one, one.label, "session", session) for one in (plain, apart)]
    assert compare(sides).floor == max(0.01, plain.measured.noise_floor or 0.0)


def test_a_machine_that_was_never_examined_is_said(plain: Side, better: Side) -> None:
    unknown = [with_manifest(one, one.label, "environment/before/doctor", None) for one in (plain, better)]
    assert any("assay doctor" in note for note in compare(unknown).notes)


def test_nothing_measured_on_a_side_is_no_pass(plain: Side) -> None:
    empty = complete()
    empty.rows = {name: [] for name in empty.rows}
    made = compare([plain, side("B", empty)], force=True)
    assert made.state in ("nothing_measured", "incomparable")
    failed = complete()
    failed.rows["launches"] = [(*row[:12], "failed", *row[13:]) for row in failed.rows["launches"]]
    none = side("B", failed)
    none = replace(none, judgement=replace(none.judgement, verdict=replace(verdict_of(none.judgement), status="INCONCLUSIVE")))
    made = compare([plain, none], force=True)
    assert made.state == "nothing_measured"
    assert only(made).outcome == "not_measured"


# ---- quality first ---------------------------------------------------------------------------------------------------


def test_performance_of_a_side_that_lost_quality_is_struck_out_with_its_numbers(plain: Side) -> None:
    """20 of 40 right instead of 36: half of the quality, and 10 % faster."""
    made = compare([plain, side("B", complete(efficiency={2: 0.99}, right={2: 20}))])
    found = only(made)
    assert made.quality == {"B": "DEGRADED"}
    assert (found.outcome, found.word) == ("struck_out", "struck out")
    assert found.ratio == pytest.approx(1.1)
    assert change(made, "throughput", "workers=1").outcome == "equivalent"
    assert "accuracy lost" in made.sentence


def test_quality_that_is_not_shown_to_be_held_strikes_out_too() -> None:
    """33 instead of 36 right of 40: 7.5 points less, and the margin is 10."""
    made = compare([side("A", complete()), side("B", complete(right={1: 33, 2: 33}))])
    assert made.quality == {"B": "INCONCLUSIVE"}
    assert only(made).outcome == "struck_out"


def test_a_wrong_result_strikes_out_whatever_the_quality(plain: Side) -> None:
    wrong = complete(efficiency={2: 0.99})
    wrong.rows["samples"] = [(*row[:5], list(row[5])[:-1]) for row in wrong.rows["samples"]]
    made = compare([plain, side("B", wrong)], force=True)
    assert only(made).outcome == "struck_out"
    assert "wrong result" in only(made).sentence


def test_without_scores_the_verdict_stands_and_says_what_was_not_measured() -> None:
    sides = [side(label, complete(quality=None, leave_out=("scores",), efficiency={2: e})) for label, e in (("A", 0.9), ("B", 0.99))]
    made = compare(sides)
    assert (made.quality, only(made).outcome) == ({"B": "NOT_MEASURED"}, "improved")
    assert "quality was not measured" in made.sentence


def test_the_margin_is_kept_where_nothing_flipped() -> None:
    """Without a flip 40 examples bound a change by 1 - 0.05^(1/40) = 0.0722 (Tango's floor), inside the margin of 0.1."""
    made = compare([side("A", complete()), side("B", complete())])
    assert made.quality == {"B": "HELD"}
    assert f"{1 - 0.05 ** (1 / EXAMPLES):.2f}" in made.sentence
    assert RIGHT < EXAMPLES


# ---- refusals and force ----------------------------------------------------------------------------------------------


def test_a_refusal_compares_nothing_and_names_field_values_and_way_on(plain: Side, better: Side) -> None:
    other = with_experiment(better, "B", "workload.arguments", ("--lr", "1"))
    made = compare([plain, other])
    assert (made.state, made.changes, made.table) == ("incomparable", (), {})
    assert made.sentence == (
        "A and B are not comparable: workload.arguments differs ((none) / --lr 1). If this is what you study, add "
        "--varying workload.arguments, or --force."
    )


def test_a_refusal_of_several_fields_names_every_flag_that_is_needed(plain: Side, better: Side) -> None:
    other = with_experiment(better, "B", "workload.arguments", ("--lr", "1"))
    other = with_experiment(other, "B", "launcher.threads_per_worker", 2)
    made = compare([plain, with_experiment(better, "C", "workload.arguments", ("--lr", "1")), other])
    assert made.sentence.startswith("A, C and B are not comparable: ")
    flags = made.sentence.split("--varying ")[1:]
    words = [flag.split()[0].rstrip(",") for flag in flags]
    assert set(words) == {"workload.arguments", "launcher.threads_per_worker"}
    assert compare([plain, other], varying=words).state == "compared"


def test_force_compares_and_says_exploratory_in_every_sentence(plain: Side, better: Side) -> None:
    made = compare([plain, with_experiment(better, "B", "workload.arguments", ("--lr", "1"))], force=True)
    assert (made.state, made.exploratory, only(made).outcome) == ("exploratory", True, "improved")
    assert made.sentence.startswith("EXPLORATORY, forced although these differ: workload.arguments")
    assert [c.sentence for c in made.changes if "EXPLORATORY" not in c.sentence] == []


def test_force_without_a_mismatch_is_an_ordinary_comparison(plain: Side, better: Side) -> None:
    assert compare([plain, better], force=True).state == "compared"


def test_an_inadmissible_record_is_not_comparable_even_by_force(plain: Side, better: Side) -> None:
    verdict = replace(verdict_of(better.judgement), status="INVALID")
    bad = replace(better, judgement=replace(better.judgement, verdict=verdict))
    made = compare([plain, bad], force=True)
    assert (made.state, made.refused[0].field, made.refused[0].override) == ("incomparable", "verdict.status", "")


@pytest.mark.parametrize("force", [False, True])
def test_records_without_a_common_configuration_are_not_comparable(plain: Side, force: bool) -> None:
    """Two imported results of different operations agree in every condition; nothing was measured on both sides."""
    made = compare([plain, side("B", complete(levels=(4, 8)))], varying=["factor.levels", "scaling.base"], force=force)
    assert (made.state, made.changes) == ("incomparable", ())
    assert [(row.field, row.values, row.override) for row in made.refused] == [("configurations", ("workers=1", "workers=4"), "")]


def test_a_candidate_that_gets_nothing_right_has_lost_quality_and_a_baseline_is_no_evidence(plain: Side) -> None:
    """Its own record is INVALID, because its own reference is at the floor; the baseline's is not."""
    nothing = side("B", complete(right={1: 0, 2: 0}))
    assert nothing.judgement.verdict.status == "INVALID"
    found = compare([plain, nothing])
    assert (found.state, found.quality["B"]) == ("compared", "DEGRADED")
    back = compare([nothing, plain])
    assert (back.state, "nothing is right" in back.refused[0].why) == ("incomparable", True)


def test_a_declared_condition_that_does_not_differ_is_told(plain: Side, better: Side) -> None:
    made = compare([plain, better], varying=["engine"])
    assert any("the same on all sides: engine" in note for note in made.notes)


def test_other_prices_are_told_beside_the_costs(plain: Side) -> None:
    dear = side("B", complete(prices=2.0))
    made = compare([plain, dear])
    assert change(made, "cost").word == "dearer"
    assert any("prices differ" in note for note in made.notes)


@pytest.mark.parametrize(
    ("asked", "fix"),
    [
        ({"primary": "thruput"}, "throughput"),
        ({"primary": "quality"}, "--primary"),
        ({"at": "workers=3"}, "--at"),
        ({"varying": ["cpu.modell"]}, "cpu.model"),
    ],
)
def test_an_unknown_name_is_an_error_with_its_mend(plain: Side, better: Side, asked: dict[str, object], fix: str) -> None:
    with pytest.raises(SpecError, match=fix):
        compare([plain, better], **asked)  # type: ignore[arg-type]


def test_one_side_or_two_of_one_name_is_an_error(plain: Side) -> None:
    for sides in ([plain], [plain, plain]):
        with pytest.raises(SpecError, match="two or more"):
            compare(sides)


# ---- for any record ----------------------------------------------------------------------------------------------------

EFFICIENCIES = st.floats(0.5, 0.99)


@settings(max_examples=drawn(2, 4), deadline=None)
@given(blocks=st.integers(1, 6), efficiency=EFFICIENCIES, paired=st.booleans())
def test_a_record_against_itself_is_never_better_or_worse(blocks: int, efficiency: float, paired: bool) -> None:
    one = side("A", complete(blocks=blocks, efficiency={2: efficiency}))
    sides = [in_session(one, "A", 0), in_session(one, "B", 1)] if paired else [one, relabelled(one, "B")]
    outcomes = {found.outcome for found in compare(sides).changes}
    assert outcomes <= {"equivalent", "inconclusive", "struck_out"}


@settings(max_examples=drawn(2, 4), deadline=None)
@given(blocks=st.integers(3, 6), first=EFFICIENCIES, second=EFFICIENCIES)
def test_exchanging_the_sides_exchanges_the_words_and_inverts_the_ratios(blocks: int, first: float, second: float) -> None:
    a, b = (side(label, complete(blocks=blocks, efficiency={2: e})) for label, e in (("A", first), ("B", second)))
    there = {(c.metric, c.configuration): c for c in compare([a, b]).changes}
    back = {(c.metric, c.configuration): c for c in compare([b, a]).changes}
    assert there.keys() == back.keys()
    for key, one in there.items():
        assert back[key].word == OPPOSITE.get(one.word, one.word), key
        if one.ratio is not None:
            assert back[key].ratio == pytest.approx(1.0 / one.ratio)


# ---- one worker, several workers, a quantised model: each at a configuration of its own --------------------------------


def three(*, distributed: int = 36, quantised: int = 36, blocks: int = 5) -> tuple[Side, Side, Side]:
    """Right answers of 40: the central side has 36, and the margin is 10 points."""
    together = complete(right={1: 36, 2: distributed}, blocks=blocks)
    other = complete(right={1: quantised}, levels=(1,), blocks=blocks)
    one, two = side("run", together), side("quantised", other)
    return one, one, two


def test_a_result_three_ways_is_one_comparison_and_each_way_is_judged_against_the_first() -> None:
    made = compare_at(three(quantised=20), ["workers=1", "workers=2", "workers=1"])
    assert made.state == "compared"
    assert made.sides == ("run workers=1", "run workers=2", "quantised workers=1")
    assert made.quality == {"run workers=2": "HELD", "quantised workers=1": "DEGRADED"}
    assert {change.side: change.outcome for change in made.decisive()}["quantised workers=1"] == "struck_out"


def test_one_configuration_twice_and_one_that_is_not_there_are_refused() -> None:
    with pytest.raises(SpecError, match="with distinct names"):
        compare_at(three(), ["workers=1", "workers=1", "workers=1"])
    with pytest.raises(SpecError, match="workers=4"):
        compare_at(three(), ["workers=1", "workers=4", "workers=1"])


def narrow(label: str, right: int = 36) -> Side:
    """Without a flip, 40 items bound a change by 1 - alpha^(1/40): 7.2 points at 5 %, 8.8 at 2.5 %; the margin lies between."""
    return side(label, complete(right={2: right}, quality=Quality(metric="accuracy", margin=0.08)))


def test_held_is_corrected_for_the_number_of_sides_by_holm() -> None:
    sides = [narrow(label) for label in "ABC"]
    assert compare(sides[:2]).quality == {"B": "HELD"}
    both = compare(sides)
    assert both.quality == {"B": "INCONCLUSIVE", "C": "INCONCLUSIVE"}
    assert any("(Holm over 2 sides)" in note for note in both.notes)


def test_a_side_that_is_held_by_far_leaves_the_whole_error_to_the_other() -> None:
    """B is shown at 2.5 % and C at 5 % only: Holm holds both, Bonferroni would hold one."""
    assert compare([narrow("A"), narrow("B", 40), narrow("C")]).quality == {"B": "HELD", "C": "HELD"}


def test_a_degraded_side_is_degraded_however_many_others_there_are() -> None:
    sides = [side("A", complete()), *(side(label, complete(right={2: 20})) for label in "BCDE")]
    assert set(compare(sides).quality.values()) == {"DEGRADED"}
