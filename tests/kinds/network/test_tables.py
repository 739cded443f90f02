"""The tables of a network probe: small counts are not rounded to zero."""

from __future__ import annotations

from fireassay.frames.links.network_probe import network
from fireassay.kinds.network import show
from fireassay.reports.page import said
from tests.looked import Seen, look


def test_a_few_packets_are_not_nothing() -> None:
    """3 rounds of 1,500 bytes received, 40 kB sent and no error."""
    made = look({"b": Seen()}, grew={"received_bytes": 1500.0, "sent_bytes": 40_000.0})
    _, interfaces = show.tables(network(made), {})
    texts = [said(cell).text for cell in interfaces.rows[0]]
    assert texts[-4:] == ["0.00450", "0.120", "0", "0"]


def test_a_counter_that_was_set_back_between_two_readings_has_not_grown() -> None:
    made = look({"b": Seen()}, grew={"received_bytes": -1500.5, "sent_bytes": 40_000.0})
    _, interfaces = show.tables(network(made), {})
    assert [said(cell).text for cell in interfaces.rows[0]][-4:] == ["–", "0.120", "0", "0"]
