"""What did the network interfaces transmit, drop and corrupt?

The kernel's counters since boot, as shown by iftop and nload. /proc/net/dev holds all interfaces of this process's network namespace in
one read. Errors and drops are summed over both directions. Of many interfaces (containers have one each) the busiest at the first
reading are kept. Settings (MTU, speed, duplex, carrier) come from /sys/class/net; virtual interfaces have no speed.
TCP's counters cover the whole namespace: they cannot be assigned to connections.
Sources: proc_pid_net(5), Documentation/networking/statistics.rst, RFC 4022 for TCP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from fireassay.instruments.machine.reading import Reading
from fireassay.record.machine import Machine, Unread

MAX_INTERFACES: Final = 8  # interfaces read
# columns of /proc/net/dev: eight for receiving, then eight for sending
_COLUMNS: Final = ("bytes", "packets", "errs", "drop")


def counted(machine: Machine) -> dict[str, dict[str, int]]:
    """Every interface's counters by name, bytes first. Raises Unread or ValueError if they are not available."""
    interfaces = {}
    for line in machine.text("/proc/net/dev").splitlines()[2:]:
        name, _, rest = line.partition(":")
        values = [int(word) for word in rest.split()]
        if len(values) < 12:
            raise ValueError(f"/proc/net/dev: {line[:80]!r} has {len(values)} numbers, not 16")
        received, sent = (dict(zip(_COLUMNS, values[begin:], strict=False)) for begin in (0, 8))
        interfaces[name.strip()] = {
            "received_bytes": received["bytes"],
            "sent_bytes": sent["bytes"],
            "received_packets": received["packets"],
            "sent_packets": sent["packets"],
            "errors": received["errs"] + sent["errs"],
            "dropped": received["drop"] + sent["drop"],
        }
    return interfaces


def tcp(machine: Machine) -> dict[str, int]:
    """Segments that TCP sent, and how many were retransmitted. Raises Unread or LookupError."""
    lines = [line.split() for line in machine.text("/proc/net/snmp").splitlines() if line.startswith("Tcp:")]
    names, values = lines[0], lines[1]
    counters = dict(zip(names[1:], values[1:], strict=True))
    return {"segments_sent": int(counters["OutSegs"]), "segments_sent_again": int(counters["RetransSegs"])}


class Interfaces:
    """Reads the counters of the busiest interfaces, the same ones every time."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] | None = None

    def read(self, machine: Machine) -> Iterator[Reading]:
        """One reading per counter. Raises Unread or ValueError."""
        counts = counted(machine)
        if self._names is None:
            busy = sorted(counts, key=lambda name: -(counts[name]["received_bytes"] + counts[name]["sent_bytes"]))
            self._names = tuple(sorted(busy[:MAX_INTERFACES]))
        for name in self._names:
            for counter, value in counts.get(name, {}).items():  # an interface may have been removed
                yield Reading(f"net-{name}", counter, float(value), "B" if counter.endswith("bytes") else "count")


class Rates:
    """Bytes per second of the busiest interface between two reads, as iftop and nload show them. Never raises."""

    def __init__(self, machine: Machine, now: Callable[[], float]) -> None:
        """`now`: seconds of a monotonic clock."""
        self._machine, self._now = machine, now
        self._last: tuple[float, dict[str, dict[str, int]]] | None = None

    def read(self) -> tuple[str, float, float] | None:
        """(interface, received, sent); None at the first read, and where nothing can be read."""
        try:
            at, counts = self._now(), counted(self._machine)
        except (Unread, ValueError):
            return None
        (before, earlier), self._last = self._last or (at, {}), (at, counts)
        if at <= before:
            return None
        rates = []
        for name in counts.keys() & earlier.keys():
            received, sent = ((counts[name][key] - earlier[name][key]) / (at - before) for key in ("received_bytes", "sent_bytes"))
            if received >= 0.0 and sent >= 0.0:  # a new interface of an old name begins again at 0
                rates.append((name, received, sent))
        return max(rates, key=lambda rate: (rate[1] + rate[2], rate[0]), default=None)


def tcp_readings(machine: Machine) -> Iterator[Reading]:
    """TCP's counters."""
    for name, value in tcp(machine).items():
        yield Reading("tcp", name, float(value), "count")


def settings(machine: Machine, name: str) -> Mapping[str, Any]:
    """An interface's settings: mtu, speed_bits, duplex, carrier, state, as far as known."""
    folder = f"/sys/class/net/{name}"
    values: dict[str, Any] = {}
    with suppress(Unread):
        values["mtu"] = machine.number(f"{folder}/mtu")
    with suppress(Unread):  # a virtual one gives -1 or EINVAL
        speed = machine.number(f"{folder}/speed")
        values |= {"speed_bits": speed * 1_000_000} if speed > 0 else {}
    for key, file in (("duplex", "duplex"), ("state", "operstate"), ("carrier", "carrier")):
        with suppress(Unread):
            values[key] = machine.text(f"{folder}/{file}")
    return values
