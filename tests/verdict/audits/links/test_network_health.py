"""Is each fault of a network named by its rule, and nothing where all is well?"""

from __future__ import annotations

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.metrics.results import LazyResults
from fireassay.verdict.audits.links.network_health import examine
from fireassay.verdict.types import Finding
from tests.looked import Seen, look

pytestmark = pytest.mark.slow


WELL = Seen(scatter=0.01)


def findings(record: RecordData) -> dict[str, Finding]:
    return {finding.rule: finding for finding in examine(record, LazyResults(record))}


def test_a_healthy_network_has_no_finding() -> None:
    assert findings(look({"a": WELL, "b": WELL})) == {}


@pytest.mark.parametrize(
    ("seen", "rule", "words"),
    [
        (Seen(answered=9), "echoes_lost", "10 % of 30 echoes did not come back"),
        (Seen(unbroken=0.0), "path_mtu", "packets of 1500 bytes, the MTU of eth0, do not arrive unfragmented"),
        (Seen(there=50e6, scatter=0.01), "one_way_slower", "to a only 50.0 MB/s, 2.0 times less than in the other direction"),
        (Seen(back=40e6, scatter=0.01), "one_way_slower", "from a only 40.00 MB/s, 2.5 times less than in the other direction"),
        (Seen(busy=0.97), "host_busy", "97 % busy"),
        (Seen(way={"interface": "eth0", "duplex": "half"}), "half_duplex", "eth0 runs at half duplex"),
        # 200 MB in two seconds are 138,122 segments of 1448 bytes; 3,000 of them are 2.2 %
        (Seen(again=3000), "sent_again", "to a: 9,000 segments were retransmitted, about 2.2 % of them"),
    ],
)
def test_each_fault_is_named_with_its_number(seen: Seen, rule: str, words: str) -> None:
    found = findings(look({"a": seen}))
    assert rule in found
    if rule != "sent_again":
        assert words in found[rule].evidence
    else:  # both directions are told; the dictionary holds the last
        assert "9,000 segments were retransmitted, about 2.2 % of them" in found[rule].evidence
    assert found[rule].severity == "warning"
    assert found[rule].remedy


def test_a_few_segments_sent_again_are_tcps_daily_work() -> None:
    assert "sent_again" not in findings(look({"a": Seen(again=1000)}))  # 0.7 %


def test_a_slow_link_among_others_is_named() -> None:
    found = findings(look({"a": WELL, "b": Seen(there=10e6, back=10e6, scatter=0.01)}))
    assert found["slower_link"].evidence == "to b 10.00 MB/s, to a 100.0 MB/s: 10.0 times as much"


def test_a_slower_interface_is_named() -> None:
    ways = [{"interface": f"eth{place}", "speed_bits": speed} for place, speed in enumerate((1_000_000_000, 25_000_000_000))]
    found = findings(look({"a": Seen(way=ways[0]), "b": Seen(way=ways[1])}))
    assert found["slower_interface"].evidence == "eth0 runs at 1,000 Mbit/s, another interface of this machine at 25,000"


def test_counters_that_grew_are_told_and_those_that_did_not_are_not() -> None:
    found = findings(look({"a": WELL}, grew={"errors": 4.0}))
    assert found["interface_errors"].evidence == "eth0: 12 packets were damaged during the measurement"
    assert "interface_dropped" not in found


def test_a_host_that_never_answered_fails_and_says_what_was_tried() -> None:
    silent = Seen(
        rtt_s=None, answered=0, there=None, back=None, unbroken=None, lacks=({"what": "ping", "why": "No route to host", "mend": ""},)
    )
    found = findings(look({"a": WELL, "b": silent}))
    assert found["host_silent"].severity == "fail"
    assert found["host_silent"].evidence == "b did not answer in any round: No route to host"


def test_what_could_not_be_measured_is_told_with_the_line_that_mends_it() -> None:
    lack = {"what": "iperf3", "why": "no iperf3 server answers at a, port 5201", "mend": "start `iperf3 -s` on a"}
    found = findings(look({"a": Seen(there=None, back=None, lacks=(lack,))}))
    assert found["no_iperf3"].evidence == "a: no iperf3 server answers at a, port 5201 (3 rounds)"
    assert found["no_iperf3"].remedy == "start `iperf3 -s` on a"
