"""What holds for every test?

A test that needs what this machine lacks is skipped with the reason; under CI nothing is skipped for that reason,
so that the gate never passes by not looking.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import is_hypothesis_test, settings

from fireassay.record.scratch import locked
from tests.limits import FIXTURES_S, PROCESS_S, cut

REPOSITORY = Path(__file__).resolve().parents[1]
CI = os.environ.get("CI") == "true"

# Ten thousand tests are collected and stay until the end: looking through them for garbage took a third of the collection's time,
# and would be done again and again while the tests run.
gc.disable()

# The next run finds the tests with their assertions rewritten already, also where PYTHONDONTWRITEBYTECODE is set: 10 s of each worker.
sys.dont_write_bytecode = False

# A shell lets what it starts with `&` ignore Ctrl-C; tests send it, and assay then ignores it as well.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Three workers share few processors, and records here are small: Polars' threads would mostly wake each other.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

# Temporary files lie in a folder of this process, which goes with it; one that was killed is cleaned up by the next. pytest keeps its own.
TEMPORARY = Path(tempfile.gettempdir())
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(TEMPORARY))
OWN = locked(TEMPORARY, "assay-tests-")
os.environ["TMPDIR"] = tempfile.tempdir = str(OWN.path)


@atexit.register
def _remove(mine: int = os.getpid()) -> None:
    if os.getpid() == mine:  # no fork of it
        OWN.remove()


# What `assay doctor` found on this machine is no business of a test; nothing is written there.
os.environ["XDG_STATE_HOME"] = str(OWN.path / "state")

# A verdict that an earlier run of the tests cached is no verdict of this one; a test that caches sets a folder of its own.
os.environ["XDG_CACHE_HOME"] = str(OWN.path / "cache")

# What a test writes need not outlive a crash of the machine. Processes that a test starts, or kills, still wait for the disk.
os.fsync = lambda _: None

# As wide in every window, and in a pipe: reports take 100 columns at most, and what is said is compared in one line.
os.environ["COLUMNS"] = "1000"

# Nor are the defaults that somebody has written down for this machine.
os.environ["FIREASSAY_CONFIG"] = ""

# A deadline per example would be an assertion about wall time; in CI the same examples are drawn every time.
settings.register_profile("assay", deadline=None, derandomize=CI, print_blob=True)
settings.register_profile("few", settings.get_profile("assay"), max_examples=25)
settings.load_profile("assay")

COSTLY = {"browser", "survival"}  # deep, unless they are core
LACKING = {
    "torch": None if find_spec("torch") else "torch is not installed: pip install -e '.[torch]'",
    "browser": None if shutil.which("chromium") else "chromium is not on the PATH: install your system's package",
}


def pytest_collection_finish() -> None:
    """From here on garbage is collected again, among what the tests make; what stays of them is looked through rarely: 0.2 s each time."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_configure(config: pytest.Config) -> None:
    """`make test` draws a few examples of a property, `make test-all` all of them."""
    if config.option.markexpr == "not deep":
        settings.load_profile("few")


def pytest_sessionstart(session: pytest.Session) -> None:
    """What pytest prints is as wide as before: $COLUMNS is for what the tests start."""
    if session.config.pluginmanager.has_plugin("terminalreporter"):  # workers have none
        session.config.get_terminal_writer().fullwidth = 100


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to `make test-all` what nobody has called core, before `-m` selects; skip what cannot run here, except in CI."""
    rest = config.option.markexpr == "deep"
    for item in items:
        names = {marker.name for marker in item.iter_markers()}
        again = rest and isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)
        if again or (names & COSTLY and "core" not in names):
            item.add_marker("deep")
        for marker, reason in LACKING.items():
            if reason and not CI and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(settings: Any) -> Iterator[None]:
    """The alarm of a test's body rings again: a failure that is raised inside of a destructor is lost."""
    result = yield
    signal.setitimer(signal.ITIMER_REAL, settings.timeout, PROCESS_S)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """A fixture that hangs fails its test; `timeout` counts the test's body only."""
    with cut(FIXTURES_S, f"the fixtures of {item.name}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """As for the setup."""
    with cut(FIXTURES_S, f"the end of {item.name}"):
        return (yield)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY
