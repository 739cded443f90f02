"""The value of one metric of a made record."""

from __future__ import annotations

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.record_data import RecordData
from fireassay.metrics import results
from fireassay.metrics.metric import Metric
from tests.metrics.narrow import absence, estimated
from tests.serving_made import ServingMade


def values_of(metric: Metric | str, record: ServingMade | RecordData) -> dict[str, Value]:
    """By configuration, its needs checked."""
    declared = catalog.load("metrics", metric) if isinstance(metric, str) else metric
    return dict(results.values(declared, record.measured() if isinstance(record, ServingMade) else record, {}))


def estimate(metric: Metric | str, record: ServingMade | RecordData, configuration: str = "rate=1") -> Estimate:
    return estimated(values_of(metric, record)[configuration])


def absent(metric: Metric | str, record: ServingMade | RecordData, configuration: str = "rate=1") -> Absent:
    return absence(values_of(metric, record)[configuration])


def every_second(requests: int = 3, **row: object) -> ServingMade:
    """One launch with a request every second."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(requests):
        made.request(number, float(second), **row)  # type: ignore[arg-type]
    return made
