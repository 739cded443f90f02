"""trial_cpu_time: user and kernel time of one call, the mean of a launch, then over launches."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.trial_cpu_time import METRIC
from tests.handmade import Handmade
from tests.metrics.trials_made import trials


def test_user_and_kernel_time_are_added_and_ticks_of_zero_do_not_refuse_it() -> None:
    made = Handmade(levels=(1,), blocks=2)
    for block in range(2):
        number = made.launch(workers=1, block=block)
        trials(made, number, [1.0], user_s=0.0, system_s=0.0)
        trials(made, number, [1.0], user_s=0.5, system_s=0.25)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.375)  # (0 + 0.75) / 2


def test_what_the_system_did_not_say_is_not_zero() -> None:
    made = Handmade(levels=(1,), blocks=1)
    trials(made, made.launch(workers=1), [1.0], user_s=None, system_s=None)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=1"], Absent)
