"""Are verdicts in order, and kept when the user stops?"""

from __future__ import annotations

import pytest

from fireassay.quality.sandbox.check import Program, check_all
from fireassay.quality.sandbox.tiers import Limits, signature
from tests.quality.sandbox.available import tier
from tests.quality.sandbox.hostile import TEST

LIMITS = Limits(cpu_s=1, wall_s=600)
RIGHT = Program(code="def add(a, b):\n    return a + b\n", entry_point="add", test=TEST)
WRONG = Program(code="def add(a, b):\n    return a\n", entry_point="add", test=TEST)
SLEEPS = Program(code="import time\ndef add(a, b):\n    time.sleep(3600)\n", entry_point="add", test=TEST)


def test_verdicts_are_in_the_order_of_the_programs() -> None:
    told: list[tuple[int, int]] = []
    used = tier("unshare")
    checked = check_all([RIGHT, WRONG, RIGHT, RIGHT, WRONG], 2, lambda done, of: told.append((done, of)), LIMITS, used)
    assert [result.outcome for result in checked.results if result] == ["passed", "failed", "passed", "passed", "failed"]
    assert told == [(n, 5) for n in range(1, 6)]
    assert (checked.interrupted, checked.signature) == (False, signature(used, LIMITS))


def test_ctrl_c_ends_the_running_ones_and_keeps_the_finished() -> None:
    def stop(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    checked = check_all([RIGHT, WRONG, SLEEPS, SLEEPS, RIGHT], 2, stop, LIMITS, tier("unshare"))
    assert checked.interrupted
    assert [result and result.outcome for result in checked.results] == ["passed", "failed", None, None, None]


def test_a_pool_needs_a_worker() -> None:
    with pytest.raises(ValueError, match="at least one worker, not 0"):
        check_all([RIGHT], 0)
