"""Which record do the tests of the API read?  A real one of the digits trainer, kept small, as `records/digits`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import fireassay

GOOD = Path(__file__).resolve().parents[1] / "records" / "good"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `records/digits`."""
    shutil.copytree(GOOD, tmp_path / "records" / "digits")
    return tmp_path


@pytest.fixture(scope="session")
def record() -> fireassay.Record:
    """The record, judged once."""
    return fireassay.open(GOOD)
