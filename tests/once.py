"""How is what takes long made once, and not by every worker of pytest-xdist that got a test of the module?"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """The folder that `make` filled: here or in another worker, which is waited for. If it failed there it is tried again here."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"once-{name}"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel gives it up if its holder is killed
        done = folder / "done"
        if not done.exists():
            own = factory.mktemp(name)
            make(own)
            folder.symlink_to(own, target_is_directory=True)
            done.touch()
    return folder
