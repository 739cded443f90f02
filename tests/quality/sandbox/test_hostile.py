"""Does no hostile program pass, escape or leave something behind?"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.quality.sandbox.check import Program, check_all
from fireassay.quality.sandbox.process import MARK
from fireassay.quality.sandbox.tiers import Limits, Name, Tier
from tests.quality.sandbox.available import TIERS, tier
from tests.quality.sandbox.hostile import HOSTILE, TEST

pytestmark = pytest.mark.survival

LIMITS = Limits(cpu_s=1, wall_s=4)
GONE_S = 10.0
# Those that a filter of system calls stops before the other barriers are reached.
FILTERED = (
    "opens connections",
    "traces its parent",
    "leaves processes that sleep",
    "links to files outside and writes them",
    "patches builtins",
)


def left_over() -> list[int]:
    """Processes that carry the mark of this one."""
    mark, found = f"{MARK}={os.getpid()}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def outcomes(used: Tier, names: tuple[str, ...]) -> dict[str, str]:
    programs = [Program(code=HOSTILE[name][0], entry_point="add", test=TEST) for name in names]
    checked = check_all(programs, workers=4, limits=LIMITS, tier=used)
    return {name: result.outcome for name, result in zip(names, checked.results, strict=True) if result is not None}


def assert_nothing_is_left() -> None:
    until = time.monotonic() + GONE_S
    while (left := left_over()) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []


def mounts() -> list[str]:
    """This process's mounts, without the networks and small disks of tests that another worker runs."""
    others = (" /run/netns", "/popen-gw")
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if not any(name in line for name in others)]


@pytest.mark.parametrize("name", TIERS)
def test_no_hostile_program_passes_escapes_or_leaves_anything(name: Name) -> None:
    used, before, files = tier(name), mounts(), set(os.listdir("/tmp"))
    found = outcomes(used, tuple(HOSTILE))
    assert {name: found[name] for name, (_, allowed) in HOSTILE.items() if found[name] not in allowed} == {}
    assert_nothing_is_left()
    assert mounts() == before
    assert not {file for file in set(os.listdir("/tmp")) - files if file.startswith(("link", "escaped")) or file.isdigit()}


@pytest.mark.parametrize("name", TIERS)
def test_isolation_does_not_rest_on_the_filter_of_system_calls(name: Name) -> None:
    found = outcomes(replace(tier(name), seccomp=b""), FILTERED)
    assert {name: found[name] for name in FILTERED if found[name] not in HOSTILE[name][1]} == {}
    assert_nothing_is_left()


def test_there_are_more_than_twenty_of_them() -> None:
    assert len(HOSTILE) >= 20
