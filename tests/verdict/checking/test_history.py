"""A history is in the order of creation, and a change lies where the levels differ most."""

from __future__ import annotations

import pytest

from fireassay.verdict.checking.history import histories, in_order, rates, series, worth_showing
from tests.verdict.sides import made, side

DAYS = (1.0, 1.01, 0.99, 1.02, 0.985, 1.005, 0.995, 1.012, 0.991, 1.003, 1.008, 0.994)
PAIR = [("wall_time", "workers=1")]


def test_records_are_ordered_by_their_creation_and_not_by_their_names() -> None:
    sides = [side("a", made(10.0, day=3)), side("b", made(10.0, day=1)), side("c", made(10.0, day=2))]
    assert [one.label for one in in_order(sides)] == ["b", "c", "a"]


def test_a_record_without_a_value_is_left_out() -> None:
    _, points = series([side("a", made(10.0, day=1)), side("b", made([], day=2, failed=1))], *PAIR[0])
    assert [point.label for point in points] == ["a"]
    assert points[0].value.value == pytest.approx(10.0)  # RIPPLE has mean 0 on logs


@pytest.mark.slow
def test_a_change_of_the_last_three_records_is_placed_at_the_first_of_them() -> None:
    sides = [side(f"r{day}", made(10.0 * f, day=day)) for day, f in enumerate((*DAYS, 1.2, 1.21, 1.19), start=1)]
    (found,) = histories(sides, PAIR)
    (change,) = [one for one in found.changes if one.kind == "change"]
    assert change.index == 12
    before, after = found.around(change)
    assert (before, after) == (pytest.approx(10.01, abs=0.02), pytest.approx(12.0, abs=0.01))
    assert found.moved(change).startswith("rose by ")


@pytest.mark.deep
@pytest.mark.slow
def test_days_are_those_since_the_last_change() -> None:
    sides = [side(f"r{day}", made(10.0 * f, day=day)) for day, f in enumerate((*DAYS, *(2 * f for f in DAYS)), start=1)]
    (found,) = histories(sides, PAIR)
    assert found.days is not None
    assert found.days.records == 12
    assert found.days.deviation < 0.02, "the step is not part of how days differ"


def test_what_is_the_same_by_definition_has_no_history() -> None:
    shown = list(worth_showing(side("a", made(10.0)), "wall_time"))
    assert ("wall_time", "workers=1") in shown
    assert ("speedup", "workers=1") not in shown


@pytest.mark.slow
def test_a_change_stays_as_records_are_added_and_a_single_wild_record_is_marked() -> None:
    factors = (*DAYS, *(1.2 * f for f in DAYS), 3.0, *(1.2 * f for f in DAYS[:3]))
    sides = [side(f"r{day}", made(10.0 * f, day=day)) for day, f in enumerate(factors, start=1)]
    looks = [histories(sides[:n], PAIR)[0] for n in (16, 20, 24, 25, 26, 28)]
    assert [[change.index for change in one.certain] for one in looks] == [[12]] * len(looks)
    assert looks[-1].outliers == (24,)
    assert looks[-1].levels[-1][2] == pytest.approx(12.0, abs=0.05), "the wild record is no part of the level"


@pytest.mark.slow
def test_what_is_not_certain_yet_is_said_to_be_suspected() -> None:
    factors = (*DAYS[:10], *(1.03 * f for f in DAYS[:4]))
    sides = [side(f"r{day}", made(10.0 * f, day=day)) for day, f in enumerate(factors, start=1)]
    (one,) = histories(sides, PAIR)
    assert one.certain == ()
    assert one.suspected is not None
    assert one.moved(one.suspected).startswith("suspected, not yet certain: rose by 3.")


@pytest.mark.slow
def test_the_expected_number_of_chance_findings_is_said_for_the_series_at_hand() -> None:
    sides = [side(f"r{day}", made(10.0 * f, day=day)) for day, f in enumerate(DAYS, start=1)]
    said = rates(histories(sides, [*PAIR, ("cost", "workers=1")]))
    assert said.startswith("expected by chance in 1 series without a change: 0.01 certain changes")
