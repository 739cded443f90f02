"""`fireassay.time` of a Timer or Measurement of torch.utils.benchmark: the number that torch prints, of one launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fireassay
from fireassay.errors import SpecError
from fireassay.estimates.estimate import Estimate

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def measurement(*raw_times: float, runs: int = 1000, **spec: Any) -> Any:
    from torch.utils.benchmark import Measurement
    from torch.utils.benchmark.utils.common import TaskSpec

    return Measurement(runs, list(raw_times), TaskSpec("x @ x", "pass", **spec))


def test_the_median_is_that_of_the_measurement(tmp_path: Path) -> None:
    """Raw times of 2, 3 and 7 ms over 1000 runs: a median of 3 us."""
    made = measurement(0.002, 0.003, 0.007)
    result = fireassay.time(made, root=tmp_path)
    assert isinstance(result.estimate, Estimate)
    assert result.estimate.value == pytest.approx(made.median) == pytest.approx(3e-6)
    assert (result.estimate.n_launches, result.estimate.n_trials) == (1, 3)
    assert "no interval: one launch" in result.text
    assert set(result.record.table("trials")["calls"]) == {1000}


def test_the_label_names_it_without_control_characters(tmp_path: Path) -> None:
    result = fireassay.time(measurement(0.002, label="mat\x1bmul", sub_label="50"), root=tmp_path)
    assert result.text.startswith("mat?mul 50\n")


def test_a_timer_is_run_here(tmp_path: Path) -> None:
    from torch.utils.benchmark import Timer

    result = fireassay.time(Timer("sum(values)", globals={"values": [1, 2, 3]}), round_s=0.01, root=tmp_path)
    assert isinstance(result.estimate, Estimate)
    assert result.estimate.n_launches == 1


def test_a_measurement_without_times_is_refused(tmp_path: Path) -> None:
    for made in (measurement(), measurement(float("nan")), measurement(-1.0)):
        with pytest.raises(SpecError, match="a Measurement with times"):
            fireassay.time(made, root=tmp_path)
    assert not list(tmp_path.iterdir())


def test_arguments_that_a_measurement_cannot_take_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="it was timed, or is timed, as it was made"):
        fireassay.time(measurement(0.002), 5, root=tmp_path)
