"""How fast is each node in each test, and the fleet as a whole?  Student t on the logarithms of the rounds' rates.

Of a node its own, key: the node. Of the fleet the median over nodes or links of every round, which a history compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from statistics import median

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import positive
from fireassay.frames.fleet import link_rates, rates, ring_rates
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, Results
from fireassay.spec.fleet import TESTS, fleet_arguments


def _requested(test: str) -> Callable[[RecordData], bool]:
    return lambda measured: test in fleet_arguments(measured.experiment.workload.arguments).tests


def _rates(test: str) -> Callable[[RecordData, Results], Mapping[str, Value]]:
    return lambda measured, _: {
        node: _rate(measured, test, values, f"node_{test}_rate", "rate of the round") for node, values in rates(measured, test).items()
    }


def _whole(test: str) -> Callable[[RecordData, Results], Mapping[str, Value]]:
    def compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
        of = TESTS[test].of
        every = [ring_rates(measured, test)] if of == "ring" else (rates if of == "node" else link_rates)(measured, test).values()
        value = _rate(measured, test, _medians(every), f"fleet_{test}", "median of the round")
        return dict.fromkeys(measured.configurations, value)

    return compute


def _medians(every: Iterable[list[float | None]]) -> list[float | None]:
    """Of each round the median of those who answered."""
    rounds = [[value for value in values if value is not None] for values in zip(*every, strict=False)]
    return [median(values) if values else None for values in rounds]


def _rate(measured: RecordData, test: str, values: list[float | None], name: str, aggregate: str) -> Value:
    known = [value for value in values if value is not None]
    if not known:
        return Absent("not_measured", "there is no rate; the findings have the reason")
    return positive(known, measured.confidence, unit=TESTS[test].unit, aggregate=aggregate, name=name, n_trials=len(known))


measure = partial(Metric, dimension="performance", about=("fleet",))
METRICS = (
    *(
        measure(
            name=f"node_{test}_rate",
            title=f"Node's rate: {declared.title}",
            unit=declared.unit,
            kind="rate",
            better="higher",
            formula="work of the test / its time",
            compute=_rates(test),
            requested=_requested(test),
            primary=True,
            question=f"How fast is a node's {declared.title}?",
            caveat="About a third of a second at a time: not what the node does after minutes of load.",
            rank=1630 + number,
        )
        for number, (test, declared) in enumerate(TESTS.items())
        if declared.of == "node"
    ),
    *(
        measure(
            name=f"fleet_{test}",
            title=f"Fleet's median: {declared.title}",
            unit=declared.unit,
            kind="cost" if declared.lower else "rate",
            better="lower" if declared.lower else "higher",
            formula="median over nodes, or links, of each round",
            compute=_whole(test),
            requested=_requested(test),
            question=f"How fast is the whole fleet's {declared.title}, for a comparison with earlier records?",
            caveat="Of the nodes and links that answered in a round.",
            decides=1 + number,
            rank=1650 + number,
        )
        for number, (test, declared) in enumerate(TESTS.items())
    ),
)
