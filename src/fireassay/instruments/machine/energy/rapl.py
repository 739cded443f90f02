"""How many joules did the packages and their memory use, by RAPL?

powercap/intel-rapl, also on AMD: a package's energy includes its cores and graphics; DRAM is counted separately (Intel SDM volume 3B,
15.10). So `package-N` and `dram-N` are read; `core` and `uncore` (inside the package), `psys` (the package again, with the board) and a
package's memory-mapped twin are not, so the sum counts nothing twice.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from fireassay.instruments.machine.energy.support.source import Found, JouleCounter, Source
from fireassay.record.machine import Machine, Unread

UPDATE_S: Final = 0.001  # Intel SDM: about every millisecond
STEP_J: Final = 0.001  # at least as coarse as any energy unit in use
_ZONE: Final = re.compile(r"^intel-rapl(?P<twin>-mmio)?:(?P<package>\d+)(?::(?P<part>\d+))?$")


def rapl(machine: Machine) -> Found:
    """The RAPL counters of this machine's packages and DRAM."""
    folder = machine.root / "sys/class/powercap"
    zones = sorted((zone for zone in folder.glob("intel-rapl*") if _ZONE.match(zone.name)), key=_zone_order)
    if not zones:
        return Found(absence="no RAPL: /sys/class/powercap has no intel-rapl zone (virtual machine, old kernel or unsupported processor)")
    counters: dict[str, JouleCounter] = {}
    refused: list[str] = []
    for zone in zones:
        try:
            counter = _rapl_counter(machine, zone)
        except (Unread, ValueError) as error:
            refused.append(f"{zone.name}: {error}")
            continue
        if counter is not None:
            counters.setdefault(counter.device, counter)
    return Found(counters=tuple(counters.values()), absence=_refusal(refused, bool(counters)))


def _zone_order(zone: Path) -> tuple[bool, int, int]:
    """Register-mapped zones first, so that a package's memory-mapped twin is the one dropped."""
    match = _ZONE.match(zone.name)
    assert match is not None
    return match["twin"] is not None, int(match["package"]), int(match["part"] or -1)


def _refusal(refused: list[str], any_counter: bool) -> str | None:
    if refused:
        return f"RAPL cannot be read: {refused[0]}; energy_uj is often readable by root only"
    return None if any_counter else "RAPL has no package and no dram zone"


def _rapl_counter(machine: Machine, zone: Path) -> JouleCounter | None:
    """The zone's counter, or None if its energy is part of another zone's. Raises Unread or ValueError."""
    path = f"/sys/class/powercap/{zone.name}"
    device = machine.text(f"{path}/name")
    if device == "dram" and zone.name.count(":") == 2:
        parent = machine.text(f"/sys/class/powercap/{zone.name.rpartition(':')[0]}/name")
        device = f"dram-{parent.removeprefix('package-')}"
    elif not device.startswith("package-"):
        return None
    max_range = machine.number(f"{path}/max_energy_range_uj") / 1e6
    if max_range <= 0:
        raise ValueError(f"max_energy_range_uj is {max_range:g}: wraps could not be recognised")
    machine.number(f"{path}/energy_uj")  # fail here, with the reason, rather than at every reading
    return JouleCounter(
        device=device, read=lambda: machine.number(f"{path}/energy_uj") / 1e6, max_range=max_range, delay_s=UPDATE_S, step=STEP_J
    )


SOURCE: Final = Source(name="rapl", covers=frozenset({"cpu"}), automatic=True, find=lambda around: rapl(around.machine))
