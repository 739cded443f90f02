"""Is a figure drawn as the page draws it: each mark in its own colour, no class, no variable, nothing for the pointer?"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from fireassay.api.chart import colour, figure

PANEL = (
    '<svg class="ch" height="100" role="group" aria-label="one"><line class="g" x2="100%"/><text y="10">3</text>'
    '<g class="c-blue"><circle class="d" r="4"/><rect class="hit"/></g><g class="c-fail"><circle class="d" r="4"/></g></svg>'
)


def test_a_mark_takes_the_colour_of_the_group_around_it() -> None:
    circles = [element.get("style") or "" for element in ET.fromstring(figure([PANEL])).iter("{http://www.w3.org/2000/svg}circle")]
    assert [f"fill:{colour(role)}" in style for role, style in zip(("blue", "fail"), circles, strict=True)] == [True, True]
    assert colour("blue") != colour("fail")
    assert colour("blue").startswith("#")


def test_nothing_of_the_page_is_left() -> None:
    drawn = figure([PANEL])
    for word in ("class=", "var(", "light-dark", "currentColor", "hit", "aria-label"):
        assert word not in drawn


def test_panels_stand_below_each_other() -> None:
    root = ET.fromstring(figure([PANEL, PANEL]))
    panels = root.findall("{http://www.w3.org/2000/svg}svg")
    tops = [float(panel.get("y", "")) for panel in panels]
    assert tops[1] - tops[0] >= 100.0
    assert float(root.get("height", "")) >= tops[1] + 100.0


def test_an_unknown_role_inherits_its_colour() -> None:
    assert colour("no-such-role") == "inherit"
