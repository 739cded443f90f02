"""Is the round trip the median of a round's echoes, by the way of asking that it says?"""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.round_trip import compute
from tests.looked import Seen, look


def test_the_median_of_each_round_carries_the_estimate() -> None:
    found = compute(look({"a": Seen(rtt_s=200e-6)}), {})["a"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(200e-6)
    assert (found.n_launches, found.n_trials) == (3, 9)
    assert found.signature.startswith("round_trip|by:ping")


def test_connections_stand_in_for_echoes_and_the_signature_says_so() -> None:
    found = compute(look({"a": Seen(by="connect")}), {})["a"]
    assert isinstance(found, Estimate)
    assert found.signature.startswith("round_trip|by:connect")


def test_a_silent_host_is_absent_with_the_tools_words() -> None:
    silent = Seen(rtt_s=None, answered=0, lacks=({"what": "ping", "why": "Network is unreachable", "mend": ""},))
    found = compute(look({"a": silent}), {})["a"]
    assert found == Absent(reason="not_measured", detail="Network is unreachable")
