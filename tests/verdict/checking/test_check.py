"""Which state follows from which evidence?  Times: lower is better."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fireassay.verdict.checking.check import check, check_history, confirm, unconfirmed
from fireassay.verdict.checking.history import in_order
from fireassay.verdict.checking.types import STATES, Check
from fireassay.verdict.comparison.compare import compare
from tests.handmade import Handmade
from tests.verdict.sides import made, side

pytestmark = pytest.mark.slow


# Ten days that differ by about 1.2 %, worked out to have a mean of logs near 0.
DAYS = (1.0, 1.01, 0.99, 1.02, 0.985, 1.005, 0.995, 1.012, 0.991, 1.003)


def checked(first: Handmade, second: Handmade, *past: Handmade, **how: Any) -> Check:
    base, new = side("base", first), side("new", second)
    others = [side(f"past-{place}", one) for place, one in enumerate(past)]
    return check(compare((base, new), varying=("code",)), base, new, past=others, **how)


def in_turn(seconds: float, **how: Any) -> Check:
    """In blocks the ripple divides out, so that the ratio is exact."""
    return checked(made(10.0, day=1, session="s"), made(seconds, day=2, session="s"), **how)


def along(*seconds: float, **how: Any) -> Check:
    sides = in_order([side(f"r{day:02d}", made(s, day=day)) for day, s in enumerate(seconds, start=1)])
    return check_history(compare((sides[-2], sides[-1]), varying=("code",)), sides[:-1], sides[-1], **how)


@pytest.mark.parametrize(
    ("seconds", "state"), [(10.0, "pass"), (10.05, "pass"), (10.25, "regression"), (9.8, "improvement"), (11.0, "regression")]
)
def test_in_turn_the_interval_decides(seconds: float, state: str) -> None:
    found = in_turn(seconds)
    assert (found.state, found.design, found.confirmation) == (state, "in turn", "not needed")
    assert not found.wants_confirmation


def test_a_record_that_gets_nothing_right_is_a_regression_and_such_a_baseline_no_evidence() -> None:
    good, nothing = ((lambda right=right, day=day: made(10.0, day=day, session="s", right=right)) for right, day in ((390, 1), (0, 2)))
    found = checked(good(), nothing())
    assert (found.state, "quality is degraded" in found.sentence) == ("regression", True)
    assert checked(nothing(), good()).state == "not_comparable"


def test_a_pass_needs_evidence_and_not_only_the_absence_of_a_difference() -> None:
    wild = [8.0, 12.0, 9.0, 11.5, 10.0]
    found = checked(made(10.0, day=1, session="s"), made(wild, day=2, session="s"))
    assert found.state == "inconclusive"
    assert "only changes of" in found.sentence


def test_a_pass_is_one_sided() -> None:
    # Ratios 0.90, 0.99, 0.97, 0.93, 0.985: surely not slower by 3 %, and not surely faster by 1 %.
    faster = [x * math.exp(r) for x, r in zip((9.0, 9.9, 9.7, 9.3, 10.05), (-0.02, 0.01, 0.0, 0.02, -0.01), strict=True)]
    found = checked(made(10.0, day=1, session="s"), made(faster, day=2, session="s"))
    assert found.state == "pass"
    assert "a regression beyond 3 % is excluded" in found.sentence


def test_launches_of_two_days_alone_only_raise_a_suspicion() -> None:
    found = checked(made(10.0, day=1), made(11.0, day=2))
    assert (found.state, found.design) == ("inconclusive", "two records")
    assert found.wants_confirmation
    assert "suspected to be worse" in found.sentence
    assert any("15 % is assumed" in note for note in found.notes)


def test_a_doubled_time_is_a_regression_on_whichever_day() -> None:
    found = checked(made(10.0, day=1), made(20.0, day=2))
    assert found.state == "regression"
    assert found.wants_confirmation
    assert unconfirmed(found, "no code").sentence.startswith("REGRESSION (unconfirmed): ")


@pytest.mark.deep
def test_a_history_says_how_much_days_differ() -> None:
    past = [made(10.0 * factor, day=3 + place) for place, factor in enumerate(DAYS)]
    found = checked(made(10.0, day=1), made(11.0, day=20), *past)
    assert (found.state, found.design) == ("regression", "two records and a history")
    wild = [made(10.0 * factor**12, day=3 + place) for place, factor in enumerate(DAYS)]
    assert checked(made(10.0, day=1), made(11.0, day=20), *wild).state == "inconclusive"


def test_the_two_records_are_not_counted_among_the_days() -> None:
    base, new = made(10.0, day=1), made(11.0, day=20)
    past = [made(10.0 * factor, day=3 + place) for place, factor in enumerate(DAYS[:4])]
    assert checked(base, new, *past, base, new).design == "two records"


def test_quality_comes_first() -> None:
    found = checked(made(10.0, day=1, session="s", right=380), made(5.0, day=2, session="s", right=300))
    assert found.state == "regression"
    assert found.sentence.startswith("REGRESSION: quality is degraded (accuracy lost: changed by ")


def test_quality_that_was_asked_for_and_not_measured_is_no_pass() -> None:
    second = made(10.0, day=2, session="s", right=380)
    second.rows["examples"].clear()
    found = checked(made(10.0, day=1, session="s", right=380), second)
    assert found.state == "not_comparable", "other examples were scored"
    assert "evaluation.examples" in found.sentence


def test_a_failed_launch_or_a_missing_configuration_is_no_pass() -> None:
    failed = checked(made(10.0, day=1, session="s"), made(10.0, day=2, session="s", failed=1))
    assert (failed.state, len(failed.gaps)) == ("inconclusive", 1)


@pytest.mark.parametrize("empty", ["base", "new"])
def test_nothing_measured_on_a_side_is_its_own_state(empty: str) -> None:
    records = {name: made([] if name == empty else 10.0, day=day, failed=int(name == empty)) for day, name in ((1, "base"), (2, "new"))}
    found = checked(records["base"], records["new"])
    assert found.state == "nothing_measured"
    assert empty in found.sentence


def test_every_metric_decides_if_that_is_asked_for() -> None:
    assert len([row for row in in_turn(10.0).rows if row.decides]) == 1
    assert len([row for row in in_turn(10.0, everything=True).rows if row.decides]) >= 1


def test_a_change_that_three_records_carry_is_a_regression() -> None:
    found = along(*(10.0 * x for x in (*DAYS, *DAYS[:6], 1.2, 1.21, 1.19)))
    assert found.state == "regression"
    assert found.suspects_from == "r16", "the last record of the level before"


def test_the_newest_record_alone_is_at_most_suspected() -> None:
    found = along(*(10.0 * x for x in (*DAYS, 1.2)))
    assert found.state == "inconclusive"
    assert found.wants_confirmation


def test_a_better_level_is_an_improvement() -> None:
    assert along(*(10.0 * x for x in (*DAYS, *DAYS[:6], 0.8, 0.81, 0.79))).state == "improvement"


@pytest.mark.deep
def test_an_old_change_fails_no_build() -> None:
    worse = [12.0 * x for x in (*DAYS, 1.0, 1.004)]
    found = along(*(10.0 * x for x in DAYS), *worse, margin=0.1)
    assert found.state == "pass", found.sentence


def test_a_short_history_decides_nothing() -> None:
    found = along(10.0, 10.1, 9.9, 10.0)
    assert found.state == "inconclusive"
    assert "5 are needed" in found.sentence


@pytest.mark.parametrize(
    ("again", "state", "confirmation"), [(11.0, "regression", "confirmed"), (10.0, "pass", "refuted"), (9.0, "pass", "refuted")]
)
def test_launches_in_turn_decide_about_a_suspicion(again: float, state: str, confirmation: str) -> None:
    first = checked(made(10.0, day=1), made(11.0, day=2))
    found = confirm(first, in_turn(again))
    assert (found.state, found.confirmation) == (state, confirmation)
    assert "suspected because" in found.sentence
    assert found.sentence.endswith("Based on two records and fresh interleaved launches.")


def test_launches_in_turn_that_show_nothing_leave_it_open() -> None:
    wild = made([8.0, 12.0, 9.0, 11.5, 10.0], day=2, session="s")
    again = checked(made(10.0, day=1, session="s"), wild)
    found = confirm(checked(made(10.0, day=1), made(20.0, day=2)), again)
    assert (found.state, found.confirmation) == ("inconclusive", "undecided")


def test_each_state_has_an_exit_code_of_its_own() -> None:
    codes = [code for code, _ in STATES.values()]
    assert len(set(codes)) == len(codes)
    assert [state for state, (code, _) in STATES.items() if code == 0] == ["pass"]


def test_the_brackets_say_their_confidence() -> None:
    found = in_turn(10.0)
    assert any("intervals have 95 % confidence" in note and "at most 5 % of cases" in note for note in found.notes)


def test_a_certain_change_that_is_too_small_to_matter_fails_no_build() -> None:
    """Days that differ by 0.02 % show a step of 0.5 %, and the smallest effect of interest is 1 %; one of 2 % is a regression."""
    days = [10.0 * (1 + 0.0002 * (-1) ** day) for day in range(12)]
    small, large = (along(*days, *(step * x for x in days[:5])) for step in (1.005, 1.02))
    assert any(change.kind == "change" for one in small.histories for change in one.changes)
    assert (small.state, large.state) == ("inconclusive", "regression")


def test_what_could_have_been_seen_on_two_days_follows_from_the_days_and_not_from_the_number_of_launches() -> None:
    # Two records, days that differ by 15 % each: (1.96 + 0.84) x sqrt(2) x 0.15 = 0.594 on the log scale, 81.1 %: at most 82 %.
    found = checked(made(10.0, day=1), made(10.0, day=2))
    assert "only changes of 82 % or more would be detected" in found.sentence


def test_a_change_that_is_shown_as_zero_has_no_sign() -> None:
    assert "wall_time" in [row.metric for row in checked(made(10.0, day=1), made(10.001, day=2)).rows]
    assert "+0 %" not in checked(made(10.0, day=1), made(10.001, day=2)).sentence


def test_a_change_of_level_that_is_not_certain_yet_is_a_suspicion() -> None:
    slower = [10.0 * f for f in (*DAYS, *(1.03 * day for day in DAYS[:4]))]
    found = along(*slower)
    decided = next(row for row in found.rows if row.primary)
    assert (found.state, decided.suspected) == ("inconclusive", True)
    assert "suspected, not yet certain: rose by 3." in decided.sentence
    assert found.suspects_from == "r10", "a fresh measurement is made against the last record before it"
    assert any("expected by chance in" in note for note in found.notes)


def test_a_suspected_change_for_the_better_is_no_finding() -> None:
    faster = [10.0 * f for f in (*DAYS, *(day / 1.03 for day in DAYS[:4]))]
    found = along(*faster)
    assert found.state in ("pass", "inconclusive")
    assert not any(row.suspected for row in found.rows)


def test_one_wild_record_of_a_history_does_not_blind_the_next_check() -> None:
    # with it among the days, only changes of more than half would be seen
    found = along(*[10.0 * f for f in (*DAYS, 1.9, *DAYS[:5], 1.25)])
    decided = next(row for row in found.rows if row.primary)
    assert (found.state, decided.suspected) == ("inconclusive", True)
    assert any("1 outlying record left out: r11" in note for note in found.notes)
