"""A plot in characters says what its numbers say: read back from the screen, ends and crossings are those of the interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.reports.writers.support.character_plot import Axis, axis, draw, ticks

WIDTH = 48
finite = st.floats(-1e6, 1e6).map(lambda x: round(x, 4))


@st.composite
def intervals(draws: st.DrawFn) -> tuple[float, float, float]:
    low, value, high = sorted(draws(st.tuples(finite, finite, finite)))
    return value, low, high


def made(rows: list[tuple[float, float, float]], edges: list[float]) -> Axis:
    found = axis(rows, edges, WIDTH)
    assert found is not None
    return found


@given(st.lists(intervals(), min_size=1, max_size=5), st.lists(finite, max_size=2, unique=True))
def test_an_edge_is_crossed_on_the_screen_if_and_only_if_it_is_in_the_numbers(
    rows: list[tuple[float, float, float]], edges: list[float]
) -> None:
    over = made(rows, edges)
    assert len(over.cells) <= WIDTH
    for value, low, high in rows:
        text = draw(over, value, low, high)
        assert len(text) == len(over.cells)
        for cell, character in zip(over.cells, text, strict=True):
            if cell.edge:
                assert (character == "┼") == (low < cell.low < high)


@given(st.lists(intervals(), min_size=1, max_size=5), st.lists(finite, max_size=2, unique=True))
def test_the_value_stands_in_its_cell(rows: list[tuple[float, float, float]], edges: list[float]) -> None:
    over = made(rows, edges)
    for value, low, high in rows:
        text = draw(over, value, low, high)
        cells = [cell for cell, character in zip(over.cells, text, strict=True) if character == "●"]
        assert len(cells) == 1
        assert cells[0].low <= value <= cells[0].high


@given(st.lists(intervals(), min_size=1, max_size=5))
def test_every_cell_that_the_interval_touches_is_filled_and_no_other(rows: list[tuple[float, float, float]]) -> None:
    over = made(rows, [])
    for value, low, high in rows:
        for cell, character in zip(over.cells, draw(over, value, low, high), strict=True):
            if character != " ":
                assert low <= cell.high
                assert high >= cell.low
            else:
                assert low >= cell.high or high <= cell.low


def test_it_looks_like_the_design() -> None:
    over = made([(96.4, 94.4, 98.4), (89.5, 87.6, 91.5), (66.1, 64.1, 68.1)], [70.0])
    assert ticks(over, {70.0: ""}) == " |65  ┊70   |75  |80  |85  |90  |95"
    assert draw(over, 89.5, 87.6, 91.5) == "      ┊                 ├─●─┤       "
    assert "┼" not in draw(over, 66.1, 64.1, 68.1)
    assert draw(over, 66.1, 64.1, 70.5).count("┼") == 1


@pytest.mark.parametrize(("low", "high", "begin", "end"), [(float("-inf"), 70.0, "<", "┤"), (60.0, float("inf"), "├", ">")])
def test_an_end_that_the_data_do_not_bound_is_an_arrow(low: float, high: float, begin: str, end: str) -> None:
    over = made([(65.0, 60.0, 70.0)], [])
    text = draw(over, 65.0, low, high).strip()
    assert (text[0], text[-1]) == (begin, end)


@given(st.lists(intervals(), min_size=1, max_size=4), st.lists(finite, max_size=2, unique=True))
def test_a_tick_stands_over_the_cell_that_begins_with_it(rows: list[tuple[float, float, float]], edges: list[float]) -> None:
    over = made(rows, edges)
    line = ticks(over, dict.fromkeys(edges, ""))
    for index, character in enumerate(line):
        if character in "|┊":
            label = line[index + 1 :].split()[0].split("|")[0].split("┊")[0]
            digits = 5e-3 if character == "┊" else 1e-5  # a limit that was computed has three
            assert float(label) == pytest.approx(over.cells[index].low, rel=digits, abs=over.step * 1e-3)


def test_too_little_room_or_nothing_to_show_gives_no_axis() -> None:
    assert axis([], [], WIDTH) is None
    assert axis([(1.0, 0.0, 2.0)], [], 5) is None


def test_a_value_at_the_upper_end_of_its_interval_ends_it() -> None:
    over = axis([(100.0, 99.2, 100.0)], [99.0], 40)
    assert over is not None
    text = draw(over, 100.0, 99.2, 100.0)
    assert text.rstrip().endswith("●")
    assert "┤" not in text


def test_a_value_on_an_edge_stands_behind_it() -> None:
    over = axis([(99.0, 97.0, 99.0), (100.0, 98.0, 101.0)], [99.0], 40)
    assert over is not None
    text = draw(over, 99.0, 97.0, 99.0)
    assert text.index("┊") < text.index("●")


def test_more_edges_than_columns_make_no_plot() -> None:
    edges = [0.01 * index for index in range(7)]
    assert axis([(1.0, 0.9, 1.1)], edges, 13) is None
    assert axis([(1.0, 0.9, 1.1)], edges, 17) is not None
    assert axis([(1.0, 0.9, 1.1)], [0.5] * 9, 13) is not None


def test_ends_that_differ_by_rounding_alone_are_equal() -> None:
    over = axis([(5.0, 5.0, 5.0 + 1e-13)], [], WIDTH)
    assert over is not None
    assert over.low < 5.0 < over.high
