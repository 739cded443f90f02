"""What is in the tree from which every report is made?  Frozen rows with their text; raw values beside it for JSON, Excel and charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, Shown, banded, scale_for, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.metrics.metric import ALL
from fireassay.metrics.metric import Shown as Placement
from fireassay.metrics.training.faults import partition
from fireassay.reports.metric_tables import MetricColumn, MetricTable
from fireassay.reports.words import WHOLE
from fireassay.spec.kind import Kind
from fireassay.verdict.types import DIMENSIONS, HOLDS, DimensionResult, Finding, GateResult, LayerResult, Recommendation, Status, rule_words

if TYPE_CHECKING:
    from fireassay.frames.fleet import Fleet
    from fireassay.frames.links.network_probe import Network
    from fireassay.frames.links.pairs import Pairs
    from fireassay.reports.evaluation_view import EvaluationRows
    from fireassay.reports.load import Load
    from fireassay.spec.sections.collectives import Cell as CollectiveCell
    from fireassay.verdict.artifact import ArtifactField
    from fireassay.verdict.hoefler_belli import Rule
    from fireassay.verdict.judge import Judgement


@dataclass(frozen=True, kw_only=True)
class Column:
    """A configuration: its key in records and JSON, its label, and its worker count."""

    key: str
    label: str
    workers: int
    engine: str = ""  # of a load
    scenario: str = ""
    load: float | None = None  # requests in flight, or requests per second
    group: str = ""  # of a load: engine and scenario, each only if there are several
    brief: str = ""  # of a load: the label without the group


@dataclass(frozen=True, kw_only=True)
class Cell(DimensionResult):
    """One dimension of one configuration."""

    word: str


@dataclass(frozen=True, kw_only=True)
class VectorRow:
    """A configuration and its four dimensions, in the order of DIMENSIONS."""

    column: Column
    cells: Mapping[str, Cell]


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """A metric with its value per configuration key, or under ALL, in one scale; computed when it is shown."""

    name: str
    title: str
    dimension: str
    unit: str  # as in the record
    better: str
    formula: str
    primary: bool
    values: Callable[[], Mapping[str, Value]] = field(repr=False, compare=False)
    work: str = "items"  # names an item of work
    tool: str = ""  # the load generator that defines it so; empty for a definition of ours
    shown: tuple[Placement, ...] = ()  # the tables that it asks for
    band: Callable[[float], str] | None = None

    @cached_property
    def scale(self) -> Scale:
        """The scale of all values."""
        return scale_for(self.unit, (value.value for value in self.values().values() if isinstance(value, Estimate)), self.work)

    @cached_property
    def cells(self) -> Mapping[str, Shown]:
        """The values as text."""
        return {key: show(value, self.scale) for key, value in self.values().items()}

    def word(self, key: str) -> str:
        """The word for the value of a configuration: "good"; "" where the metric has no bands."""
        return banded(self.values().get(key), self.band)

    @property
    def shown_unit(self) -> str:
        """The unit as in this row: "ms", "%"."""
        return self.scale.label

    @property
    def known(self) -> bool:
        """True if it has a number anywhere."""
        return any(shown.measured for shown in self.cells.values())


@dataclass(frozen=True, kw_only=True)
class GateRow(GateResult):
    """One gate on one configuration, in words."""

    label: str
    word: str


@dataclass(frozen=True, kw_only=True)
class LayerRow(LayerResult):
    """One layer of the correctness of a training on several workers, and where."""

    configuration: str
    label: str


@dataclass(frozen=True, kw_only=True)
class FindingRow(Finding):
    """A finding of an audit, and where in words."""

    where: str


@dataclass(frozen=True, kw_only=True)
class RecommendationRow(Recommendation):
    """A configuration picked for a reason, and its label."""

    label: str


@dataclass(frozen=True, kw_only=True)
class LaunchRow:
    """One launch as it happened. `wall_s` and `step_s` are raw readings, `wall` and `step` their texts."""

    number: int
    configuration: str
    label: str
    workers: int
    block: int
    order: int
    attempt: int
    role: str
    seed: int
    begin_utc: str
    status: str
    reason: str
    exit_code: int | None
    restarts: int
    wall_s: float
    wall: str
    steps: int
    step_s: float | None
    step: str
    warmup: int | None
    shape: str
    due: int = 0  # of a load: its requests without the cold ones
    answered: int = 0
    disturbed: Mapping[str, str] = field(default_factory=dict)  # rule -> why, for each disturbance of the machine

    @property
    def disturbances(self) -> str:
        """ "other programs, slow speed probe"; empty for a quiet machine."""
        return ", ".join(rule_words(rule) for rule in self.disturbed)


@dataclass(frozen=True, kw_only=True)
class EnvironmentRow:
    """One fact about the machine, before and after the experiment."""

    key: str
    before: str
    after: str
    changed: bool


@dataclass(frozen=True, kw_only=True)
class EnvironmentGroup:
    """The facts under one heading."""

    name: str
    rows: tuple[EnvironmentRow, ...]

    @property
    def changed(self) -> int:
        """The number of facts that differ between before and after."""
        return sum(row.changed for row in self.rows)


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A condition under which the numbers hold."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Again:
    """What a command about the record needs, and lacks by now."""

    record: str = ""  # the words by which a verb finds it; empty: the end of its id
    gone: str = ""  # why its work cannot be done again: "train.py is no longer there"
    score: tuple[tuple[str, ...], ...] = ()  # of answers: their files, then each flag with its value, for `assay score`
    silent: str = ""  # "nothing answers at http://localhost:8000"


@dataclass(frozen=True, kw_only=True)
class View:
    """Everything that any report shows."""

    name: str
    record: str
    created: str
    assay_version: str
    state: str
    sealed: bool
    seal: str  # SHA-256 of the sealed manifest; empty if unknown
    seal_words: str  # sealed, and by which digest, or not sealed
    confidence: str
    status: Status
    word: str
    meaning: str
    sentence: str
    columns: tuple[Column, ...]
    base: str
    vector: tuple[VectorRow, ...]
    metrics: tuple[MetricRow, ...]
    gates: tuple[GateRow, ...]
    findings: tuple[FindingRow, ...]
    recommendations: tuple[RecommendationRow, ...]
    launches: tuple[LaunchRow, ...]
    environment: tuple[EnvironmentGroup, ...]
    conditions: tuple[Fact, ...]
    overhead: tuple[tuple[str, Shown], ...]  # the instrument's own cost, per configuration or for the whole experiment
    measured: RecordData = field(repr=False, compare=False)  # from which charts draw
    judgement: Judgement = field(repr=False, compare=False)
    efficiency_gate: float | None
    quality_metric: str | None
    quality_margin: float | None
    serving: Load | None = None  # of a record about serving
    load_word: str = ""  # of a load: what `Column.load` counts, "concurrency" or "rate"
    foreign: tuple[Fact, ...] = ()  # of an imported record: its origin, its meanings, what its tool reported
    collectives: tuple[CollectiveCell, ...] = ()  # of a record that times collectives: the requested cells
    network: Network | None = None  # of a network probe
    fleet: Fleet | None = None  # of a fleet's tests
    pairs: tuple[Pairs, ...] = ()  # of a record that times messages between pairs of ranks
    layers: tuple[LayerRow, ...] = ()  # of a training on several workers: does it compute what one worker computes?
    profiles: tuple[Mapping[str, Any], ...] = ()  # profiled launches: see `fireassay.reports.pages.profile`
    kind: Kind
    wanted: tuple[str, ...] = DIMENSIONS  # the requested dimensions
    unasked: tuple[str, ...] = ()  # what the experiment asks nothing about, in words: "reliability", "energy"
    evaluation: EvaluationRows | None = None  # of an evaluation
    again: Again = Again()
    timing: tuple[Fact, ...] = ()  # of a record that times a command or a function: the basis of its time

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions to show: the requested ones, and those in which something is wrong."""
        wrong = {d for row in self.vector for d, cell in row.cells.items() if cell.status in ("FAIL", "INVALID")}
        return tuple(d for d in DIMENSIONS if d in self.wanted or d in wrong)

    @property
    def dimensions_title(self) -> str:
        """The title of their table."""
        return "Four dimensions" if self.dimensions == DIMENSIONS else "Requested dimensions"

    @property
    def shown_layers(self) -> tuple[LayerRow, ...]:
        """The layers of correctness, if that dimension is shown."""
        return self.layers if "correctness" in self.dimensions else ()

    @cached_property
    def spent(self) -> tuple[Spent, ...]:
        """What the rank-seconds of a training were spent on; empty if no rank marks its steps."""
        return tuple(spent(self.measured))

    @property
    def load(self) -> Load:
        """What is known of a load besides its metrics; records of other kinds have none."""
        assert self.serving is not None
        return self.serving

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The twelve rules of Hoefler and Belli, answered."""
        from fireassay.verdict.hoefler_belli import checklist  # deferred: most pages show none of them

        return checklist(self.measured, self.judgement)

    @cached_property
    def artifact(self) -> tuple[ArtifactField, ...]:
        """The fields of a paper's artifact checklist."""
        from fireassay.verdict.artifact import artifact  # deferred likewise

        return artifact(self.measured)

    @property
    def questions(self) -> Mapping[str, str]:
        """The question of each dimension."""
        return self.kind.questions

    @property
    def primary(self) -> tuple[MetricRow, ...]:
        """The metrics of the summary table, in the dimensions to show."""
        return tuple(row for row in self.metrics if row.primary and row.dimension in self.dimensions)

    def of_dimension(self, dimension: str) -> tuple[MetricRow, ...]:
        """The metrics of one dimension, as we define them."""
        return tuple(row for row in self.metrics if row.dimension == dimension and not row.tool)

    @property
    def of_tools(self) -> tuple[MetricRow, ...]:
        """Other tools' definitions of the same quantities."""
        return tuple(row for row in self.metrics if row.tool)

    @property
    def groups(self) -> tuple[str, ...]:
        """Engines and scenarios, each once, if there are several."""
        return tuple(dict.fromkeys(column.group for column in self.columns))

    def metric(self, name: str) -> MetricRow | None:
        """A metric by name."""
        return next((row for row in self.metrics if row.name == name), None)

    def value(self, name: str, key: str) -> Value | None:
        """A metric's value at a configuration; None if it was not computed there."""
        row = self.metric(name)
        shown = row.cells.get(key) if row is not None else None
        return None if shown is None else shown.value

    def estimate(self, name: str, key: str) -> Estimate | None:
        """A metric's estimate at a configuration, if measured."""
        value = self.value(name, key)
        return value if isinstance(value, Estimate) else None

    def shown_in(self, table: MetricTable) -> tuple[tuple[MetricColumn, MetricRow], ...]:
        """The columns of a table of metrics, from the left."""
        return table.of(self.metrics)

    def label(self, key: str) -> str:
        """The label of a configuration."""
        return next((column.label for column in self.columns if column.key == key), WHOLE if key == ALL else key)

    def reportable(self, key: str) -> bool:
        """True if a configuration's numbers may be published: the record is admissible, and its result was not found wrong."""
        row = next(row for row in self.vector if row.column.key == key)
        return self.status != "INVALID" and row.cells["correctness"].status in (*HOLDS, "NOT_MEASURED")

    @property
    def recommended(self) -> str | None:
        """The key of the recommended configuration."""
        return next((row.configuration for row in self.recommendations if row.goal == "recommended"), None)

    @property
    def changes(self) -> int:
        """How many facts about the machine changed during the experiment."""
        return sum(group.changed for group in self.environment)


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Use of rank-seconds in a configuration's launches of one role: shares by category, summing to 1."""

    configuration: str
    role: str  # timed or fault
    launches: int
    rank_s: float
    shares: Mapping[str, float]


def spent(measured: RecordData) -> Iterator[Spent]:
    """By role and configuration; nothing if no rank marks its steps."""
    if measured.stepped.height == 0:
        return
    for role in ("timed", "fault"):
        sums = partition(measured, role).group_by("configuration").agg(pl.len(), pl.col(list(CATEGORIES)).sum())
        by_name = {row["configuration"]: row for row in sums.iter_rows(named=True)}
        for name in (name for name in measured.configurations if name in by_name):
            row = by_name[name]
            if (whole := sum(row[category] for category in CATEGORIES)) > 0:
                shares = {category: row[category] / whole for category in CATEGORIES}
                yield Spent(configuration=name, role=role, launches=row["len"], rank_s=whole, shares=shares)
