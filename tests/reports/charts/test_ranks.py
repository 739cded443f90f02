"""Which rank is slow and where its communication lies: folds worked out by hand, and their pictures."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.record.tables import TABLES
from fireassay.reports.build_view import build
from fireassay.reports.charts import ranks as of_ranks
from fireassay.reports.charts.ranks import StepTimeline, rank_phases, ranks, step_timeline, typical_step
from fireassay.reports.charts.steps import between, paid_time
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from tests.handmade import Handmade, S

pytestmark = pytest.mark.slow


def test_a_rank_s_medians_do_not_depend_on_how_many_ranks_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rank_phases(two_ranks(4).measured())
    monkeypatch.setattr(of_ranks, "SLICE_ROWS", 1)
    assert len(whole) == 4
    assert rank_phases(two_ranks(4).measured()) == whole


def two_ranks(workers: int = 2) -> Handmade:
    """Rank 1 computes .3 s longer in forward; rank 0 waits for it in its collective; 30 steps of 1 s."""
    made = Handmade(levels=(1, workers), blocks=1)
    made.steps(made.launch(workers=1), seconds=[1.0] * 30)
    number = made.launch(workers=workers)
    for rank in range(workers):
        forward = 0.2 + (0.3 if rank == 1 else 0.0)
        made.steps(number, rank=rank, seconds=[1.0 + 0.001 * rank] * 30, phases_s={"forward": forward, "backward": 0.4})
        for step in range(30):
            begin = made.begin[number] + round((step + forward + 0.1) * S)
            end = made.begin[number] + round((step + 0.9) * S)
            made.rows["collectives"].append(
                (
                    number,
                    rank,
                    0,
                    "default",
                    step,
                    step,
                    "all_reduce",
                    workers,
                    8,
                    "float32",
                    "backward",
                    None,
                    begin,
                    end,
                    None,
                    None,
                    None,
                    "host",
                )
            )
    return made


def step(measured: RecordData) -> StepTimeline | None:
    """The step that is drawn."""
    return typical_step(measured, rank_phases(measured))


def parts(one: of_ranks.RankPhases) -> tuple[Any, ...]:
    return one.parts_s


def view(made: Handmade) -> View:
    measured = made.measured()
    return build(measured, judge(measured))


def test_ranks_are_told_apart_by_their_medians() -> None:
    one, other = rank_phases(two_ranks().measured())
    assert (one.rank, one.place, one.step_s) == (0, "fastest", pytest.approx(1.0))
    assert (other.rank, other.place) == (1, "slowest")
    assert parts(one) == (None, pytest.approx(0.2), pytest.approx(0.4), None)
    assert other.parts_s[1] == pytest.approx(0.5)


def test_of_many_ranks_the_slowest_and_the_fastest_are_among_those_shown() -> None:
    shown = rank_phases(two_ranks(workers=100).measured())
    assert len(shown) == of_ranks.MAX_RANKS
    assert {one.place for one in shown} == {"fastest", "slowest", ""}
    assert {0, 99} <= {one.rank for one in shown}


def test_the_timeline_holds_a_steps_phases_and_its_collectives() -> None:
    found = step(two_ranks().measured())
    assert found is not None
    spans = {(span.rank, span.what): (span.begin_s, span.end_s) for span in found.spans}
    assert spans[0, "forward"] == (pytest.approx(0.0, abs=0.05), pytest.approx(0.2, abs=0.05))
    assert spans[0, "untold"][1] - spans[0, "untold"][0] == pytest.approx(0.6)
    assert spans[1, "untold"][1] - spans[1, "untold"][0] == pytest.approx(0.3)
    assert found.collectives == 2


def waiting() -> Handmade:
    """The same where it was seen how long a thread stood still: rank 0 for .3 s of its backward pass, and .05 s of its forward pass."""
    made = two_ranks()
    steps = [TABLES["steps"].column_names.index(name) for name in ("launch", "rank", "step", "exposed_comm_ns")]
    for place, row in enumerate(made.rows["steps"]):
        launch, rank, step, _ = (row[column] for column in steps)
        if launch == 1:
            made.rows["steps"][place] = (*row[: steps[3]], 350_000_000 if rank == 0 else 0, *row[steps[3] + 1 :])
            made.rows["waits"] += (
                [(1, 0, 0, step, "backward", 0, 300_000_000), (1, 0, 0, step, "forward", 0, 50_000_000)] if rank == 0 else []
            )
    return made


def test_what_a_rank_waits_is_not_its_own() -> None:
    one, other = rank_phases(waiting().measured())
    assert parts(one) == (None, pytest.approx(0.15), pytest.approx(0.1), None)
    assert one.exposed_s == pytest.approx(0.35)
    assert (other.place, parts(other)[2], other.exposed_s) == ("slowest", pytest.approx(0.4), 0.0)


def test_waiting_that_no_phase_names_is_of_the_backward_pass_and_never_longer_than_it() -> None:
    made = waiting()
    made.rows["waits"].clear()
    one, _ = rank_phases(made.measured())
    assert parts(one) == (None, pytest.approx(0.2), pytest.approx(0.05), None)
    column = TABLES["steps"].column_names.index("exposed_comm_ns")
    made.rows["steps"] = [
        (*row[:column], 500_000_000 if row[column] == 350_000_000 else row[column], *row[column + 1 :]) for row in made.rows["steps"]
    ]
    one, _ = rank_phases(made.measured())
    assert parts(one) == (None, pytest.approx(0.1), pytest.approx(0.0), None)


def test_a_collective_is_exposed_where_its_rank_stands_still_and_hidden_elsewhere() -> None:
    """Rank 0: forward .15, still .05, backward .1, still .3 until .6 s; its collective lasts from .3 to .9 s."""
    found = step(waiting().measured())
    assert found is not None
    mine = [span for span in found.spans if span.rank == 0]

    def at(what: str) -> list[tuple[float, float]]:
        return [(round(span.begin_s, 2), round(span.end_s, 2)) for span in mine if span.what == what]

    assert at("still") == [(0.15, 0.2), (0.3, 0.6)]
    assert (at("exposed"), at("hidden")) == ([(0.3, 0.6)], [(0.6, 0.9)])
    assert {span.what for span in found.spans if span.rank == 1} == {"forward", "backward", "hidden"}
    assert dict(found.exposed_s) == pytest.approx({0: 0.35, 1: 0.0})


def test_what_a_script_waits_between_its_phases_is_taken_out_of_none_of_them() -> None:
    """Its own all_reduce after the backward pass, .35 s: of 1 s .2 are forward, .4 backward, .05 unnamed; where in the step it stood still
    is not known, so that its collective is neither exposed nor hidden."""
    made = waiting()
    made.rows["waits"] = [(1, 0, 0, step, "between", 0, 350_000_000) for step in range(30)]
    one, _ = rank_phases(made.measured())
    assert parts(one) == (None, pytest.approx(0.2), pytest.approx(0.4), None)
    assert one.exposed_s == pytest.approx(0.35)
    found = step(made.measured())
    assert found is not None
    assert {span.what for span in found.spans if span.rank == 0} == {"forward", "backward", "untold"}
    ((name, mean),) = between(made.measured()).items()
    assert (name, round(mean, 9)) == ("workers=2", 0.175)  # one of two ranks waits


def test_one_rank_alone_has_neither() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.steps(made.launch(workers=1), seconds=[1.0] * 30)
    assert rank_phases(made.measured()) == ()
    assert step(made.measured()) is None
    assert ranks(view(made)) == step_timeline(view(made)) == ()


def test_the_pictures_say_their_numbers_in_words() -> None:
    shown = view(waiting())
    (by_rank,), (timeline,), (spent,) = ranks(shown), step_timeline(shown), paid_time(shown)
    assert all(chart.panels and not chart.missing for chart in (by_rank, timeline, spent))
    assert "rank 1, slowest: 1.00 s: forward 500 ms" in by_rank.description
    assert "exposed communication 350 ms" in by_rank.description
    assert "Rank 0 waited for communication for 350 ms." in timeline.description
    assert "2 collectives" in timeline.description
    assert "productive" in spent.description


@pytest.mark.parametrize(("still_ns", "keyed"), [(350_000_000, True), (200_000, False)])
def test_the_key_of_a_step_names_nothing_that_is_too_thin_to_be_seen(still_ns: int, keyed: bool) -> None:
    """0.2 ms of a second are less than a tenth of a pixel."""
    made = two_ranks()
    column = TABLES["steps"].column_names.index("exposed_comm_ns")
    made.rows["steps"] = [(*row[:column], still_ns, *row[column + 1 :]) for row in made.rows["steps"]]
    made.rows["waits"] = [(1, rank, 0, step, "backward", 0, still_ns) for rank in (0, 1) for step in range(30)]
    found = step(made.measured())
    assert found is not None
    assert "exposed" in {span.what for span in found.spans}
    (timeline,) = step_timeline(view(made))
    assert not timeline.missing
    assert any("exposed" in key.text for key in timeline.key) is keyed
    assert any("hidden" in key.text for key in timeline.key)


def test_without_marked_steps_the_paid_time_is_said_to_be_unknown() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert paid_time(view(made))[0].missing
