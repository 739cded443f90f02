"""Which conditions does the experiment set?"""

from __future__ import annotations

from typing import Any, Final

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.conditions.condition import Read
from fireassay.verdict.conditions.environment import seen

NOT_ASKED: Final = "not asked for"


def of(*path: str) -> Read:
    """A key of the experiment; "not asked for" if unset."""

    def read(measured: RecordData, _: Results) -> Any:
        value: Any = measured.experiment
        for key in path:
            value = getattr(value, key, None)
            if value is None:
                return NOT_ASKED
        return list(value) if isinstance(value, tuple) else value

    return read


def script(measured: RecordData, _: Results) -> Any:
    """The script's name, if its content was not recorded (the digest says more); for a load the engine's address."""
    if measured.kind.sends_requests:
        return NOT_ASKED
    return None if seen(measured, "script", "sha256") else measured.experiment.workload.script


def prices(measured: RecordData, _: Results) -> Any:
    prices = measured.experiment.prices
    return NOT_ASKED if prices is None else prices.model_dump(mode="json", by_alias=True)


def levels(measured: RecordData, _: Results) -> Any:
    return list(measured.configurations)


def base(measured: RecordData, _: Results) -> Any:
    """The base of speedups; a load has none, nor has an evaluation."""
    return measured.base if measured.kind.speeds_up else NOT_ASKED


def ending(measured: RecordData, _: Results) -> str:
    """When a launch ends: after a number of steps, or when its script does."""
    steps = measured.experiment.workload.every_step
    return "with the script" if steps is None else f"after {steps} steps"
