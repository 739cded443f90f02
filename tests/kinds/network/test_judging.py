"""What is the verdict on a network probe, and what may be quoted of it?"""

from __future__ import annotations

import pytest

from fireassay.kinds.network.show import page
from fireassay.reports import build_view
from fireassay.reports.documents import record as json_report
from fireassay.reports.page import said
from fireassay.verdict.judge import judge
from tests.looked import Seen, look

pytestmark = pytest.mark.slow


SILENT = Seen(rtt_s=None, answered=0, there=None, back=None, lacks=({"what": "ping", "why": "No route to host", "mend": ""},))


@pytest.mark.parametrize(
    ("seen", "rounds", "status"),
    [
        ({"a": Seen()}, 3, "MEASURED"),
        ({"a": Seen()}, 2, "INCONCLUSIVE"),
        ({"a": Seen(), "b": SILENT}, 3, "FAIL"),
        ({"a": Seen(back=None)}, 3, "INCONCLUSIVE"),
        ({"a": Seen(unbroken=0.0)}, 3, "MEASURED"),
    ],
)
def test_the_status_follows_from_what_answered(seen: dict[str, Seen], rounds: int, status: str) -> None:
    assert judge(look(seen, rounds=rounds)).verdict.status == status


def test_the_sentence_names_each_host_with_its_numbers_and_conditions() -> None:
    sentence = judge(look({"a": Seen(scatter=0.01)})).verdict.sentence
    assert sentence.startswith("network: a: round trip 100 µs")
    assert "there 100" in sentence
    assert "one TCP connection, payload" in sentence


def test_the_reports_have_a_row_for_every_host_and_interface() -> None:
    record = look({"a": Seen(scatter=0.01), "b": SILENT}, grew={"errors": 4.0})
    tree = build_view.build(record, judge(record))

    hosts, interfaces = next(section for section in page(tree) if section.key == "numbers").blocks
    assert [said(row[0]).text for row in hosts.rows] == ["a", "b"]
    assert [said(cell).text for cell in hosts.rows[0]][2:] == ["800", "800", "0 %"]  # 100 MB/s in Mbit/s
    assert said(hosts.rows[1][2]).tone == "absent"
    assert [said(cell).text for cell in interfaces.rows[0]] == ["eth0", "a, b", "1500", "–", "full", "0", "0", "12", "0"]
    assert '"round_trip"' in json_report.render(tree)
