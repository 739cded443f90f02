"""What can a program do with a record?  Read its tables, judge it, take its metrics and charts.

    record = fireassay.open("latest")
    record.table("steps")                    a Polars frame, as recorded
    record.steps()                           the steps that count, without warm-up
    record.judge()                           the verdict
    record.metrics                           every metric as a tidy frame
    record.metric("speedup", workers=4)      one estimate with its interval
    record.chart("speedup")                  a chart of its page

Nothing is read before it is asked for, and nothing stays open: a record needs no `with`.

How do a record's metrics become one tidy frame, and which value does a selection name?
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from fireassay.api.lookup import find
from fireassay.api.verdict import Absent, Estimate, Verdict, of
from fireassay.errors import AssayError, SpecError, refuse
from fireassay.estimates import estimate
from fireassay.estimates.estimate import Value
from fireassay.metrics.metric import ALL
from fireassay.printable import REMARKS
from fireassay.record.reader import judged_from, open_record
from fireassay.record.tables import TABLES
from fireassay.reports import fragments as html
from fireassay.spec.explain import closest
from fireassay.spec.plan import configurations

if TYPE_CHECKING:
    from fireassay.api.chart import Chart
    from fireassay.frames.record_data import RecordData
    from fireassay.metrics.metric import Metric, Results
    from fireassay.record.reader import Record as Opened
    from fireassay.reports.charts.model import Chart as Drawn
    from fireassay.reports.view import View
    from fireassay.spec.experiment import Experiment
    from fireassay.spec.plan import Configuration
    from fireassay.verdict.comparison.types import Side
    from fireassay.verdict.judge import Judgement

COLUMNS: Final = {
    "metric": "String",
    "configuration": "String",
    "value": "Float64",
    "low": "Float64",
    "high": "Float64",
    "unit": "String",
    "confidence": "Float64",
    "n_launches": "Int64",
    "reason": "String",
}


def frame(results: Results, metrics: Mapping[str, Metric]) -> pl.DataFrame:
    """One row per metric and configuration, in the columns of `COLUMNS`; numbers are null where there is a reason."""
    schema = {name: getattr(pl, kind) for name, kind in COLUMNS.items()}
    return pl.DataFrame(list(_rows(results, metrics)), schema=schema, orient="row")


def _rows(results: Results, metrics: Mapping[str, Metric]) -> Iterator[tuple[Any, ...]]:
    for name, values in results.items():
        for configuration, value in values.items():
            yield (name, configuration, *(_numbers(value) if isinstance(value, estimate.Estimate) else _reason(value, metrics[name].unit)))


def _numbers(value: estimate.Estimate) -> tuple[Any, ...]:
    return (value.value, value.low, value.high, value.unit, value.confidence, value.n_launches, None)


def _reason(value: estimate.Absent, unit: str) -> tuple[Any, ...]:
    return (None, None, None, unit, None, None, f"{value.reason}: {value.detail}")


def pick(results: Results, name: str, configurations: Sequence[Configuration], selection: Mapping[str, object]) -> Value:
    """The value of a metric at the only configuration that the selection fits; without one, that of the whole record.

    Raises:
        SpecError: unknown metric, or no or several configurations fit.
    """
    values = results.get(name)
    if values is None:
        raise unknown("metric", name, results)
    if not selection and (len(values) == 1 or ALL in values):
        return values.get(ALL) or next(iter(values.values()))
    fitting = [item.name for item in configurations if _fits(item, selection)]
    if len(fitting) == 1:
        return values.get(fitting[0]) or estimate.Absent(reason="not_applicable", detail=f"{name} has no value at {fitting[0]}")
    names = [item.name for item in configurations]
    raise refuse(
        f"metric {name!r}",
        ", ".join(f"{key}={value!r}" for key, value in selection.items()) or "no configuration",
        f"a selection of one of {', '.join(names)}",
        f'For example: metric("{name}", {_example(names[-1])}).',
        source="the selection",
    )


def _example(name: str) -> str:
    return name if name.startswith("workers=") else f'configuration="{name}"'


def _fits(configuration: Configuration, selection: Mapping[str, object]) -> bool:
    """True if a configuration has all selected values; `rate`, `concurrency` and `engine` as its name spells them."""
    parts = dict(part.split("=", 1) for part in configuration.name.split(" ") if "=" in part)
    known = {**parts, "configuration": configuration.name, "workers": configuration.workers, "load": configuration.load}
    return all(name in known and _alike(known[name], value) for name, value in selection.items())


def _alike(have: object, selected: object) -> bool:
    if isinstance(selected, int | float) and not isinstance(selected, bool):
        try:
            return float(str(have)) == float(selected)
        except ValueError:
            return False
    return str(have) == str(selected)


def unknown(what: str, name: str, known: Mapping[str, Any] | Sequence[str]) -> SpecError:
    """There is no such metric, table or chart; names the closest one."""
    match = closest(name, known)
    fix = f"Did you mean {match!r}?" if match else ""
    allowed = f"one of {', '.join(known)}" if len(known) <= 20 else f"one of its {len(known)} names"
    return refuse(what, repr(name), allowed, fix, source="the record")


def steps_of(measured: RecordData, *, warm_up: bool = False) -> pl.DataFrame:
    """The steps that count, of a record as it was read. Raises SpecError: there are none; says why, and which tables hold rows."""
    steps = measured.timed_steps if warm_up else measured.steady_steps
    if not steps.is_empty():
        return steps
    tables = ", ".join(f"{name} ({frame.height:,} rows)" for name, frame in measured.tables.items() if frame.height)
    allowed = f"record.table(NAME), NAME one of {tables}" if tables else "a record with rows: this one is empty"
    raise refuse("steps()", _no_steps(measured), allowed, source="the record")


def _no_steps(measured: RecordData) -> str:
    """Why no step counts: in the words of the metric that needs them, or the record is of another kind."""
    from fireassay.metrics.results import LazyResults

    if not measured.kind.trains:
        return f"a record without steps: it is of {measured.kind.title}"
    values = LazyResults(measured)["step_time"].values()
    reasons = dict.fromkeys(value.detail for value in values if isinstance(value, estimate.Absent))
    return f"a training without steps that count: {'; '.join(reasons) or 'all are warm-up'}"


# ---- metrics as a frame ----------------------------------------------------------------------------------------------


ROOT = "records"


@dataclass(frozen=True)
class Record:
    """A record on disk.

    >>> import fireassay
    >>> record = fireassay.open("digits")
    >>> record
    Record('digits': complete, sealed)
    >>> record.configurations
    ('workers=1', 'workers=2')
    >>> record.tables
    ('launches', 'steps', 'examples', 'samples', 'fingerprints', 'events', 'telemetry')
    """

    path: Path

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.path.name

    @property
    def experiment(self) -> Experiment:
        """What was asked for."""
        return self._opened.experiment

    @property
    def state(self) -> str:
        """running, complete, interrupted or failed."""
        return self._opened.state

    @property
    def sealed(self) -> bool:
        """True if its files are final and have digests."""
        return self._opened.sealed

    @property
    def configurations(self) -> tuple[str, ...]:
        """What its launches differ in: worker counts, or loads."""
        return tuple(item.name for item in configurations(self.experiment))

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that hold rows; docs/reference/record.md describes their columns."""
        return tuple(name for name in TABLES if self._opened.holds(name))

    def table(self, name: str) -> pl.DataFrame:
        """One table, read now, in its declared types; null means "not recorded", never zero.

        >>> import fireassay, polars as pl
        >>> steps = fireassay.open("digits").table("steps")
        >>> steps.select("launch", "rank", "step", ms=(pl.col("end_ns") - pl.col("begin_ns")) / 1e6).schema
        Schema([('launch', Int32), ('rank', Int32), ('step', Int64), ('ms', Float64)])

        Raises:
            SpecError: no table has this name.
            RecordError: it is damaged.
        """
        if name not in TABLES:
            raise unknown("table", name, tuple(TABLES))
        return self._opened.table(name)

    def steps(self, *, warm_up: bool = False) -> pl.DataFrame:
        """The training steps that count, one per row: of timed launches, as slow as the slowest rank, without warm-up.

        `step_s` is the time without the saving of checkpoints; beside it configuration, launch, block, step, the phases of the
        slowest rank (data_s, forward_s, backward_s, optimizer_s, the rest unknown_s), items and ranks.
        The report's step time is the geometric mean over launches of a launch's median:

        >>> import fireassay, polars as pl
        >>> record = fireassay.open("digits")
        >>> launches = record.steps().group_by("configuration", "launch").agg(pl.col("step_s").median())
        >>> by_workers = launches.group_by("configuration").agg(pl.col("step_s").log().mean().exp())
        >>> seconds = by_workers.filter(configuration="workers=2")["step_s"].item()
        >>> round(seconds / record.metric("step_time", workers=2).value, 9)
        1.0

        Args:
            warm_up: also those of the warm-up, marked in the column `warm_up`.

        Raises:
            RecordError: it is damaged.
            SpecError: it has none that count; the message says why, and which tables it has.
        """
        with judged_from(self.path):
            return steps_of(self._measured, warm_up=warm_up)

    def judge(self) -> Verdict:
        """The verdict, as `assay report` gives it.

        >>> import fireassay
        >>> fireassay.open("digits").judge()
        Verdict('good': INCONCLUSIVE)

        Raises:
            RecordError: it cannot be judged.
        """
        return Verdict(self.experiment.name, self._judgement.verdict)

    @property
    def metrics(self) -> pl.DataFrame:
        """Every metric at every configuration; `all` is the whole experiment.

        A number that is not there is null, with the reason; an end of an interval that the data do not bound is infinite.
        `.to_pandas()` makes a pandas frame of it, if pandas is installed.

        >>> import fireassay, polars as pl
        >>> metrics = fireassay.open("digits").metrics
        >>> metrics.columns
        ['metric', 'configuration', 'value', 'low', 'high', 'unit', 'confidence', 'n_launches', 'reason']
        >>> metrics.filter(metric="mfu", configuration="workers=2").row(0)
        ('mfu', 'workers=2', None, None, None, 'fraction', None, None, 'not_measured: ...')
        """
        return frame(self._judgement.results, self._judgement.metrics)

    def metric(self, name: str, /, **selection: object) -> Estimate | Absent:
        """One metric: an `Estimate` with its interval, or an `Absent` with the reason.

        >>> import fireassay
        >>> record = fireassay.open("digits")
        >>> speedup = record.metric("speedup", workers=2)
        >>> print(speedup)
        1.70 [1.00, 2.88] (one far out)
        >>> round(speedup.value, 3), speedup.n_launches
        (1.704, 3)
        >>> print(record.metric("mfu", workers=2))
        not measured (...)

        Args:
            name: as in docs/reference/metrics.md.
            selection: workers=4; of a load rate=8, concurrency=8, engine="b", scenario="..."; or configuration="workers=4".
                Without one, the value of the whole record.

        Raises:
            SpecError: unknown metric, or no or several configurations fit.
        """
        return of(pick(self._judgement.results, name, configurations(self.experiment), selection))

    @property
    def charts(self) -> tuple[str, ...]:
        """The names of the charts of its page.

        >>> import fireassay
        >>> fireassay.open("digits").charts
        ('speedup', ...)
        """
        return tuple(self._drawings)

    def chart(self, name: str) -> Chart:
        """A chart of its page by name.

        >>> import fireassay
        >>> fireassay.open("digits").chart("speedup").save("speedup.png").name
        'speedup.png'

        Raises:
            SpecError: no chart has this name.
        """
        from fireassay.api.chart import Chart

        if name not in self._drawings:
            raise unknown("chart", name, self.charts)
        return Chart(self._drawings[name])

    @cached_property
    def _opened(self) -> Opened:
        return open_record(self.path)

    @cached_property
    def _measured(self) -> RecordData:
        from fireassay.api.sides import opened  # deferred, as is the page: to read a table needs no judge, which takes longer to load

        return opened(self.path)

    @cached_property
    def _side(self) -> Side:
        from fireassay.api.sides import judged

        return judged(self.path, self._measured)

    @property
    def _judgement(self) -> Judgement:
        return self._side.judgement

    @cached_property
    def _view(self) -> View:
        from fireassay.reports.build_view import build

        return build(self._measured, self._judgement)

    @cached_property
    def _drawings(self) -> dict[str, Drawn]:
        from fireassay.reports.charts.of_view import charts_of

        return {chart.name: chart for chart in charts_of(self._view)}

    def __repr__(self) -> str:
        return f"Record({self.name!r}: {self.state}, {'sealed' if self.sealed else 'not sealed'})"

    def _repr_html_(self) -> str:
        tables = ", ".join(self.tables)
        facts = (("state", self.state), ("configurations", ", ".join(self.configurations)), ("tables", tables), ("path", self.path))
        seal = (("seal", self._opened.seal),) if self.sealed else ()
        return self._verdict_html() + html.table(("record", self.name), (*facts, *seal))

    def _verdict_html(self) -> str:
        """The answer as on its page; of a record that cannot be judged, why."""
        from fireassay.reports.pages.record import page

        try:
            answer = page(self._view).answer
        except AssayError as error:
            return html.verdict("absent", "not judged", str(error))
        if answer is None:
            return html.verdict("absent", self._view.status, self._view.sentence)
        tiles = ((tile.title, tile.mark.word, f"{tile.big} {tile.small}".strip(), tile.text) for tile in answer.tiles)
        evidence = html.table(("", "status", "value", "why"), tiles) if answer.tiles else ""
        return html.verdict(answer.mark.tone, answer.mark.word, answer.headline) + evidence


def open(record: str | os.PathLike[str], *, root: str | os.PathLike[str] = ROOT) -> Record:
    """A record by whatever the command line accepts: a path, a name, an id, a unique prefix, `latest`, or an address in a store.

    >>> import fireassay
    >>> fireassay.open("latest").name
    'digits'
    >>> fireassay.open("digist")
    Traceback (most recent call last):
    fireassay.errors.RecordError: no record in records has the name or id 'digist', ...

    Args:
        record: which one.
        root: the folder that names are looked up in.

    Raises:
        RecordError: no record or several match, or it is damaged.
    """
    with remarks_as_warnings():
        handle = Record(find(os.fspath(record), Path(root)))
    handle._opened  # noqa: B018  a record that cannot be opened is refused here
    return handle


@contextmanager
def remarks_as_warnings() -> Iterator[None]:
    """A program hears of a skipped record as a warning, where the command line prints a line."""
    token = REMARKS.set(lambda sentence: warnings.warn(sentence, stacklevel=4))
    try:
        yield
    finally:
        REMARKS.reset(token)
