"""Which value does a metric have for a record?  It is computed when it is read, and once per record.

`results["speedup"]` computes the metric and whatever it reads in turn; iterating computes all, in alphabetical order. The record keeps the
values, so that everyone who judges it in one process shares them.

What does a metric need from a record, and why does a record lack it?

Checked here only, before a metric is computed. A native record may lack chunks, objectives or joules. An imported one
(`fireassay.importers`) has only its file's content: totals give no metric; requests without times of day give no rates; a clock
that starts at sending does not show how late a request was sent; and the definitions of other tools need chunks of known kinds.
All other metrics of an imported record are computed as usual, from the program's time stamps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import no_launch
from fireassay.frames.costs import energy_method, no_energy
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.serving.outages import no_objectives, uncounted
from fireassay.frames.serving.requests import WINDOW
from fireassay.metrics.metric import Metric, Need, OfRecord, Results
from fireassay.spec.kind import Kind

WHOLE: Final = "all requests of the imported file, for it has no measured window"
PROFILED: Final = Absent("not_measured", "this record only profiles; no launch was timed")
NOT_STREAMED: Final = Absent("not_applicable", "answers were not streamed (serving.stream = false), so no chunk has a time of its own")
NO_TOKENS: Final = {  # task -> why its answers have none
    "text_to_speech": Absent("not_applicable", "speech has no output tokens: its chunks are pieces of audio"),
    "text_to_image": Absent("not_applicable", "images have no tokens: see the time to an image and to its first preview"),
}
BEHIND_A_SERVER: Final = "the answers came from a server, which does not report it; a model in this process does (backend process)"


def values(metric: Metric, measured: RecordData, results: Results) -> Mapping[str, Value]:
    """A metric's values for a record; if the record lacks what it needs, the reason for every configuration."""
    why = unmet(metric, measured)
    if why is not None:
        return dict.fromkeys(measured.configurations, why)
    return reworded(measured, metric.compute(measured, results))


OF_TRIALS: Final = "trial_"  # the metrics of timed calls (`metrics/calls.py`)


def unmet(metric: Metric, measured: RecordData) -> Absent | None:
    """The first thing that a metric needs and a record lacks; None if it has all."""
    foreign = measured.foreign
    if measured.experiment.timing.benchmarks and not metric.name.startswith(OF_TRIALS):
        return Absent("not_applicable", "the benchmarks of a file are no configurations of one workload")
    if foreign is not None and not (measured.kind.sweeps or measured.kind.times_calls):  # their files hold every time that a metric needs
        if not foreign.get("requests"):
            return _only_totals(str(foreign.get("title")))
        lacking = (lack(measured, metric) for need, lack in OF_IMPORTS.items() if need in metric.needs)
        if (why := next(filter(None, lacking), None)) is not None:
            return why
    return next(filter(None, (lack(measured) for need, lack in OF_OURS.items() if need in metric.needs)), None)


def reworded(measured: RecordData, values: Mapping[str, Value]) -> Mapping[str, Value]:
    """The values, without mention of a measured window in their methods if the record has none; for a profile alone,
    with the reason why no launch was timed."""
    if measured.experiment.profile is not None and measured.experiment.profile.only:
        untimed = [no_launch(name) for name in measured.configurations]
        return {name: PROFILED if value in untimed else value for name, value in values.items()}
    if not measured.timeless:
        return values
    return {
        name: replace(value, method=value.method.replace(WINDOW, WHOLE)) if isinstance(value, Estimate) else value
        for name, value in values.items()
    }


def _chunks(measured: RecordData) -> Absent | None:
    serving = measured.experiment.serving
    if serving is not None and serving.task == "text_to_image":
        return NO_TOKENS[serving.task]
    return None if serving is not None and serving.stream else NOT_STREAMED


def _energy(measured: RecordData) -> Absent | None:
    return no_energy(measured) if energy_method(measured) is None else None


def _tokens(measured: RecordData) -> Absent | None:
    serving = measured.experiment.serving
    return NO_TOKENS.get(serving.task) if serving is not None else None


OF_OURS: Final[Mapping[Need, Callable[[RecordData], Absent | None]]] = {
    "chunks": _chunks,
    "objectives": no_objectives,
    "token_times": uncounted,
    "energy": _energy,
    "tokens": _tokens,
}


# ---- imported records --------------------------------------------------------------------------------------------


def _only_totals(title: str) -> Absent:
    return Absent("not_measured", f"the imported file of {title} has totals only, no requests; its own numbers are shown with ours")


def _window(measured: RecordData, _: Metric) -> Absent | None:
    if not measured.timeless or measured.foreign is None:
        return None
    sampled = measured.foreign.get("times") == "sampled"
    why = "keeps only a sample of its requests" if sampled else "does not say when its requests were sent"
    return Absent(
        "not_measured",
        f"the imported file of {measured.foreign.get('title')} {why}, so there is no measured window and no rate; its own numbers "
        f"are shown",
    )


def _due_times(measured: RecordData, _: Metric) -> Absent | None:
    if measured.foreign is None or measured.foreign.get("clock") == "scheduled":
        return None
    message = f"the imported file of {measured.foreign.get('title')} does not say when requests were due, only when they were sent"
    return Absent("not_measured", message)


def _own_chunk_kinds(measured: RecordData, metric: Metric) -> Absent | None:
    if measured.foreign is None or measured.foreign.get("tool") == metric.tool:
        return None
    message = (
        f"imported from {measured.foreign.get('title')}: another tool's definition needs the kinds of chunks, which only our own log has"
    )
    return Absent("not_applicable", message)


def _connections(measured: RecordData, _: Metric) -> Absent | None:
    title = measured.foreign.get("title") if measured.foreign is not None else ""
    return Absent("not_measured", f"the imported file of {title} does not say how long connections took to set up")


def _in_process(_: RecordData, __: Metric) -> Absent | None:
    return Absent("not_applicable", BEHIND_A_SERVER)


OF_IMPORTS: Final[Mapping[Need, Callable[[RecordData, Metric], Absent | None]]] = {
    "window": _window,
    "due_times": _due_times,
    "own_chunk_kinds": _own_chunk_kinds,
    "connections": _connections,
    "in_process": _in_process,
}


# ---- values when they are read ----


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


@once_per_record
def about(measured: RecordData) -> Mapping[str, Metric]:
    """The metrics defined for this record."""
    every: Mapping[str, Metric] = catalog.load_all("metrics", measured.kind.unconcerned)
    known = {name: metric for name, metric in every.items() if measured.kind.concerns(metric.about) and metric.requested(measured)}
    of_record: OfRecord | None = catalog.part("kinds", measured.kind.name, "recorded", "OF_RECORD", None)
    return known if of_record is None else {**known, **of_record(measured)}


def deciding_metrics(kind: Kind) -> tuple[str, ...]:
    """Metrics by which records of this kind are compared, in order of preference."""
    metrics: Mapping[str, Metric] = catalog.load_all("metrics", kind.unconcerned)
    declared = sorted((metric.decides, name) for name, metric in metrics.items() if metric.decides and kind.concerns(metric.about))
    return tuple(name for _, name in declared)
