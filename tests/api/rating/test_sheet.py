"""Is every accepted answer on the disk, and does a rater go on where they were?"""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.api.rating.items import RatedItem, Shown
from fireassay.api.rating.sheet import Mode, Sheet
from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.quality.tasks.ratings_file import read
from fireassay.spec.sections.evaluation import Evaluation
from fireassay.spec.sections.ratings import Ratings

ITEMS = tuple(RatedItem(id=f"i{number}", prompt="", sides={"a": Shown(text="A"), "b": Shown(text="B")}) for number in range(20))


def sheet(folder: Path, mode: Mode = "pairs", seed: int = 0) -> Sheet:
    return Sheet(folder, ITEMS, mode, seed, FakeClock())


def rows(folder: Path) -> list[list[str]]:
    with (folder / "ratings.csv").open(newline="") as file:
        return list(csv.reader(file))


def test_an_answer_is_in_the_file_before_the_next_thing_is_given(tmp_path: Path) -> None:
    with sheet(tmp_path) as open_sheet:
        turn = open_sheet.turn("r1")
        assert turn.thing is not None
        after = open_sheet.answer("r1", 0, "first")
        row = rows(tmp_path)[-1]
        assert row[:5] == [turn.thing.item, *turn.thing.sides, "first", "r1"]
        assert (after.number, after.done, after.total) == (1, 1, 20)


def test_a_restart_goes_on_where_each_rater_was(tmp_path: Path) -> None:
    with sheet(tmp_path) as first:
        for number in range(7):
            first.answer("r1", number, "tie")
        first.answer("r2", 0, "second")
        following = first.turn("r1")
    with sheet(tmp_path) as second:
        assert second.turn("r1") == following
        assert second.turn("r2").done == 1
        assert second.kept == 8


def test_raters_have_orders_of_their_own_and_sides_change_places(tmp_path: Path) -> None:
    with sheet(tmp_path) as open_sheet:
        orders = {rater: [open_sheet.thing(rater, number) for number in range(20)] for rater in ("r1", "r2")}
        assert orders["r1"] != orders["r2"]
        for order in orders.values():
            assert sorted(one.item for one in order if one) == sorted(item.id for item in ITEMS)
            first = Counter(one.sides[0] for one in order if one)
            assert 4 <= first["a"] <= 16
    with sheet(tmp_path, seed=1) as other:
        assert [other.thing("r1", number) for number in range(20)] != orders["r1"]


def test_the_last_answer_can_be_taken_back_and_nothing_is_overwritten(tmp_path: Path) -> None:
    with sheet(tmp_path) as open_sheet:
        open_sheet.answer("r1", 0, "first")
        assert open_sheet.undo("r1").number == 0
        open_sheet.answer("r1", 0, "second")
        assert open_sheet.undo("r2").done == 0  # who has no answer has nothing to take back
    assert [row[3] for row in rows(tmp_path)] == ["choice", "first", "undo", "second"]
    found = read(tmp_path / "ratings.csv", Evaluation(ratings=Ratings(form="pairs")))
    assert [one.outcome for one in found.choices] == ["second"]


def test_the_same_answer_again_changes_nothing_and_a_stale_page_is_refused(tmp_path: Path) -> None:
    with sheet(tmp_path) as open_sheet:
        open_sheet.answer("r1", 0, "first")
        assert open_sheet.answer("r1", 0, "first").done == 1
        for number, answer in ((0, "second"), (5, "first"), (99, "first"), (1, "a")):
            with pytest.raises(ValueError, match="no such|not at"):
                open_sheet.answer("r1", number, answer)
    assert len(rows(tmp_path)) == 2


@pytest.mark.parametrize("code", ["", "a b", "ann@example.org", "x" * 41, "../r", "r\n1"])
def test_a_rater_is_a_code(code: str, tmp_path: Path) -> None:
    with sheet(tmp_path) as open_sheet, pytest.raises(ValueError, match="code"):
        open_sheet.turn(code)


def test_a_row_cut_short_is_cut_off(tmp_path: Path) -> None:
    with sheet(tmp_path) as open_sheet:
        open_sheet.answer("r1", 0, "first")
    with (tmp_path / "ratings.csv").open("a") as file:
        file.write("i3,a,b,fir")
    with sheet(tmp_path) as open_sheet:
        assert (open_sheet.cut, open_sheet.kept) == (10, 1)
        open_sheet.answer("r1", 1, "tie")
    assert [len(row) for row in rows(tmp_path)] == [7, 7, 7]


def test_a_full_disk_leaves_no_half_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sheet(tmp_path) as open_sheet:
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="full"):
            open_sheet.answer("r1", 0, "first")
        monkeypatch.undo()
        assert open_sheet.turn("r1").done == 0
        open_sheet.answer("r1", 0, "first")
    assert len(rows(tmp_path)) == 2


def fail(_: int) -> None:
    raise OSError("full")


def test_two_at_once_and_files_of_another_form_are_refused(tmp_path: Path) -> None:
    with sheet(tmp_path), pytest.raises(SpecError, match="another assay rate"):
        sheet(tmp_path)
    with pytest.raises(SpecError, match="item, side, rating"):
        sheet(tmp_path, "long")


def test_rows_of_items_that_are_no_more_are_left_as_they_are(tmp_path: Path) -> None:
    with sheet(tmp_path):
        pass
    with (tmp_path / "ratings.csv").open("a") as file:
        file.write("gone,a,b,first,r1,1.0,x\n\ni1,a,b\n")
    with sheet(tmp_path) as open_sheet:
        assert (open_sheet.foreign, open_sheet.kept) == (3, 0)


@given(st.lists(st.tuples(st.sampled_from(["r1", "r2"]), st.sampled_from(["first", "second", "tie", "undo"])), max_size=25))
def test_a_restart_sees_what_was_there(tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("study")
    with sheet(folder) as open_sheet:
        for rater, deed in deeds:
            number = open_sheet.turn(rater).number
            if deed == "undo" or number is None:
                open_sheet.undo(rater)
            else:
                open_sheet.answer(rater, number, deed)
        before = [open_sheet.turn(rater) for rater in ("r1", "r2")], open_sheet.shares("a", 1)
    with sheet(folder) as again:
        assert ([again.turn(rater) for rater in ("r1", "r2")], again.shares("a", 1)) == before


def test_an_items_first_choices_count_once_it_has_enough(tmp_path: Path) -> None:
    with sheet(tmp_path) as open_sheet:
        for rater, wins in (("r1", "a"), ("r2", "b")):
            for number in range(20):
                thing = open_sheet.thing(rater, number)
                assert thing is not None
                open_sheet.answer(rater, number, "first" if thing.sides[0] == wins else "second")
        assert open_sheet.shares("a", 1) == [1.0] * 20
        assert open_sheet.shares("a", 2) == [0.5] * 20
        assert open_sheet.shares("a", 3) == []
