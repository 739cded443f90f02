"""How is the network path to other hosts measured?  Rounds of pings and transfers, while interface counters are metered.

`workload.arguments` are the hosts, as HOST or HOST:PORT (of its iperf3 server), and `seconds=S` of a transfer.  A launch is a round;
its numbers are rows of `telemetry` with the device `to HOST`, unavailable measurements are events `network_lack`, and the settings of
the interface on the route are an event `network_way`.  A round without any response has failed.
Nothing is started on the other host; its owner must run `iperf3 -s` there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from fireassay.errors import Problem, refuse_any
from fireassay.instruments import network_probe
from fireassay.instruments.machine.interfaces import settings
from fireassay.instruments.network_probe import Echo, Lack, Stream, Target
from fireassay.record.machine import Machine
from fireassay.runners.experiment.context import Job, RunContext, Runner
from fireassay.runners.launching.rounds import Rounds, Visited
from fireassay.spec.experiment import Experiment

SECONDS: Final = "seconds="
MAX_SECONDS: Final = 3600.0
LACK, WAY = "network_lack", "network_way"


def hosts_and_seconds(experiment: Experiment) -> tuple[tuple[Target, ...], float]:
    """The hosts, and the seconds per transfer. Raises SpecError: an argument is neither, or there is no host."""
    seconds, targets, problems = network_probe.SECONDS, [], []
    for word in experiment.workload.arguments:
        try:
            if word.startswith(SECONDS):
                seconds = _seconds(word.removeprefix(SECONDS))
            else:
                targets.append(network_probe.target(word))
        except ValueError as error:
            about = "--seconds" if word.startswith(SECONDS) else "--net"
            problems.append(Problem(about, repr(word.removeprefix(SECONDS)), str(error)))
    if not targets and not problems:
        fix = "For example: assay comm --net node1 node2"
        problems.append(Problem("--net", "no host", "at least one host", fix))
    if len(set(targets)) < len(targets):
        problems.append(Problem("--net", "a host twice", "every host once"))
    refuse_any(problems, "the hosts")
    return tuple(targets), seconds


def _seconds(text: str) -> float:
    allowed = f"a number from 1 to {MAX_SECONDS:g}"
    try:
        seconds = float(text)
    except ValueError:
        raise ValueError(allowed) from None
    if not 1.0 <= seconds <= MAX_SECONDS:
        raise ValueError(allowed)
    return seconds


def check(experiment: Experiment, folder: Path) -> None:
    """Check that the hosts resolve. Raises SpecError: an argument is not a host, or its address is unknown."""
    problems = []
    for target in hosts_and_seconds(experiment)[0]:
        try:
            network_probe.resolve(target.host)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            found = f"{target.host!r}, which does not resolve ({why})"
            allowed = "a name that this machine can resolve, or an address"
            problems.append(Problem("--net", found, allowed, f"See: getent hosts {target.host}"))
    refuse_any(problems, "the hosts")


class NetworkRounds(Rounds):
    """Makes the rounds of an experiment."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self.targets, self.seconds = hosts_and_seconds(context.experiment)

    def visit(self, job: Job) -> Visited:
        """Visit every host in sequence."""
        names = [target.name for target in self.targets]
        return Visited(
            answered=[target.name for target in self.targets if not self.stopped() and HostProbe(self, job, target).make()],
            placement={"launcher": "none", "to": names},
            nobody=f"none of {', '.join(names)} answered: the record lists the attempts",
        )


class HostProbe:
    """One round to one host."""

    def __init__(self, rounds: NetworkRounds, job: Job, target: Target) -> None:
        self.rounds, self.job, self.target = rounds, job, target

    def make(self) -> bool:
        """Measure everything possible. Returns whether the host responded."""
        try:
            address = network_probe.resolve(self.target.host)
            own_address, interface = network_probe.way(address)
        except OSError as error:
            why = f"there is no route to {self.target.host}: {error.strerror or error}"
            self._lack(Lack(what="way", why=why, mend=f"ip route get {self.target.host}"))
            return False
        set_to = dict(settings(Machine(), interface)) if interface else {}
        self._event(WAY, {"address": address, "own_address": own_address, "interface": interface, **set_to})
        answered = self._echoes(address)
        if mtu := set_to.get("mtu"):
            self._path(address, int(mtu), answered=answered)
        for reverse in (False, True):
            if not self.rounds.stopped():
                answered = self._stream(address, reverse=reverse) or answered
        return answered

    def _echoes(self, address: str) -> bool:
        answered = False
        for result in network_probe.echo(self.target, address, stopped=self.rounds.stopped):
            if isinstance(result, Lack):
                self._lack(result)
                continue
            self._echo(result)
            answered = answered or bool(result.seconds)
        return answered

    def _echo(self, echo: Echo) -> None:
        for seconds in echo.seconds:
            self._row(f"{echo.by}_rtt", seconds, "s")
        self._row(f"{echo.by}_sent", float(echo.sent), "count")
        self._row(f"{echo.by}_answered", float(len(echo.seconds)), "count")
        if echo.why:
            self._lack(Lack(what=echo.by, why=echo.why))

    def _path(self, address: str, mtu: int, *, answered: bool) -> None:
        if not answered or mtu > 65_535 or self.rounds.stopped():  # the loopback's MTU may exceed the IPv4 packet limit
            return
        result = network_probe.unbroken(address, mtu, stopped=self.rounds.stopped)
        if isinstance(result, Lack):
            self._lack(result)
        else:
            self._row("path_unbroken", float(result), "flag")

    def _stream(self, address: str, *, reverse: bool) -> bool:
        result = network_probe.stream(self.target, address, reverse=reverse, seconds=self.rounds.seconds, stopped=self.rounds.stopped)
        if isinstance(result, Lack):
            self._lack(result)
            return False
        for name, value, unit in _rows(result):
            self._row(f"{'back' if reverse else 'there'}_{name}", value, unit)
        return True

    def _lack(self, lack: Lack) -> None:
        self._event(LACK, asdict(lack))

    def _event(self, kind: str, detail: Mapping[str, Any]) -> None:
        self.rounds.event(self.job, kind, {"to": self.target.name, **detail})

    def _row(self, counter: str, value: float, unit: str) -> None:
        self.rounds.number(self.job, f"to {self.target.name}", counter, value, unit, "sampled")


def _rows(stream: Stream) -> Iterator[tuple[str, float, str]]:
    yield "sent", stream.sent, "B/s"
    yield "received", stream.received, "B/s"
    if stream.again is not None:
        yield "sent_again", float(stream.again), "count"
    if stream.rtt_s is not None:
        yield "rtt", stream.rtt_s, "s"
    if stream.host_busy is not None:
        yield "host_busy", stream.host_busy, "fraction"


RUNNER = Runner(name="network", check=check, maker=NetworkRounds)
