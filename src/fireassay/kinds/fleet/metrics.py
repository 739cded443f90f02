"""How fast is each node in each test?  Student t on the logarithms of its rounds, key: the node."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import positive
from fireassay.frames.fleet import rates
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, Results
from fireassay.spec.fleet import TESTS, fleet_arguments


def _requested(test: str) -> Callable[[RecordData], bool]:
    return lambda measured: test in fleet_arguments(measured.experiment.workload.arguments)[0]


def _rates(test: str) -> Callable[[RecordData, Results], Mapping[str, Value]]:
    return lambda measured, _: {node: _rate(measured, test, values) for node, values in rates(measured, test).items()}


def _rate(measured: RecordData, test: str, values: list[float | None]) -> Value:
    known = [value for value in values if value is not None]
    if not known:
        return Absent("not_measured", "the node gave no rate; the findings have the reason")
    name = f"node_{test}_rate"
    return positive(known, measured.confidence, unit=TESTS[test].unit, aggregate="rate of the round", name=name, n_trials=len(known))


METRICS = tuple(
    Metric(
        name=f"node_{test}_rate",
        title=f"Node's rate: {declared.title}",
        unit=declared.unit,
        kind="rate",
        better="higher",
        dimension="performance",
        formula="work of the test / its time",
        compute=_rates(test),
        about=("fleet",),
        requested=_requested(test),
        primary=True,
        question=f"How fast is a node's {declared.title}?",
        caveat="About a third of a second at a time: not what the node does after minutes of load.",
        rank=1630 + number,
    )
    for number, (test, declared) in enumerate(TESTS.items())
)
