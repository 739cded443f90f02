"""Which power did the whole host draw, by its management controller?

`ipmitool dcmi power reading`: watts at the supply, fans and disks included, averaged by the controller over its own period.  It contains
what RAPL and NVML count.  Source: DCMI 1.5, Get Power Reading.
"""

from __future__ import annotations

import re
import shutil
from typing import Final

from fireassay.instruments.machine.energy.support.source import Around, Found, Source, WattMeter
from fireassay.record.machine import Unread

_READING: Final = re.compile(r"^\s*Instantaneous power reading\s*:\s*(\d+(?:\.\d+)?)\s*Watts", re.MULTILINE | re.IGNORECASE)


def find(around: Around) -> Found:
    """The host's power."""
    tool = shutil.which("ipmitool", path=around.machine.environ.get("PATH", ""))
    if tool is None:
        return Found(absence="no IPMI: the command ipmitool is not installed")

    def read() -> float:
        return watts(around.run([tool, "dcmi", "power", "reading"]))

    try:
        read()
    except Unread as error:
        return Found(absence=f"no IPMI: {error}")
    return Found(counters=(WattMeter(device="host-ipmi", read=read),))


def watts(text: str) -> float:
    """The power in the tool's answer. Raises Unread."""
    match = _READING.search(text)
    if match is None:
        raise Unread(f"ipmitool gives no instantaneous power: {text[:60]!r}")
    return float(match[1])


SOURCE: Final = Source(name="ipmi", covers=frozenset({"host"}), automatic=False, find=find)
