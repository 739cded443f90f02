"""What other tests of the same process did is not part of what a recorder records here."""

from __future__ import annotations

import pytest

from fireassay.instruments.recorder import launch_end


@pytest.fixture(autouse=True)
def nobody_communicated_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch keeps the calls of every process group that this process ever had, and a recorder tells them when it is closed.

    Tests of that list train in processes of their own.
    """
    monkeypatch.setattr(launch_end, "read_at_end", lambda flights, torch: None)
