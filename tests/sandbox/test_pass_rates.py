"""Does pass@k leave out what has no verdict, and never call it wrong?"""

from __future__ import annotations

import pytest

from fireassay.sandbox.outcomes import CodeResult, Outcome
from fireassay.sandbox.pass_rates import pass_rate


def results(*outcomes: Outcome | None) -> list[CodeResult | None]:
    return [outcome and CodeResult(outcome=outcome, detail="", cpu_s=0.1, wall_s=0.1, calls=1) for outcome in outcomes]


def test_a_limit_of_wall_time_is_no_wrong_answer() -> None:
    rate = pass_rate({"a": results("passed", "wall_limit"), "b": results("failed", "sandbox_error"), "c": results(None, "stopped")}, 1)
    assert rate.interval is not None
    assert (rate.interval.value, rate.problems, rate.missing) == (0.5, 2, ("c",))


def test_a_limit_of_processor_time_is_one() -> None:
    rate = pass_rate({"a": results("passed", "cpu_limit", "crash", "output_limit")}, 2)
    assert rate.interval is not None
    assert rate.interval.value == pytest.approx(0.5)  # 3 of the 6 pairs hold the right one


def test_without_enough_verdicts_there_is_no_rate() -> None:
    assert pass_rate({"a": results("passed", "wall_limit")}, 2).interval is None
