"""What holds for every test?

A test that needs what this machine lacks is skipped with the reason; under CI nothing is skipped for that reason,
so that the gate never passes by not looking.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]
CI = os.environ.get("CI") == "true"

# What `assay doctor` found on this machine is no business of a test; nothing is written there.
os.environ["XDG_STATE_HOME"] = os.path.join(tempfile.gettempdir(), f"assay-tests-without-state-{os.getpid()}")

# A deadline per example would be an assertion about wall time; in CI the same examples are drawn every time.
settings.register_profile("assay", deadline=None, derandomize=CI, print_blob=True)
settings.load_profile("assay")

LACKING = {
    "torch": None if find_spec("torch") else "torch is not installed: pip install -e '.[torch]'",
    "browser": None if shutil.which("chromium") else "chromium is not on the PATH: install your system's package",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, except in CI."""
    for item in items:
        for marker, reason in LACKING.items():
            if reason and not CI and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY
