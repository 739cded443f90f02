"""A value as the kind that a test expects."""

from __future__ import annotations

from fireassay.estimates.estimate import Absent, Estimate


def estimated(value: object) -> Estimate:
    assert isinstance(value, Estimate), value
    return value


def absence(value: object) -> Absent:
    assert isinstance(value, Absent), value
    return value
