"""Records as senders get them, made once."""

from __future__ import annotations

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.exports.export import Subject
from tests import builders
from tests.exporting import subject
from tests.serving_made import simulated


@pytest.fixture(scope="session")
def training() -> Subject:
    """The synthetic training, judged by hand."""
    return Subject(view=build(builders.measured(failed=True), builders.judgement()))


@pytest.fixture(scope="session")
def late() -> Subject:
    """A small load whose client was late, so that the record is INVALID."""
    made = subject(simulated(rate=(6.0,), seconds=2.0, warm_up_s=0.2, lag_s=0.2, seed=2).measured())
    assert made.head.status == "INVALID"
    return made
