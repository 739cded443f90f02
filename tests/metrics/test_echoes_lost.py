"""Is the share of lost echoes counted over all rounds?"""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.echoes_lost import compute
from tests.looked import Seen, look


@pytest.mark.parametrize(("answered", "share"), [(10, 0.0), (8, 0.2)])
def test_the_share_is_that_of_all_echoes(answered: int, share: float) -> None:
    found = compute(look({"a": Seen(answered=answered)}), {})["a"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(share)
    assert found.low == found.high == found.value
    assert found.n_trials == 30


def test_a_host_that_swallows_pings_but_takes_connections_loses_none() -> None:
    """Echoes by connections count where no ping came back."""
    found = compute(look({"a": Seen(by="connect", sent=3, answered=3)}), {})["a"]
    assert isinstance(found, Estimate)
    assert (found.value, found.n_trials) == (0.0, 9)


def test_a_host_that_answered_nothing_lost_everything() -> None:
    found = compute(look({"a": Seen(by="connect", sent=3, answered=0, rtt_s=None)}), {})["a"]
    assert isinstance(found, Estimate)
    assert found.value == 1.0


def test_a_host_that_was_never_asked_is_absent() -> None:
    assert isinstance(compute(look({"a": Seen(sent=0, answered=0, rtt_s=None)}), {})["a"], Absent)
