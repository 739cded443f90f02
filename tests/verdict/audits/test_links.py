"""Do the collectives carry right data, and is the network healthy?"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from fireassay import catalog
from fireassay.frames.record_data import RecordData
from fireassay.metrics.results import LazyResults
from fireassay.spec.sections.collectives import Cell
from fireassay.verdict.audits.links import examine_network, explained
from fireassay.verdict.judge import judge
from fireassay.verdict.types import Finding
from tests.collectives_made import Made
from tests.looked import Seen, look

# ---- collective data ----
# Are wrong data of timed collectives found, named by what all ranks saw, and unchecked ones not admitted?

COLLECTIVE_DATA = catalog.load("verdict.audits", "collective_data")


def collective_findings(measured: RecordData) -> dict[str, Finding]:
    return {finding.rule: finding for finding in COLLECTIVE_DATA.examine(measured, {})}


@pytest.mark.slow
def test_wrong_data_fail_the_record_and_are_named() -> None:
    def wrong(cell: Cell, launch: int, rank: int, call: int) -> tuple[int, str | None]:
        return (300, "rank_missing: rank 2") if cell.size == 2**14 and launch == 3 and call == 2 else (0, None)

    measured = Made(levels=(4,), sizes=("1K:1M",), wrong=wrong).measured()
    found = collective_findings(measured)["collective_data_wrong"]
    assert found.severity == "fail"
    for part in (
        "all_reduce in place of 16384 bytes of float32 on 4 ranks",
        "launch 3",
        "ranks 0, 1, 2, 3",
        "rank_missing: rank 2",
        "300 wrong elements",
    ):
        assert part in found.evidence
    judgement = judge(measured)
    assert judgement.verdict.status == "FAIL"
    assert "rank_missing: rank 2" in judgement.verdict.sentence


@pytest.mark.slow
def test_calls_that_nobody_checked_are_inadmissible() -> None:
    measured = Made(sizes=("1K:1M",), wrong=lambda *_: (None, None)).measured()
    assert collective_findings(measured)["collective_data_unchecked"].severity == "invalid"
    assert judge(measured).verdict.status == "INVALID"


def test_only_the_root_of_a_reduction_must_have_been_checked() -> None:
    measured = Made(
        ops=("reduce",), levels=(3,), sizes=("1K:1M",), wrong=lambda cell, launch, rank, call: (0 if rank == 0 else None, None)
    ).measured()
    assert collective_findings(measured) == {}


@pytest.mark.parametrize(
    ("seen", "size", "said"),
    [
        ({0: ("stale: the input", 9), 1: ("sum_is_here", 0)}, 2, "wrong_root: the sum is on rank 1"),
        ({0: ("stale: the input", 9), 1: ("rank_missing: rank 1", 9)}, 2, "rank_missing: rank 1"),
        ({0: ("stale: the input", 9), 1: ("stale: the input", 9)}, 2, "stale: the input"),
        (
            {0: ("stale: the input", 9), 1: ("rank_missing: rank 1", 9), 2: ("rank_missing: rank 1", 9)},
            3,
            "stale: the input; rank_missing: rank 1",
        ),
        ({0: ("bit_flip: bit 1 of element 2", 1), 1: ("", 0)}, 2, "bit_flip: bit 1 of element 2"),
    ],
)
def test_what_all_ranks_saw_together_has_one_explanation(seen: dict[int, tuple[str, int]], size: int, said: str) -> None:
    assert explained(seen, size) == said


def test_a_sweep_beside_a_training_is_examined_and_the_trainings_own_calls_are_not() -> None:
    """The same rows, in launches of the role sweep: named. In timed launches of a training nobody checks data."""

    def wrong(cell: Cell, launch: int, rank: int, call: int) -> tuple[int | None, str | None]:
        return (5, "bit_flip: bit 3 of element 5") if launch == 0 and rank == 0 else (None, None)

    made = Made(blocks=2, sizes=("1K:1M",), wrong=wrong).measured()
    workload = made.experiment.workload.model_copy(update={"runner": "training", "script": "train.py"})
    training = replace(made, experiment=made.experiment.model_copy(update={"workload": workload, "collectives": None}))
    assert collective_findings(training) == {}
    launches = made.table("launches").with_columns(role=pl.lit("sweep"))
    swept = replace(training, tables={**made.tables, "launches": launches})
    assert set(collective_findings(swept)) == {"collective_data_wrong", "collective_data_unchecked"}


# ---- network health ----
# Is each fault of a network named by its rule, and nothing where all is well?

WELL = Seen(scatter=0.01)


def network_findings(record: RecordData) -> dict[str, Finding]:
    return {finding.rule: finding for finding in examine_network(record, LazyResults(record))}


@pytest.mark.slow
def test_a_healthy_network_has_no_finding() -> None:
    assert network_findings(look({"a": WELL, "b": WELL})) == {}


@pytest.mark.slow
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
    found = network_findings(look({"a": seen}))
    assert rule in found
    if rule != "sent_again":
        assert words in found[rule].evidence
    else:  # both directions are told; the dictionary holds the last
        assert "9,000 segments were retransmitted, about 2.2 % of them" in found[rule].evidence
    assert found[rule].severity == "warning"
    assert found[rule].remedy


@pytest.mark.slow
def test_a_few_segments_sent_again_are_tcps_daily_work() -> None:
    assert "sent_again" not in network_findings(look({"a": Seen(again=1000)}))  # 0.7 %


@pytest.mark.slow
def test_a_slow_link_among_others_is_named() -> None:
    found = network_findings(look({"a": WELL, "b": Seen(there=10e6, back=10e6, scatter=0.01)}))
    assert found["slower_link"].evidence == "to b 10.00 MB/s, to a 100.0 MB/s: 10.0 times as much"


@pytest.mark.slow
def test_a_slower_interface_is_named() -> None:
    ways = [{"interface": f"eth{place}", "speed_bits": speed} for place, speed in enumerate((1_000_000_000, 25_000_000_000))]
    found = network_findings(look({"a": Seen(way=ways[0]), "b": Seen(way=ways[1])}))
    assert found["slower_interface"].evidence == "eth0 runs at 1,000 Mbit/s, another interface of this machine at 25,000"


@pytest.mark.slow
def test_counters_that_grew_are_told_and_those_that_did_not_are_not() -> None:
    found = network_findings(look({"a": WELL}, grew={"errors": 4.0}))
    assert found["interface_errors"].evidence == "eth0: 12 packets were damaged during the measurement"
    assert "interface_dropped" not in found


@pytest.mark.slow
def test_a_host_that_never_answered_fails_and_says_what_was_tried() -> None:
    silent = Seen(
        rtt_s=None, answered=0, there=None, back=None, unbroken=None, lacks=({"what": "ping", "why": "No route to host", "mend": ""},)
    )
    found = network_findings(look({"a": WELL, "b": silent}))
    assert found["host_silent"].severity == "fail"
    assert found["host_silent"].evidence == "b did not answer in any round: No route to host"


@pytest.mark.slow
def test_what_could_not_be_measured_is_told_with_the_line_that_mends_it() -> None:
    lack = {"what": "iperf3", "why": "no iperf3 server answers at a, port 5201", "mend": "start `iperf3 -s` on a"}
    found = network_findings(look({"a": Seen(there=None, back=None, lacks=(lack,))}))
    assert found["no_iperf3"].evidence == "a: no iperf3 server answers at a, port 5201 (3 rounds)"
    assert found["no_iperf3"].remedy == "start `iperf3 -s` on a"
