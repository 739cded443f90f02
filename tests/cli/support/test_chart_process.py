"""Are pictures the same whoever draws them, and is nothing left of the second process?"""

from __future__ import annotations

import os
import signal
from typing import Any

import psutil
import pytest

from fireassay.cli.support import chart_process as second
from fireassay.reports.charts import converter

pytestmark = pytest.mark.slow


BAR: dict[str, Any] = {
    "data": {"values": [{"a": "ü <b>", "n": 3}, {"a": "c\n", "n": None}, *({"a": f"{k}", "n": k} for k in range(900))]},
    "mark": "bar",
    "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"field": "n", "type": "quantitative"}},
}


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which are enough, other than `tests/conftest.py` says."""
    monkeypatch.setattr(second, "ENOUGH_PROCESSORS", 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def drawers() -> list[psutil.Process]:
    """The second processes of this one."""
    return [child for child in psutil.Process().children() if "fireassay.cli.support.chart_process" in " ".join(child.cmdline())]


def test_a_picture_is_the_same_from_either_process() -> None:
    expected = converter.here(BAR)()
    with second.ahead(True):
        assert len(drawers()) == 1
        convert = converter.CONVERT.get()
        assert convert is not converter.here
        other = {**BAR, "mark": "point"}
        drawn = [convert(other if number % 2 else BAR) for number in range(6)]  # more than a pipe holds at once
        assert [take() for take in drawn] == [expected, converter.here(other)()] * 3
    assert converter.CONVERT.get() is converter.here
    assert drawers() == []


def test_if_the_second_process_dies_the_pictures_are_drawn_here() -> None:
    with second.ahead(True):
        [process] = drawers()
        process.send_signal(signal.SIGKILL)
        assert converter.CONVERT.get()(BAR)() == converter.here(BAR)()
    assert drawers() == []


def test_it_may_die_at_any_time() -> None:
    """With questions that have no answer yet, and before further ones."""
    expected = converter.here(BAR)()
    with second.ahead(True):
        [process] = drawers()
        process.send_signal(signal.SIGSTOP)
        convert = converter.CONVERT.get()
        asked = [convert(BAR)]
        process.send_signal(signal.SIGKILL)
        asked += [convert(BAR), convert(BAR)]
        assert [take() for take in asked] == [expected] * 3
    assert drawers() == []


def test_a_specification_that_it_cannot_draw_is_an_error_here_as_ever() -> None:
    with second.ahead(True), pytest.raises(ValueError, match="Vega"):
        converter.CONVERT.get()({"mark": 7})()


@pytest.mark.parametrize(("wanted", "processors"), [(False, 8), (True, 1)])
def test_no_second_process_is_started_in_vain(monkeypatch: pytest.MonkeyPatch, wanted: bool, processors: int) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    with second.ahead(wanted):
        assert converter.CONVERT.get() is converter.here
        assert drawers() == []
