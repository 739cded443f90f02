"""What the records of evaluations have in common: the machine on which all of them are made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fireassay.runners.experiment import run as running
from tests.answered import machine


@pytest.fixture(scope="module", autouse=True)
def one_machine() -> Iterator[None]:
    """Captured once, and for these tests alone: to capture it twice for each record, with hundreds of packages, took a third of these tests' time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(running, "capture", lambda *_, **__: machine())
        yield
