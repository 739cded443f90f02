"""How far and how fast are other hosts?"""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.metrics.network import ECHOES_LOST, LINK_RATE, ROUND_TRIP
from tests.looked import Seen, look
from tests.metrics.narrow import absence, estimated

# ---- Is the round trip the median of a round's echoes, by the way of asking that it says?


def test_the_median_of_each_round_carries_the_estimate() -> None:
    found = estimated(ROUND_TRIP.compute(look({"a": Seen(rtt_s=200e-6)}), {})["a"])
    assert found.value == pytest.approx(200e-6)
    assert (found.n_launches, found.n_trials) == (3, 9)
    assert found.signature.startswith("round_trip|by:ping")


def test_connections_replace_echoes_and_the_signature_says_so() -> None:
    assert estimated(ROUND_TRIP.compute(look({"a": Seen(by="connect")}), {})["a"]).signature.startswith("round_trip|by:connect")


def test_a_silent_host_is_absent_with_the_tools_words() -> None:
    silent = Seen(rtt_s=None, answered=0, lacks=({"what": "ping", "why": "Network is unreachable", "mend": ""},))
    found = ROUND_TRIP.compute(look({"a": silent}), {})["a"]
    assert found == Absent(reason="not_measured", detail="Network is unreachable")


# ---- Is the rate of a link what arrived per second, each direction by itself?


def test_both_directions_have_their_own_rate_and_interval() -> None:
    found = LINK_RATE.compute(look({"a": Seen(there=12e6, back=24e6, scatter=0.01)}), {})
    there, back = estimated(found["a"]), estimated(found["a back"])
    assert (there.value, back.value) == (pytest.approx(12e6, rel=1e-4), pytest.approx(24e6, rel=1e-4))
    assert there.low < 12e6 < there.high
    assert there.launch_values == pytest.approx((11.88e6, 12e6, 12.12e6))


def test_without_a_server_there_is_no_rate_and_its_reason() -> None:
    lack = {"what": "iperf3", "why": "no iperf3 server answers at a, port 5201", "mend": "start `iperf3 -s` on a"}
    found = LINK_RATE.compute(look({"a": Seen(there=None, back=None, lacks=(lack,))}), {})
    assert found["a"] == Absent(reason="not_measured", detail="no iperf3 server answers at a, port 5201")


def test_a_transfer_of_nothing_is_undefined_and_not_zero() -> None:
    assert absence(LINK_RATE.compute(look({"a": Seen(there=0.0)}), {})["a"]).reason == "undefined"


# ---- Is the share of lost echoes counted over all rounds?


@pytest.mark.parametrize(("answered", "share"), [(10, 0.0), (8, 0.2)])
def test_the_share_is_that_of_all_echoes(answered: int, share: float) -> None:
    found = estimated(ECHOES_LOST.compute(look({"a": Seen(answered=answered)}), {})["a"])
    assert found.value == pytest.approx(share)
    assert found.low == found.high == found.value
    assert found.n_trials == 30


def test_a_host_that_swallows_pings_but_takes_connections_loses_none() -> None:
    """Echoes by connections count where no ping came back."""
    found = estimated(ECHOES_LOST.compute(look({"a": Seen(by="connect", sent=3, answered=3)}), {})["a"])
    assert (found.value, found.n_trials) == (0.0, 9)


def test_a_host_that_answered_nothing_lost_everything() -> None:
    assert estimated(ECHOES_LOST.compute(look({"a": Seen(by="connect", sent=3, answered=0, rtt_s=None)}), {})["a"]).value == 1.0


def test_a_host_never_probed_is_absent() -> None:
    assert isinstance(ECHOES_LOST.compute(look({"a": Seen(sent=0, answered=0, rtt_s=None)}), {})["a"], Absent)
