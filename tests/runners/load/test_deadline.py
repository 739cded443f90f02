"""When is a load ended that takes too long?"""

from __future__ import annotations

import pytest

from fireassay.runners.load.engines import Deadline
from fireassay.units import NS_PER_S


def deadline(*, per_answer: bool) -> Deadline:
    made = Deadline(limit_s=3600.0, per_answer=per_answer)
    made.begin(5 * NS_PER_S)
    return made


def test_a_slow_pass_over_many_items_is_not_cut_while_answers_come() -> None:
    limit = deadline(per_answer=True)
    hours = [limit.passed((5 + 3000 * answer) * NS_PER_S, done=answer) for answer in range(1, 10_000)]
    assert set(hours) == {""}


def test_a_pass_without_an_answer_for_the_limit_is_cut() -> None:
    limit = deadline(per_answer=True)
    assert limit.passed(3000 * NS_PER_S, done=7) == ""
    assert limit.passed(6600 * NS_PER_S, done=7) == ""
    expected = "no answer for limits.launch_timeout_s = 3600 s (7 requests had ended), and was ended"
    assert limit.passed(6601 * NS_PER_S, done=7) == expected


@pytest.mark.parametrize(("second", "ended"), [(3605, False), (3606, True)])
def test_a_load_is_bounded_as_a_whole(second: int, ended: bool) -> None:
    assert bool(deadline(per_answer=False).passed(second * NS_PER_S, done=second)) is ended
