"""contention: other programs, the hypervisor or a quota took processor time from the timed launches."""

from __future__ import annotations

import pytest

from assay.verdict.audits.contention import load_shares
from tests.handmade import Handmade
from tests.verdict.making import good, judged, rules


def loaded(**grown: float) -> Handmade:
    """A good record with counters of its own: 10 s on 2 processors, 12 s busy (11.5 ours, 0.3 assay's), 8 s idle."""
    made = good(leave_out=("counters",))
    names = {
        "busy": ("cpu", "busy", 12.0), "idle": ("cpu", "idle", 8.0), "steal": ("cpu", "steal", 0.0),
        "own": ("launch", "cpu_time", 11.5), "assay": ("coordinator", "cpu_time", 0.3), "throttled": ("cgroup", "throttled", 0.0),
    }  # fmt: skip
    for number in range(len(made.rows["launches"])):
        for name, (device, counter, usual) in names.items():
            value = grown.get(name, usual) if number < 3 else usual
            made.reading(number, device, counter, 100.0, at_s=0.0)
            made.reading(number, device, counter, 100.0 + value, at_s=10.0)
    return made


def test_a_quiet_machine_gives_no_finding() -> None:
    assert rules(judged(loaded())) == {}


def test_foreign_load_is_what_is_neither_the_launch_nor_assay() -> None:
    """(15 - 11.5 - 0.3) / (15 + 8 + 0) = 3.2 / 23 = 13.9 % in the first three launches; (0.2 / 20) = 1 % in the others."""
    made = loaded(busy=15.0)
    shares = load_shares(made.measured())["foreign"].to_list()
    assert shares == pytest.approx([3.2 / 23.0] * 3 + [0.01] * 7)
    assert rules(judged(made)) == {"foreign_load": [None]}
    (finding,) = judged(made).verdict.findings
    assert finding.severity == "warning"
    assert "up to 14%" in finding.evidence
    assert "in 3 of 10 timed launches (launches 0, 1, 2)" in finding.evidence


def test_the_load_of_the_launch_itself_is_never_foreign() -> None:
    """Four workers on two cores use them fully, and nobody else does."""
    assert rules(judged(loaded(busy=20.0, own=19.7, idle=0.0))) == {}


def test_a_tenth_of_the_machine_is_let_pass_and_more_is_not() -> None:
    assert rules(judged(loaded(busy=13.79, idle=6.21))) == {}  # 1.99 / 20
    assert rules(judged(loaded(busy=13.81, idle=6.19))) == {"foreign_load": [None]}  # 2.01 / 20


def test_steal_is_named_by_itself() -> None:
    assert rules(judged(loaded(steal=0.3))) == {}  # 0.3 / 20.3 = 1.5 %
    assert rules(judged(loaded(steal=0.5))) == {"steal": [None]}  # 0.5 / 20.5 = 2.4 %


def test_throttling_is_a_share_of_the_wall_time() -> None:
    """1 % of a launch of about 20 s (one worker) or 14 s (two) is 0.2 or 0.14 s."""
    assert rules(judged(loaded(throttled=0.1))) == {}
    assert rules(judged(loaded(throttled=0.5))) == {"throttled": [None]}


def test_without_counters_it_says_that_nothing_would_be_seen() -> None:
    judgement = judged(good(leave_out=("counters",)))
    assert rules(judgement) == {"contention_not_measured": [None]}
    assert judgement.verdict.findings[0].severity == "note"


def test_a_disturbed_launch_does_not_change_the_status() -> None:
    assert judged(loaded(busy=19.0, idle=1.0)).verdict.status == "PASS"
