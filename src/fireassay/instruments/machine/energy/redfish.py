"""Which power did the whole host draw, by Redfish?

A resource with `PowerControl` (Chassis/ID/Power) or `PowerWatts` (Chassis/ID/EnvironmentMetrics): watts at the supply.  Of several
power controls the first is the chassis, the others are parts of it.  It contains what RAPL and NVML count.  Credentials come from the
environment, FIREASSAY_REDFISH_USER and FIREASSAY_REDFISH_PASSWORD, and enter no record; a private authority is trusted by SSL_CERT_FILE.
Source: DMTF DSP0268, schemas Power and EnvironmentMetrics.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, Final

from fireassay.instruments.machine.energy.support.source import Around, Found, Source, WattMeter
from fireassay.record.machine import Unread

USER, PASSWORD = "FIREASSAY_REDFISH_USER", "FIREASSAY_REDFISH_PASSWORD"
NO_POWER: Final = "the answer has neither PowerControl with PowerConsumedWatts nor PowerWatts with a Reading"


def find(around: Around) -> Found:
    """The host's power at `energy.endpoint`."""
    address = around.energy.endpoint
    if not address:
        return Found(absence='no Redfish: energy.endpoint is not given, such as "https://bmc/redfish/v1/Chassis/1/Power"')
    headers = {"accept": "application/json", **_authorization(around.machine.environ)}

    def read() -> float:
        return watts(around.fetch(address, headers))

    try:
        read()
    except (Unread, OSError, HTTPException, ValueError) as error:
        return Found(absence=f"no Redfish: {_short(error)}")
    return Found(counters=(WattMeter(device="host-redfish", read=read),))


def _authorization(environ: Mapping[str, str]) -> dict[str, str]:
    user, password = environ.get(USER, ""), environ.get(PASSWORD, "")
    return {"authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"} if user else {}


def _short(error: Exception) -> str:
    refused = "; set FIREASSAY_REDFISH_USER and FIREASSAY_REDFISH_PASSWORD" if str(error) in ("status 401", "status 403") else ""
    return f"{str(error)[:160] or type(error).__name__}{refused}"


def watts(page: bytes) -> float:
    """The power in a Redfish resource. Raises Unread."""
    try:
        document: Any = json.loads(page)
    except (ValueError, RecursionError) as error:
        raise Unread(f"the answer is no JSON: {str(error)[:80]}") from error
    controls = document.get("PowerControl") if isinstance(document, dict) else None
    first = controls[0] if isinstance(controls, list) and controls else None
    value = first.get("PowerConsumedWatts") if isinstance(first, dict) else None
    if value is None and isinstance(document, dict) and isinstance(sensor := document.get("PowerWatts"), dict):
        value = sensor.get("Reading")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unread(NO_POWER)
    return float(value)


SOURCE: Final = Source(name="redfish", covers=frozenset({"host"}), automatic=False, find=find)
