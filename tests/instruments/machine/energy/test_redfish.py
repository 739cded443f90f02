"""Does Redfish give the power of the host, and keep its password?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.machine.energy.support.launch_energy import find
from tests.instruments.machine.energy_made import around, serving

POWER = {"PowerControl": [{"MemberId": "0", "PowerConsumedWatts": 344}, {"MemberId": "1", "Name": "CPU", "PowerConsumedWatts": 99}]}
METRICS = {"PowerWatts": {"Reading": 512.5}}


@pytest.mark.parametrize(("document", "watts"), [(POWER, 344.0), (METRICS, 512.5)])
def test_redfish_gives_the_chassis_and_not_its_parts_again(tmp_path: Path, document: Any, watts: float) -> None:
    with serving({"/power": json.dumps(document).encode()}) as url:
        (meter,), _ = find(around(tmp_path, "redfish", endpoint=f"{url}/power"))
        assert (meter.device, meter.read()) == ("host-redfish", watts)


def test_redfish_credentials_come_from_the_environment(tmp_path: Path) -> None:
    secret = {"FIREASSAY_REDFISH_USER": "root", "FIREASSAY_REDFISH_PASSWORD": "secret"}
    with serving({"/power": json.dumps(POWER).encode()}, user="root") as url:
        (meter,), _ = find(around(tmp_path, "redfish", endpoint=f"{url}/power", environ=secret))
        assert meter.read() == 344.0
        counters, absences = find(around(tmp_path, "redfish", endpoint=f"{url}/power"))
    assert counters == ()
    assert "FIREASSAY_REDFISH_USER" in absences["energy"]


@pytest.mark.parametrize(
    "page", [b"", b"<html>", b"[]", b"{}", b'{"PowerControl": []}', b'{"PowerControl": [{"PowerConsumedWatts": null}]}', b"[" * 100_000]
)
def test_redfish_garbage_is_absent_with_a_reason(tmp_path: Path, page: bytes) -> None:
    with serving({"/power": page}) as url:
        counters, absences = find(around(tmp_path, "redfish", endpoint=f"{url}/power"))
    assert counters == ()
    assert absences["energy"].startswith("no Redfish: ")
