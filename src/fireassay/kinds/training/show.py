"""What is shown of a training?  Its dimensions, the layers of correctness, primary numbers, gates and charts.

An HTML page asks: do more workers pay and why not, then right, fast, worth it, reliable, trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import show
from fireassay.kinds.training import target
from fireassay.kinds.training.answer import answer as answer
from fireassay.kinds.training.answer import brief
from fireassay.kinds.training.why import decomposition, studied
from fireassay.metrics.cost import COST
from fireassay.metrics.training.faults import TIMELINE
from fireassay.reports.charts import counts_of_view, steps
from fireassay.reports.charts.counts_of_view import cost_of_work, triangle
from fireassay.reports.charts.evaluation import quality
from fireassay.reports.charts.faults import faults
from fireassay.reports.charts.launches import launch_order, launch_timeline
from fireassay.reports.charts.model import Charts
from fireassay.reports.charts.of_view import Draw, over_workers
from fireassay.reports.charts.ranks import ranks, step_timeline
from fireassay.reports.charts.scaling import communication_model, speedup
from fireassay.reports.charts.steps import cost_time, paid_time, phases, profile
from fireassay.reports.charts.target import target as over_target
from fireassay.reports.hosts_table import hosts_table
from fireassay.reports.machine_use_table import machine_use_table
from fireassay.reports.page import Blocks, Number, Part, Section, Sum
from fireassay.reports.pages import questions, record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import FIGURES, results
from fireassay.reports.rank_table import rank_table
from fireassay.reports.view import Column, View

RECOVERY, *STAGES = (name for name, *_ in TIMELINE)  # the whole, then its parts in their order
SHOWN: Final = (
    ("detect", "waiting"),
    ("restart", "base"),
    ("reload", "data"),
    ("recompute", "transfer"),
)  # of each part: its text and role
CLOSE: Final = 0.01  # of the recovery: its parts add up
CHARTS: Final[tuple[Draw, ...]] = (
    *(speedup, communication_model, phases, ranks, step_timeline),
    *(quality, cost_time, paid_time, faults, launch_timeline, launch_order),
)


def sections(view: View) -> Iterator[Section]:
    """The first screen's evidence, then a section per question."""
    timed = any(launch.role != "profile" for launch in view.launches)
    if timed:
        yield Section(key="pay", title="Speedup", role="exhibit", content=lambda: questions.charts(view, speedup))
        if why := _why(view):
            yield Section(key="why", title="Why not faster", role="exhibit", content=why)
        if view.measured.experiment.target is not None:
            yield questions.section(
                "target",
                "Target",
                "How soon is the target reached?",
                lambda: (*target.table(view), *questions.charts(view, over_target)),
                " ".join(line.text for line in target.lines(view)),
            )
        yield questions.section(
            "levels",
            "Counts",
            "What does each worker count give?",
            lambda: (questions.levels(view, "workers"), *questions.verdict(view), *questions.by_configuration(view, "performance")),
            f"{questions.dimension_words(view, 'performance')} Numbers are over launches, with {view.confidence} intervals.".strip(),
        )
    if timed:
        yield from _dimension(
            view, "correctness", "Is the result still right?", lambda: (*_layers(view), *questions.charts(view, quality, absent=False))
        )
    if view.kind.trains:
        yield questions.section("step", "Step", "Where does the time of a step go?", lambda: _step(view))
    if timed:
        yield from _dimension(
            view, "cost", "Was it worth the money?", lambda: questions.charts(view, cost_time, paid_time, cost_of_work, triangle)
        )
        yield from _dimension(
            view, "reliability", "Does it survive a killed worker?", lambda: (*questions.charts(view, faults), *_recovery(view))
        )
    yield from questions.closing(view, record.TRAINING_COLUMNS, launch_order, launch_timeline)


def _dimension(view: View, dimension: str, question: str, content: Callable[[], Blocks]) -> Iterator[Section]:
    """A dimension's question; nothing where nobody asked."""
    if dimension in view.dimensions and (dimension not in view.unasked or (dimension == "cost" and view.spent)):
        title = {"correctness": "Correctness", "cost": "Cost", "reliability": "Faults"}[dimension]
        reply = questions.dimension_words(view, dimension) if dimension not in view.unasked else "No price was given."
        yield questions.section(
            f"metrics-{dimension}", title, question, lambda: (*content(), *questions.by_configuration(view, dimension)), reply
        )


def _layers(view: View) -> Blocks:
    return tuple(block for section in record.layers(view) for block in section.blocks)


def _step(view: View) -> Blocks:
    shown = questions.charts(view, phases, ranks, step_timeline, communication_model, *((profile,) if view.profiles else ()))
    profiles = (block for section in record.profile(view) for block in section.blocks)
    return (*shown, *rank_table(view), *hosts_table(view), *machine_use_table(view), *questions.findings(view, bottlenecks=True), *profiles)


def _why(view: View) -> tuple[Sum, ...]:
    """The decomposition of every worker count, that of the answer first."""
    others = [column for column in view.columns if column.key != view.base]
    return tuple(part for column in _decided(view, others) for part in decomposition(view, column))


def _decided(view: View, columns: list[Column]) -> list[Column]:
    chosen = studied(view)
    return sorted(columns, key=lambda column: column != chosen)


def _recovery(view: View) -> tuple[Sum, ...]:
    """What the recovery was made of, if its parts were measured and add up."""
    sums = []
    for column in view.columns:
        whole = view.metric(RECOVERY)
        parts = [(row, text, role) for name, (text, role) in zip(STAGES, SHOWN, strict=True) if (row := view.metric(name))]
        values = [row.cells[column.key].value for row, _, _ in parts if column.key in row.cells]
        if whole is None or column.key not in whole.cells or len(values) < len(STAGES):
            continue
        total = whole.cells[column.key].value
        known = [value.value for value in values if isinstance(value, Estimate)]
        if not isinstance(total, Estimate) or len(known) < len(values) or abs(sum(known) - total.value) > CLOSE * total.value:
            continue
        scale = whole.cells[column.key].scale
        first, *others = (
            Part(text=text, number=Number(shown=show(row.cells[column.key].value, scale)), role=role) for row, text, role in parts
        )
        title = f"what the recovery was made of: {column.label}, {whole.cells[column.key].text} until progress was regained"
        end = Part(text="until progress was regained", number=Number(shown=whole.cells[column.key]), role="total")
        sums.append(Sum(name=f"recovery-{column.workers}", title=title, unit=scale.label, start=first, parts=tuple(others), total=end))
    return tuple(sums)


def page(view: View) -> tuple[Section, ...]:
    """The sections of a training."""
    return (
        record.dimensions(view),
        *record.layers(view),
        record.recommendation(view),
        record.gates(view),
        record.numbers(view),
        *target.section(view),
        record.charts(view),
        *record.profile(view),
        Section(key="rank-phases", title="Phases of each rank", depth="detail", content=lambda: rank_table(view)),
        Section(key="hosts", title="Hosts", depth="detail", content=lambda: hosts_table(view)),
        Section(key="machine-use", title="Memory and use of devices", depth="detail", content=lambda: machine_use_table(view)),
        record.findings(view),
        *record.metrics(view),
        *record.how(view, record.TRAINING_COLUMNS),
        *brief(view),
        *sections(view),
        *sheets(view, charts=in_cells),
        *results(view),
        Section(key=FIGURES, title="Figures", role="publication", content=lambda: counts_of_view.figures(view)),
    )


def charts(view: View) -> tuple[Draw, ...]:
    """Only the chart of the profile if all launches are profiled, since the others need timed ones."""
    if view.launches and all(launch.role == "profile" for launch in view.launches):
        return (profile,)
    drawn = (over_target, *CHARTS) if view.measured.experiment.target is not None else CHARTS
    return (profile, *drawn) if view.profiles else drawn


def in_cells(view: View) -> Charts:
    """The charts of the workbook: those over worker counts, the parts of a step, the cost of a run."""
    return (*counts_of_view.in_cells(view), *steps.phases_in_cells(view), *over_workers(view, COST.name, "Cost of a run", {}))
