"""Does the label of a point stand where nothing crosses it, at both widths?"""

from __future__ import annotations

from fireassay.reports.writers.support.labels import WIDTHS, Box, placed, spared


def spot(x: float, y: float) -> Box:
    return Box(x=x, y=y, left=-6.0, right=6.0, top=-6.0, bottom=6.0)


def test_a_label_alone_stands_at_the_left_and_at_the_edge_at_the_right() -> None:
    assert placed("16", spot(50.0, 100.0), [], [], right_first=False, height=200.0).anchor == "end"
    assert placed("16", spot(5.0, 100.0), [], [], right_first=True, height=200.0).anchor == "start"


def test_a_line_that_comes_from_the_left_sends_the_label_above_the_point() -> None:
    found = placed("16", spot(90.0, 100.0), [(10.0, 101.0, 90.0, 100.0)], [], right_first=False, height=200.0)
    assert (found.anchor, found.down) == ("middle", -10.0)


def test_neither_a_neighbour_nor_another_label_is_touched() -> None:
    mine, neighbour = spot(50.0, 100.0), spot(46.0, 100.0)
    first = placed("2.11", mine, [], [mine, neighbour], right_first=False, height=200.0)
    assert first.anchor == "middle"
    second = placed("2.03", mine, [], [neighbour, first.box], right_first=False, height=200.0)
    assert second.down > 0.0, "below, where above is taken"


def test_what_is_above_the_window_is_no_place() -> None:
    line = (0.0, 8.0, 50.0, 8.0)
    found = placed("16", spot(50.0, 8.0), [line], [], right_first=False, height=200.0)
    assert found.down > 0.0
    assert all(found.box.at(width)[2] >= 0.0 for width in WIDTHS)


def test_a_label_stands_outside_of_a_ring_around_its_point() -> None:
    ringed = Box(x=50.0, y=100.0, left=-11.0, right=11.0, top=-11.0, bottom=11.0)
    for right_first in (True, False):
        box = placed("16", ringed, [], [], right_first=right_first, height=200.0).box
        assert box.right <= ringed.left or box.left >= ringed.right


def test_an_upright_line_spares_the_name_that_it_would_cross_on_a_telephone() -> None:
    assert spared("b: 0.550 [0.501, 0.599]", 40.0)
    assert not spared("b: 0.550 [0.501, 0.599]", 60.0)
