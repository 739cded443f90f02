"""The rubric against the two reference tables of the metric dictionary, and its refusals, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.spec.timings import Stated, Timing, Timings, parse_timings, read_timings
from fireassay.verdict.claims.rubric import rubric
from fireassay.verdict.claims.rubric_types import Limits, Rubric
from tests.tiers import drawn

MODES: tuple[Literal["strong"], Literal["weak"]] = ("strong", "weak")


@pytest.fixture
def scaling(repository: Path) -> Timings:
    """The first reference table."""
    return read_timings(repository / "examples" / "rubric" / "scaling.csv")


@pytest.fixture
def steps(repository: Path) -> Timings:
    """The second reference table."""
    return read_timings(repository / "examples" / "rubric" / "steps.csv")


def judged(text: str, **limits: float) -> Rubric:
    return rubric(parse_timings(text, "t.csv"), Limits(**limits))


@pytest.mark.parametrize("least", ["0", "0.004", "0 %"])
def test_a_base_that_gets_nothing_right_is_refused(least: str) -> None:
    """Beside it every row would have held its quality."""
    with pytest.raises(SpecError, match="row 2, column quality.*no loss can be detected"):
        judged(f"workers,seconds,quality\n1,100,{least}\n2,55,{least}\n")
    assert judged("workers,seconds,quality\n1,100,0.004\n2,55,0.004\n", tolerance=0.001).quality_held


def pick(result: Rubric, goal: str) -> int | None:
    return next(pick.workers for pick in result.picks if pick.goal == goal)


def test_the_first_reference_table_is_reproduced_to_the_printed_digit(scaling: Timings) -> None:
    result = rubric(scaling, Limits())
    printed = [
        (
            row.workers,
            f"{row.speedup:.2f}",
            f"{row.efficiency:.3f}",
            f"{row.usd:.2f}",
            f"{row.usd_per_item:.3e}",
            f"{row.items_per_usd:.0f}",
        )
        for row in result.rows
    ]
    assert printed == [
        (1, "1.00", "1.000", "1.00", "8.333e-07", "1200000"),
        (2, "1.91", "0.957", "1.04", "8.704e-07", "1148936"),
        (4, "3.56", "0.891", "1.12", "9.352e-07", "1069307"),
        (8, "6.43", "0.804", "1.24", "1.037e-06", "964286"),
        (16, "10.59", "0.662", "1.51", "1.259e-06", "794118"),
        (32, "14.40", "0.450", "2.22", "1.852e-06", "540000"),
    ]
    fit = result.fit
    assert fit is not None
    assert (f"{fit.serial_fraction:.4f}", f"{fit.ceiling:.1f}") == ("0.0376", "26.6")
    assert (f"{fit.half_efficiency_workers:.1f}", f"{fit.expected_there:.2f}", fit.at_workers) == ("27.6", "14.77", 32)
    assert result.quality_held is True
    assert [f"{score.largest_drift:.3f}" for score in result.scores] == ["0.001"]
    assert (pick(result, "cheapest"), result.recommended, pick(result, "fastest")) == (1, 8, 32)
    assert result.mode == "strong"


def test_the_second_reference_table_is_reproduced_to_the_printed_digit(steps: Timings) -> None:
    result = rubric(steps, Limits())
    printed = [(f"{row.speedup:.2f}", f"{100 * row.efficiency:.0f}", f"{row.usd_per_step:.4f}") for row in result.rows]
    assert printed == [("1.00", "100", "0.2000"), ("1.30", "65", "0.3076"), ("2.00", "50", "0.4000"), ("2.60", "32", "0.6160")]
    assert (pick(result, "cheapest"), result.recommended, result.quality_held) == (1, 1, None)


@pytest.mark.slow
def test_a_row_that_lost_quality_is_refused_whatever_its_speedup_and_left_out_of_the_fit(scaling: Timings) -> None:
    worse = parse_timings(
        "p,s,$/h,acc\n1,3600,1,.871\n2,1880,2,.871\n4,1010,4,.871\n8,560,8,.871\n16,340,16,.870\n32,10,32,.860\n", "t.csv"
    )
    result = rubric(worse, Limits(efficiency=0.5))
    assert [bool(row.refused) for row in result.rows] == [False] * 5 + [True]
    assert result.rows[-1].speedup == 360.0  # shown, not recommended: it would have been cheapest and fastest
    assert {pick.workers for pick in result.picks} == {1, 16}
    assert result.quality_held is False
    assert "quality 0.86 at 32 workers differs by 0.011 from 0.871 at 1" in result.notes[0]
    # s = sum xy / sum xx with x = 1 - 1/p, y = 1/S - 1/p over p = 2, 4, 8, 16:
    # xx = .25 + .5625 + .765625 + .87890625 = 2.45703125
    # y = .0222222, .0305556, .0305556, .0319444; xy = .0111111 + .0229167 + .0267361 + .0299479 = .0907118
    assert result.fit is not None
    assert result.fit.serial_fraction == pytest.approx(0.0907118 / 2.45703125, abs=1e-6)
    assert result.fit.at_workers == 16


def test_a_drift_of_exactly_the_tolerance_is_held() -> None:
    # 0.871 - 0.866 is 0.0050000000000000044 in binary.
    result = judged("p,s,acc\n1,10,0.871\n2,5,0.866\n4,3,0.8659\n")
    assert [bool(row.refused) for row in result.rows] == [False, False, True]


@pytest.mark.parametrize(
    ("name", "base", "better", "worse"), [("acc", 0.84, 0.91, 0.77), ("WER (%)", 4.3, 3.1, 5.5), ("val loss", 0.9, 0.7, 1.0)]
)
def test_a_better_quality_is_held_and_said_and_a_worse_one_is_not_held(name: str, base: float, better: float, worse: float) -> None:
    result = judged(f"p,s,{name}\n1,10,{base}\n2,5,{better}\n4,3,{worse}\n")
    assert [bool(row.refused) for row in result.rows] == [False, False, True]
    assert any("is better than that of the base row" in doubt for doubt in result.doubts)


def test_a_row_without_a_quality_is_not_chosen_beside_a_base_that_has_one() -> None:
    result = judged("p,s,acc\n1,10,0.84\n2,5,\n")
    assert (result.recommended, result.rows[1].refused) == (1, "its quality is not given, and that of the base row is 0.84")
    with pytest.raises(SpecError, match="every other row is held against the base row"):
        judged("p,s,acc\n1,10,\n2,5,0.84\n")


def test_the_tolerance_is_the_user_s(scaling: Timings) -> None:
    assert rubric(scaling, Limits(tolerance=0.0005)).rows[4].refused
    assert not any(row.refused for row in rubric(scaling, Limits(tolerance=0.02)).rows)


def test_deadline_and_budget_narrow_the_choice(scaling: Timings) -> None:
    result = rubric(scaling, Limits(deadline_s=1010, budget_usd=1.20))
    # In time: 4 workers and more. Within $1.20: up to 4 ($1.12). Efficiency: up to 8.
    assert result.recommended == 4
    assert pick(result, "under deadline") == 4  # the cheapest of 4, 8, 16, 32
    assert pick(result, "under budget") == 4  # the fastest of 1, 2, 4
    assert rubric(scaling, Limits(deadline_s=100)).recommended is None


def test_without_prices_the_deadline_is_met_with_the_fewest_workers_and_no_budget_is_met() -> None:
    result = judged("p,s\n1,10\n2,6\n4,4\n", deadline_s=7, budget_usd=5)
    assert (pick(result, "under deadline"), pick(result, "under budget"), pick(result, "cheapest")) == (2, None, None)
    assert result.recommended is None


def test_a_base_of_more_than_one_is_said_and_everything_is_relative_to_it() -> None:
    # S(8) = 100/30 = 3.333 with 4 times the workers: E = .8333, Karp-Flatt (.3 - .25)/.75 = .0667 = s; (1+s)/s = 16
    # times the base: 32 workers.
    result = judged("p,s\n2,100\n4,53.33333333\n8,30\n")
    assert result.base_workers == 2
    assert result.rows[2].efficiency == pytest.approx(0.83333, abs=1e-5)
    assert result.rows[2].karp_flatt == pytest.approx(0.0666667, abs=1e-6)
    assert result.fit is not None
    assert result.fit.half_efficiency_workers == pytest.approx(32.0)
    assert any("base row has 2 workers, not 1" in note for note in result.notes)


def test_work_that_grows_with_the_workers_is_weak_scaling() -> None:
    # Twice the work in 1.25 times the time: S = 2/1.25 = 1.6, E = T1/T2 = 0.8.
    result = judged("p,s,items\n1,10,100\n2,12.5,200\n")
    assert result.mode == "weak"
    assert result.rows[1].speedup == pytest.approx(1.6)
    assert result.rows[1].efficiency == pytest.approx(0.8)
    assert result.fit is None


def test_rows_that_did_different_work_are_compared_by_their_rate_and_it_is_said() -> None:
    result = judged("p,s,items\n1,10,100\n2,10,150\n")
    assert result.mode == "mixed"
    assert result.rows[1].speedup == pytest.approx(1.5)
    assert any("different amounts of work" in note for note in result.notes)


def test_more_than_linear_speedup_is_named_and_has_no_serial_fraction() -> None:
    """10/4 = 2.5 on 2: s would be 1/2.5 - 1/2 over 1/2 = -0.2."""
    result = judged("p,s\n1,10\n2,4\n")
    assert (result.fit, result.superlinear) == (None, (2,))
    assert any("the speedup is more than linear (efficiency 1.250 at 2)" in note for note in result.notes)


def test_one_row_has_nothing_to_be_compared_with() -> None:
    result = judged("p,s\n4,10\n")
    assert (result.fit, result.recommended) == (None, 4)
    assert any("nothing to compare with" in note for note in result.notes)


def test_a_table_without_launches_says_that_it_has_no_intervals(scaling: Timings, steps: Timings) -> None:
    for timings in (scaling, steps):
        assert any("nothing here has an interval" in note for note in rubric(timings, Limits()).notes)


def test_a_price_of_nothing_is_a_cost_of_nothing() -> None:
    result = judged("p,s,$/h,items\n1,10,0,5\n")
    assert (result.rows[0].usd, result.rows[0].usd_per_item, result.rows[0].items_per_usd) == (0.0, 0.0, None)


@pytest.mark.deep
@pytest.mark.slow
@settings(max_examples=40)
@given(st.dictionaries(st.integers(1, 10**7), st.floats(1e-6, 1e9), min_size=1, max_size=8), st.floats(0.01, 1.5))
def test_the_recommended_row_is_efficient_and_no_larger_one_is(times: dict[int, float], threshold: float) -> None:
    rows = tuple(Timing(row=2 + place, workers=p, seconds=times[p]) for place, p in enumerate(sorted(times)))
    result = rubric(Timings(source="t", rows=rows, worker_word="workers"), Limits(efficiency=threshold))
    efficient = [row.workers for row in result.rows if row.efficiency >= threshold * (1 - 1e-8)]
    assert result.recommended == (max(efficient) if efficient else None)


@pytest.mark.slow
@settings(max_examples=drawn(20, 40))
@given(st.floats(0.001, 1.0), st.lists(st.integers(2, 1000), min_size=1, max_size=6, unique=True))
def test_a_table_made_by_amdahl_s_law_gives_its_serial_fraction_back(s: float, workers: list[int]) -> None:
    rows = tuple(Timing(row=1, workers=p, seconds=100 * (s + (1 - s) / p)) for p in sorted([1, *workers]))
    fit = rubric(Timings(source="t", rows=rows, worker_word="workers"), Limits()).fit
    assert fit is not None
    assert fit.serial_fraction == pytest.approx(s, rel=1e-6)


# Throughputs published with the R package usl (Moeding): SPEC SDM91 of Gunther's "Guerrilla Capacity Planning", and a
# ray tracer.  A table gives seconds, so one run takes 1/X seconds.
SPECSDM91 = {1: 64.9, 18: 995.9, 36: 1652.4, 72: 1853.2, 108: 1828.9, 144: 1775.0, 216: 1702.2}
RAYTRACER = {1: 20.0, 4: 78.0, 8: 130.0, 12: 170.0, 16: 190.0, 20: 200.0}


def published(throughputs: dict[int, float], predict_at: float | None = None) -> Rubric:
    rows = "".join(f"{n},{1 / x!r}\n" for n, x in throughputs.items())
    return rubric(parse_timings(f"p,s\n{rows}", "t.csv"), Limits(), predict_at=predict_at)


def test_the_published_specsdm91_data_give_the_published_scalability_law() -> None:
    scaling = published(SPECSDM91).scaling
    assert scaling is not None
    usl = next(law for law in scaling.laws if law.law == "usl")
    assert f"{usl.parameters['alpha']:.5f}" == "0.02773"
    assert f"{usl.parameters['beta']:.4g}" == "0.0001044"
    assert f"{usl.parameters['gamma']:.4f}" == "89.9952"
    # by AICc on seven points the penalty decides for Amdahl, 82.87 against 85.92
    assert [f"{law.aicc:.2f}" for law in scaling.laws] == ["82.87", "85.92"]
    assert "one launch for each worker count cannot show that throughput at 216 is lower" in scaling.peak


def test_the_raytracer_trap_names_no_peak_and_predicts_no_64() -> None:
    result = published(RAYTRACER, predict_at=64)
    assert result.scaling is not None
    assert result.scaling.peak.startswith("no peak up to N = 20")
    assert "24" not in result.scaling.peak
    assert result.predicted is not None
    assert (result.predicted.speedup, result.predicted.throughput) == (None, None)
    assert "it lies beyond 40, twice the largest measured N = 20" in result.predicted.sentence


def test_a_prediction_inside_twice_the_range_stands_with_its_scatter() -> None:
    # SciPy 1.17, curve_fit on Amdahl's law: X(28) = 231.0; 230 was measured
    found = published(RAYTRACER, predict_at=28).predicted
    assert found is not None
    assert found.throughput == pytest.approx(230, rel=0.01)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 230 < found.high
    assert found.throughput is not None
    assert found.speedup == pytest.approx(found.throughput / 20)


@pytest.mark.slow
def test_refused_rows_are_no_part_of_the_laws(scaling: Timings) -> None:
    every, fewer = (rubric(scaling, Limits(tolerance=t)).scaling for t in (0.005, 0.0005))
    assert every is not None
    assert fewer is not None
    assert every.held_out.startswith("p = 32: predicted")
    assert "6 points" in every.why
    assert "5 points" in fewer.why  # 16 workers lost 0.001


def test_rows_of_different_work_and_too_few_rows_are_predicted_nothing() -> None:
    mixed = rubric(parse_timings("p,s,work\n1,10,5\n2,6,7\n4,3,6\n", "t.csv"), Limits(), predict_at=4)
    assert mixed.scaling is None
    assert mixed.predicted is not None
    assert mixed.predicted.sentence == "no prediction for N = 4: the rows did different amounts of work"
    few = rubric(parse_timings("p,s\n1,10\n2,6\n", "t.csv"), Limits(), predict_at=2)
    assert few.scaling is None
    assert few.predicted is not None
    assert "at least 3 worker counts, not 2" in few.predicted.sentence


@pytest.mark.slow
def test_weak_scaling_follows_gustafson() -> None:
    # p times the work at p - 0.1 (p - 1) times the rate
    rows = "".join(f"{p},{10 * p / (p - 0.1 * (p - 1))!r},{100 * p}\n" for p in (1, 2, 4, 8, 16))
    scaling = rubric(parse_timings(f"p,s,work\n{rows}", "t.csv"), Limits()).scaling
    assert scaling is not None
    assert scaling.chosen == "gustafson"
    assert scaling.laws[0].parameters["serial"] == pytest.approx(0.1)


def test_a_share_above_1_is_no_number() -> None:
    """Three times as long on 2 workers: Karp-Flatt (3 - 1/2)/(1 - 1/2) = 5; weak, twice the work: S = 2/3, (2 - 2/3)/(2 - 1) = 1.33."""
    slow = "p,s\n1,10\n2,30\n"
    strong, weak = (rubric(parse_timings(slow, "t", asked=Stated(scaling=mode)), Limits()) for mode in MODES)
    assert [row.karp_flatt for row in strong.rows] == [None, None]
    assert [row.serial_share for row in weak.rows] == [None, None]


# ---- energy and CO2 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "rows", "expected"),
    [  # joules of the row, of an item, of a step; grams at 360 g/kWh, which is 1 g for 10 kJ
        ("nodes,seconds,work,power per node (W)", ("1,100,1000,300", "2,60,1000,300"), [(30e3, 30, None, 3), (36e3, 36, None, 3.6)]),
        ("nodes,seconds,steps,energy (kWh)", ("1,100,10,0.01", "2,60,10,0.02"), [(36e3, None, 3.6e3, 3.6), (72e3, None, 7.2e3, 7.2)]),
        ("nodes,step_s,power (kW)", ("1,10,0.3", "2,6,0.6"), [(3e3, None, 3e3, 0.3), (3.6e3, None, 3.6e3, 0.36)]),
        ("nodes,seconds,steps,J/step", ("1,100,10,500", "2,60,10,900"), [(5e3, None, 500, 0.5), (9e3, None, 900, 0.9)]),
        ("nodes,step_s,energy per step (kJ)", ("1,10,1", "2,6,2"), [(1e3, None, 1e3, 0.1), (2e3, None, 2e3, 0.2)]),
        ("nodes,images/s,power (W)", ("1,100,300", "2,150,600"), [(None, 3, None, None), (None, 4, None, None)]),
        ("nodes,seconds,J/step", ("1,100,500", "2,60,900"), [(None, None, None, None)] * 2),  # of how many steps?
    ],
)
def test_joules_of_an_item_and_a_step_and_grams_follow_from_energy_or_power(
    header: str, rows: tuple[str, ...], expected: list[tuple[float | None, ...]]
) -> None:
    made = rubric(parse_timings("\n".join((header, *rows)), "table.csv", asked=Stated(grams_per_kwh=360.0)), Limits())
    found = [(row.joules, row.joules_per_item, row.joules_per_step, row.co2_g) for row in made.rows]
    assert [[pytest.approx(value) for value in row] for row in found] == [list(row) for row in expected]
    notes = [note for note in made.notes if note.startswith("CO2 is not known")]
    assert len(notes) == all(row[3] is None for row in expected)
    assert all(("--work" in note) is (made.rows[0].joules_per_item is not None) for note in notes)


def test_a_limit_of_energy_is_one_more_requirement() -> None:
    table = "workers,seconds,work,power (W)\n1,100,1000,100\n2,52,1000,200\n4,27,1000,400\n"  # 10.0, 10.4 and 10.8 kJ
    assert [judged(table, joules=limit).recommended for limit in (11e3, 10.5e3, 9e3)] == [4, 2, None]
    assert judged(table, joules=10.5e3).picks[0].sentence == "the most workers with efficiency of at least 0.70 and at most 10500 J"
    with pytest.raises(SpecError, match="--joules"):
        judged("workers,images/s\n1,100\n2,190\n", joules=1.0)
