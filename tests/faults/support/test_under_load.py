"""Does a fault of a load strike at its moment, once, and is it undone whatever happens?"""

from __future__ import annotations

import time
from typing import Any

import pytest

from fireassay import catalog
from fireassay.errors import SpecError
from fireassay.faults.support import under_load
from fireassay.faults.support.base import Fault, Struck, Undo
from fireassay.faults.support.under_load import Strike
from fireassay.spec.sections.faults import Fault as FaultSpec
from fireassay.spec.sections.serving import Target
from tests.faults.loaded import kinds, row
from tests.launchers.helpers import until
from tests.launchers.support.test_servers import Heard

STRUCK = Struck(replica=1, url="http://127.0.0.1:1", target=Target())


class Keys(FaultSpec):
    share: float = 0.1
    command: str = ""


class Acts:
    """A fault that notes when it acts and when it is undone."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.ns: list[int] = []

    def on_load(self, struck: Struck, asked: FaultSpec) -> Undo:
        if self.fails == "act":
            raise OSError("it is not there")
        self.ns.append(time.monotonic_ns())
        return self.undo

    def undo(self) -> None:
        self.ns.append(time.monotonic_ns())
        if self.fails == "undo":
            raise ValueError("it does not come back")

    def strike(self, heard: Heard, **changes: Any) -> Strike:
        fault = Fault(name="breaks", on_load=self.on_load, keys=Keys)
        return Strike(fault, STRUCK, Keys.model_validate({"for_s": 0.1, **changes}), heard)


@pytest.mark.slow
def test_it_strikes_and_is_undone_at_its_moments() -> None:
    acts, heard = Acts(), Heard()
    with acts.strike(heard, share=0.25) as strike:
        due = time.monotonic_ns() + 50_000_000
        strike.at(due)
        until(strike.done.is_set, "the end of the fault")
    (_, begin_ns, replica, said), (_, end_ns, _, ended) = row(heard, "fault"), row(heard, "fault_end")
    assert due <= begin_ns <= acts.ns[0]
    assert begin_ns + 100_000_000 <= end_ns <= acts.ns[1]
    assert (replica, said) == (1, {"fault": "breaks", "replica": 1, "for_s": 0.1, "share": 0.25, "command": ""})
    assert ended == {"fault": "breaks", "replica": 1, "at_end": False, "trouble": ""}


def test_the_end_of_the_load_undoes_it_at_once() -> None:
    acts, heard = Acts(), Heard()
    strike = acts.strike(heard, for_s=3600.0)
    strike.at(time.monotonic_ns())
    until(lambda: acts.ns, "the act")
    strike.close()
    assert len(acts.ns) == 2
    assert row(heard, "fault_end")[3]["at_end"] is True


def test_it_does_not_strike_after_the_load() -> None:
    acts, heard = Acts(), Heard()
    strike = acts.strike(heard)
    strike.at(time.monotonic_ns() + 3_600_000_000_000)
    strike.close()
    assert acts.ns == []
    assert kinds(heard) == ["fault_missed"]
    assert "over before" in strike.missed


def test_an_act_that_fails_is_told_and_not_undone() -> None:
    acts, heard = Acts(fails="act"), Heard()
    with acts.strike(heard) as strike:
        strike.at(time.monotonic_ns())
        until(strike.done.is_set, "the end of the fault")
    assert kinds(heard) == ["fault", "fault_missed"]
    assert (acts.ns, strike.missed) == ([], "it is not there")


def test_an_undoing_that_fails_is_told() -> None:
    acts, heard = Acts(fails="undo"), Heard()
    with acts.strike(heard, for_s=0.0) as strike:
        strike.at(time.monotonic_ns())
        until(strike.done.is_set, "the end of the fault")
    assert row(heard, "fault_end")[3]["trouble"] == "ValueError: it does not come back"


def test_secrets_in_a_command_do_not_reach_the_event() -> None:
    heard = Heard()
    with Acts().strike(heard, command="curl -H 'Authorization: Bearer abcdefgh12345678'", for_s=0.0) as strike:
        strike.at(time.monotonic_ns())
        until(strike.done.is_set, "the end of the fault")
    assert "abcdefgh12345678" not in str(heard.rows)


@pytest.mark.parametrize("kind", ["kill", "stop", "slow"])
def test_a_fault_of_processes_needs_servers_of_assays_own(kind: str) -> None:
    with pytest.raises(SpecError, match="assay does not start"):
        under_load.check(catalog.load("faults", kind), FaultSpec(kind=kind), Target(urls=("http://127.0.0.1:1",)))


def test_a_replica_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError, match="0 to 1"):
        under_load.check(catalog.load("faults", "kill"), FaultSpec(replica=2), Target(command=("x",), replicas=2))


@pytest.mark.parametrize("kind", sorted(catalog.names("faults")))
def test_every_kind_strikes_a_load_or_a_training(kind: str) -> None:
    fault: Fault = catalog.load("faults", kind)
    assert fault.on_load is not None or fault.strike is not None
    assert all(name in FaultSpec.complete().model_fields for name in fault.parameters)
