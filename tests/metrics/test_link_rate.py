"""Is the rate of a link what arrived per second, each direction by itself?"""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.link_rate import compute
from tests.looked import Seen, look


def test_both_directions_have_their_own_rate_and_interval() -> None:
    found = compute(look({"a": Seen(there=12e6, back=24e6, scatter=0.01)}), {})
    there, back = found["a"], found["a back"]
    assert isinstance(there, Estimate)
    assert isinstance(back, Estimate)
    assert (there.value, back.value) == (pytest.approx(12e6, rel=1e-4), pytest.approx(24e6, rel=1e-4))
    assert there.low < 12e6 < there.high
    assert there.launch_values == pytest.approx((11.88e6, 12e6, 12.12e6))


def test_without_a_server_there_is_no_rate_and_its_reason() -> None:
    lack = {"what": "iperf3", "why": "no iperf3 server answers at a, port 5201", "mend": "start `iperf3 -s` on a"}
    found = compute(look({"a": Seen(there=None, back=None, lacks=(lack,))}), {})
    assert found["a"] == Absent(reason="not_measured", detail="no iperf3 server answers at a, port 5201")


def test_a_transfer_of_nothing_is_undefined_and_not_zero() -> None:
    found = compute(look({"a": Seen(there=0.0)}), {})["a"]
    assert isinstance(found, Absent)
    assert found.reason == "undefined"
