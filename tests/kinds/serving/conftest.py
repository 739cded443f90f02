"""The views of loads that the tests of reports share."""

from __future__ import annotations

from tests.reports.conftest import load, scenarios

__all__ = ["load", "scenarios"]
