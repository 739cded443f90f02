"""A server that stalls for two seconds under an open load: no arrival is lost, and the tail is told from when requests were due.

With a cap on connections most of the arrivals of the stall are not even sent while it lasts: timed from being sent, the
stall would hide all but the few that were in flight (coordinated omission).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.runners.calibration.client_drill import drill
from fireassay.traffic.arrivals import make

RATE, STALL_S, CAP = 100.0, 2.0, 8


@pytest.mark.deep
def test_a_stall_is_in_the_tail_and_every_arrival_accounted_for(tmp_path: Path) -> None:
    asked = {
        "rate": [RATE],
        "client": {"connections": CAP},
        "arrivals": {"process": "constant", "duration_s": 3.5, "warm_up_s": 0.0, "cold": 0, "drain_s": 30.0},
    }
    settings = Settings(first_s=0.001, next_s=0.0, numbered=True, fault=(f"stall:at=0.5,for={STALL_S}",))
    with serving(settings) as server:
        found = drill(asked, server, tmp_path / "it", load=RATE, scenario="D(10,4)")
    rows = found.rows
    due = len(make.read(tmp_path / "it" / "load" / "schedule.arrow"))
    assert due == 350
    assert rows["request"].to_pylist() == list(range(due))
    assert set(rows["status"].to_pylist()) == {"ok"}
    scheduled, sent, last = (np.asarray(rows[name]) for name in ("scheduled_ns", "sent_ns", "last_token_ns"))
    from_due, from_sent = (last - scheduled) / 1e9, (last - sent) / 1e9
    assert np.percentile(from_due, 99) >= 1.9
    assert (from_due >= 1.0).sum() >= 0.9 * RATE * (STALL_S - 1.0)
    # at most a connection's worth each was in flight when it began
    assert (from_sent >= 1.0).sum() <= CAP
    assert set(found.truth) == set(range(due))
