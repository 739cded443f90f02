"""Records as exporters get them, made once for all tests of exports."""

from __future__ import annotations

import pytest

from fireassay.reports.exports.export import Subject
from fireassay.reports.view import View
from tests.exporting import subject
from tests.serving_made import simulated


@pytest.fixture(scope="session")
def training(view: View) -> Subject:
    """The synthetic training."""
    return Subject(view=view)


@pytest.fixture(scope="session")
def late() -> Subject:
    """A load whose client was late, so that the record is INVALID; a tenth of its requests failed."""
    made = subject(simulated(rate=(6.0,), seconds=4.0, lag_s=0.2, seed=2, failing=0.1).measured())
    assert made.head.status == "INVALID"
    return made
