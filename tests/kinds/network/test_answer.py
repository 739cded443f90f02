"""The answer of a network probe: the rates of the first host, a row for each, and what is missing with its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.frames.links.network_probe import Network
from fireassay.kinds.network.show import brief
from fireassay.reports.build_view import build
from fireassay.reports.page import Number, Table
from fireassay.reports.pages.record import page
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from tests.looked import Seen, look
from tests.reports.pages.screens import EVIL, flat, harmless, screen

pytestmark = pytest.mark.slow

SILENT = Seen(rtt_s=None, answered=0, there=None, back=None, lacks=({"what": "ping", "why": "No route to host", "mend": ""},))


def viewed(**seen: Seen) -> View:
    measured = look(seen)
    return build(measured, judge(measured))


def test_the_first_line_has_the_rates_and_the_table_those_of_the_metrics() -> None:
    view = viewed(a=Seen(scatter=0.01), b=Seen(scatter=0.01))
    assert screen(page(view))[0].startswith("MEASURED  network: a: 800 Mbit/s [780, 821] there, 800 Mbit/s [780, 821] back")
    assert "; 1 more host" in flat(page(view))
    ((table,),) = [section.blocks for section in brief(view)]
    assert isinstance(table, Table)
    for host, row in zip(("a", "b"), table.rows, strict=True):
        assert isinstance(row[2], Number)
        assert row[2].value == view.value("link_rate", host)


def test_a_host_that_never_answered_fails_and_has_no_number() -> None:
    view = viewed(a=Seen(scatter=0.01), b=SILENT)
    lines = screen(page(view))
    assert lines[0] == "FAIL  network: b did not answer in any round: No route to host"
    assert [line.split() for line in lines if line.startswith("b ")] == [["b", "-", "-", "-", "-"]]
    assert "not measured - b: No route to host" in flat(page(view))


def test_many_hosts_fit_the_screen_and_none_steers_the_terminal() -> None:
    view = viewed(a=Seen(scatter=0.01))
    assert view.network is not None
    screen(page(replace(view, network=Network(hosts=tuple(f"node{n}" for n in range(40)), interfaces=()))))
    harmless(page(replace(view, name=EVIL, network=Network(hosts=(EVIL,), interfaces=()))))
