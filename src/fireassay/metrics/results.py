"""Which value does a metric have for a record?  It is computed when it is read, and once per record.

`results["speedup"]` computes the metric and whatever it reads in turn; iterating computes all, in alphabetical order. The record keeps the
values, so that everyone who judges it in one process shares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fireassay import catalog
from fireassay.estimates.estimate import Value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, OfRecord
from fireassay.metrics.needs import values
from fireassay.spec.kind import Kind


class LazyResults(Mapping[str, Mapping[str, Value]]):
    """Metric name -> configuration (or ALL) -> value, for one record."""

    def __init__(self, measured: RecordData, metrics: Mapping[str, Metric] | None = None) -> None:
        """`metrics`: the definitions by name; those about this record by default, whose values the record keeps."""
        self._measured = measured
        self.metrics = about(measured) if metrics is None else metrics
        self._known: dict[str, Mapping[str, Value]] = measured.once("results", lambda _: {}) if metrics is None else {}
        self._asking: list[str] = []

    def __getitem__(self, name: str) -> Mapping[str, Value]:
        if name not in self._known:
            self._known[name] = self._compute(name)
        return self._known[name]

    def _compute(self, name: str) -> Mapping[str, Value]:
        metric = self.metrics[name]
        if name in self._asking:
            raise ValueError(f"metric cycle: {' -> '.join((*self._asking[self._asking.index(name) :], name))}")
        self._asking.append(name)
        try:
            return values(metric, self._measured, self)
        finally:
            self._asking.pop()

    def get(self, name: str, default: Any = None) -> Any:
        """The values of a metric, or the default if it is not about this record; what computing it raises is not hidden."""
        return self[name] if name in self.metrics else default

    def __contains__(self, name: object) -> bool:
        return name in self.metrics

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.metrics))

    def __len__(self) -> int:
        return len(self.metrics)

    def __repr__(self) -> str:
        return f"LazyResults({len(self._known)} of {len(self.metrics)} computed)"


def about(measured: RecordData) -> Mapping[str, Metric]:
    """The metrics defined for this record."""
    return measured.once("metrics", _about)


def _about(measured: RecordData) -> Mapping[str, Metric]:
    every: Mapping[str, Metric] = catalog.load_all("metrics", measured.kind.unconcerned)
    known = {name: metric for name, metric in every.items() if measured.kind.concerns(metric.about) and metric.asked(measured)}
    of_record: OfRecord | None = catalog.part("kinds", measured.kind.name, "recorded", "OF_RECORD", None)
    return known if of_record is None else {**known, **of_record(measured)}


def deciding_metrics(kind: Kind) -> tuple[str, ...]:
    """Metrics by which records of this kind are compared, in order of preference."""
    metrics: Mapping[str, Metric] = catalog.load_all("metrics", kind.unconcerned)
    declared = sorted((metric.decides, name) for name, metric in metrics.items() if metric.decides and kind.concerns(metric.about))
    return tuple(name for _, name in declared)
