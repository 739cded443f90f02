"""What does the page of a judged record show, whatever its kind?

`fireassay.kinds.<kind>.page` selects and orders these sections and adds its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from fireassay import catalog
from fireassay.estimates.format import count
from fireassay.metrics.metric import ALL
from fireassay.reports import grouping
from fireassay.reports.answering import TONES, counted, runnable
from fireassay.reports.dispersion_table import dispersion_table
from fireassay.reports.page import (
    Answer,
    Block,
    Blocks,
    Bullet,
    Bullets,
    Cell,
    Facts,
    Mark,
    Number,
    Page,
    Prose,
    RecordPage,
    Section,
    Table,
    Tone,
    Words,
    heads,
)
from fireassay.reports.pages.profile import launch_lines
from fireassay.reports.view import Cell as DimensionCell
from fireassay.reports.view import Column, Fact, LaunchRow, MetricRow, View
from fireassay.reports.words import DIMENSION_TITLES, WHOLE
from fireassay.verdict.types import DIMENSIONS, HOLDS, RULE_WORDS

SEVERITIES: Final[dict[str, Tone]] = {"invalid": "void", "fail": "bad", "warning": "open", "note": "absent"}
SIGNS: Final = {"invalid": "!", "warning": "!", "note": "i"}
ANSWERS: Final[dict[str, Tone]] = {"kept": "good", "not kept": "bad", "in part": "open", "not applicable": "absent"}
LAYERS: Final[dict[str, Tone]] = {"pass": "good", "fail": "bad", "not run": "absent", "advice": "plain"}
MANY: Final = 4  # configurations; with more, a status expands to its reason
PROFILE_ROWS: Final = 5  # per list of kernels and operators
Sections = tuple[Section, ...]


def heading(view: View) -> str:
    """What the record is about: the script, unless the record was given a name of its own."""
    script = view.measured.experiment.workload.script.rpartition("/")[2]
    return script if script == f"{view.name}.py" else view.name


def page(view: View) -> Page:
    """The page of a judged record."""
    sections: Callable[[View], Sections] = catalog.part("kinds", view.kind.name, "show", "page")
    answer: Callable[[View], Answer] | None = catalog.part("kinds", view.kind.name, "show", "answer", None)
    made = answer(view) if answer is not None else None
    cost = f" {view.kind.own_cost}: {'; '.join(grouping.costs(view))}." if view.kind.chooses else ""
    return Page(
        title=heading(view),
        mark=Mark(word=view.word, tone=TONES[view.status]),
        meaning=view.meaning,
        lead=view.sentence,
        about=(f"Record {view.record}: {view.state}, {view.seal_words}.",),
        sections=sections(view),
        answer=replace(made, next=tuple(runnable(view, step) for step in made.next)) if made else None,
        footer=(
            (
                f"Intervals: {view.confidence} confidence, the {view.kind.unit} is the unit. "
                f"Numbers have as many digits as their intervals support.{cost}"
            ),
            "Made from the record alone by assay; rebuild it at any time with assay report.",
        ),
        properties={
            "generator": f"assay {view.assay_version}",
            "created": view.created,
            "record": view.record,
            "sentence": view.sentence,
            **({"digest": view.seal} if view.seal else {}),
            "comment": f"made by assay {view.assay_version} from record {view.record}; do not edit numbers by hand",
        },
    )


# ---- the verdict -----------------------------------------------------------------------------------------------------


def dimensions(view: View, reasons: tuple[Bullet, ...] | None = None) -> Section:
    """The status of every configuration in every dimension."""
    table = Table(
        name="dimensions",
        heads=heads("Configuration", *(DIMENSION_TITLES[d] for d in view.dimensions)),
        rows=tuple((row.column.label, *(_mark(row.cells[d]) for d in view.dimensions)) for row in view.vector),
        explained=not view.kind.sends_requests or len(view.columns) <= MANY,
        reasons=_reasons(view) if reasons is None else reasons,
    )
    return Section(key="vector", title=view.dimensions_title, content=(table,))


def _mark(cell: DimensionCell) -> Mark:
    return Mark(word=cell.word, tone=TONES[cell.status], why=cell.sentence)


def _reasons(view: View) -> tuple[Bullet, ...]:
    """Reasons for everything that did not pass; configurations with a common reason are grouped."""
    shared: dict[tuple[str, str, str, str], list[str]] = {}
    for row in view.vector:
        for dimension in view.dimensions:
            if (cell := row.cells[dimension]).status not in HOLDS:
                shared.setdefault((dimension, cell.status, cell.word, cell.sentence), []).append(row.column.key)
    return tuple(reason(view, dimension, status, word, sentence, keys) for (dimension, status, word, sentence), keys in shared.items())


def reason(view: View, dimension: str, status: str, word: str, sentence: str, keys: Sequence[str]) -> Bullet:
    """Why a dimension did not pass at some configurations."""
    where = f"{grouping.places(view, keys)}, {DIMENSION_TITLES[dimension].lower()}"
    return Bullet(mark=Mark(word=word, tone=TONES[status]), where=where, text=sentence)


def layers(view: View) -> Sections:
    """Does training on several workers compute the same as on one?"""
    if not view.shown_layers:
        return ()
    rows = tuple((row.label, row.title, Mark(word=row.state, tone=LAYERS[row.state]), row.sentence) for row in view.shown_layers)
    table = Table(name="layers", heads=heads("Configuration", "Layer", "State", "Evidence"), rows=rows)
    question = "Do several workers compute the same as one?"
    return (Section(key="layers", title="Correctness by layer", question=question, content=(table,)),)


def recommendation(view: View) -> Section:
    """The recommended configurations, and why."""
    items = tuple(Bullet(title=pick.goal, where=pick.label, text=pick.sentence) for pick in view.recommendations)
    return Section(
        key="recommendation", title="Recommendation", half=True, content=(Bullets(items=items, empty="Nothing can be recommended."),)
    )


def gates(view: View) -> Section:
    """All gates, one line per gate and status."""
    items = tuple(
        _with_statements(Bullet(mark=counted(view, gate.status), title=gate.gate, text=""), gate.told) for gate in grouping.gates(view)
    )
    return Section(key="gates", title="Gates", half=True, content=(Bullets(items=items, empty="No gate was requested."),))


def findings(view: View) -> Section:
    """Findings of the audits, each rule once per severity and remedy."""
    items = tuple(
        _with_statements(
            Bullet(
                mark=Mark(word=group.severity, tone=SEVERITIES[group.severity], sign=SIGNS.get(group.severity, "")),
                title=RULE_WORDS.get(group.rule, group.rule),
                text="",
                todo=group.remedy,
            ),
            group.told,
        )
        for group in grouping.findings(view)
    )
    return Section(key="findings", title="Findings", content=(Bullets(items=items, empty="None: every check passed."),))


def _with_statements(item: Bullet, statements: Sequence[grouping.Told]) -> Bullet:
    first, *rest = statements
    return replace(item, where=first.where, text=first.sentence, more=tuple((statement.where, statement.sentence) for statement in rest))


# ---- numbers ---------------------------------------------------------------------------------------------------------


def numbers(view: View, *, opens: bool = False) -> Section:
    """The primary metrics side by side."""
    rows = view.primary
    blocks: Blocks = (metric_table(view, "primary", rows, opens=opens, reasons=True),) if rows else (Prose(text="No metric was computed."),)
    return Section(key="numbers", title="Numbers", content=blocks)


def titled(tables: Sequence[Table]) -> Blocks:
    """Tables, with titles if there are several."""
    return tuple(tables) if len(tables) > 1 else tuple(replace(table, title="") for table in tables)


def metric_table(
    view: View,
    name: str,
    rows: Sequence[MetricRow],
    *,
    title: str = "",
    group: str | None = None,
    opens: bool = True,
    reasons: bool = False,
) -> Table:
    """One line per metric, one column per configuration."""
    columns = _columns(view, rows, group)
    return Table(
        name=name,
        title=title,
        heads=heads("Metric", *(head for _, head in columns)),
        rows=tuple(_metric(row, columns, opens=opens) for row in rows),
        opens=opens,
        reasons=_absences(view, rows) if reasons else (),
    )


def _columns(view: View, rows: Sequence[MetricRow], group: str | None) -> tuple[tuple[str, str], ...]:
    """(key, head) of a table's columns; the whole experiment is one only if a metric has both kinds of value.

    `group`: only loads of this engine and scenario.
    """
    chosen = [column for column in view.columns if group in (None, column.group) and _used(column, rows)]
    keys = [(column.key, column.label if group is None else column.brief) for column in chosen]
    whole = [(ALL, WHOLE)] if not keys or any(ALL in row.cells and len(row.cells) > 1 for row in rows) else []
    return (*keys, *whole)


def _used(column: Column, rows: Sequence[MetricRow]) -> bool:
    return any(column.key in row.cells for row in rows)


def _metric(row: MetricRow, columns: Sequence[tuple[str, str]], *, opens: bool) -> tuple[Cell, ...]:
    formula = f"{row.formula}. Unit {row.unit}, {row.better} is better."
    name: Cell = Words(text=row.title, title=row.name, fold=formula) if opens else row.title
    keys = [ALL] if list(row.cells) == [ALL] else [key for key, _ in columns]
    return (name, *(Number(shown=row.cells[key], extra=row.word(key)) if key in row.cells else None for key in keys))


def _absences(view: View, rows: Sequence[MetricRow]) -> tuple[Bullet, ...]:
    """Reasons for missing numbers, each once."""
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for key, shown in row.cells.items():
            if not shown.measured and ALL not in row.cells:
                reasons.setdefault((row.title, shown.text, shown.note), []).append(view.label(key))
    everywhere = count(len(view.columns), "configurations")
    return tuple(
        Bullet(text=f"{title}, {text}: {note} ({', '.join(where) if len(where) < len(view.columns) else everywhere})")
        for (title, text, note), where in reasons.items()
    )


def metrics(view: View) -> Sections:
    """All metrics by dimension, then those defined by other tools."""
    sections = tuple(
        Section(
            key=f"metrics-{dimension}",
            title=DIMENSION_TITLES[dimension],
            question=view.questions[dimension],
            depth="detail",
            content=partial(_of_dimension, view, dimension),
        )
        for dimension in view.dimensions
    )
    if not view.of_tools:
        return sections
    intro = Prose(
        text="Computed from this record as those tools compute them, to reproduce a number from elsewhere. "
        "None of them starts at the due time of a request.",
        weight="quiet",
    )
    title = "Other tools' definitions of the same quantities"
    tools = Section(
        key="tools", title=title, depth="detail", content=lambda: (intro, *_by_group(view, "tools", view.of_tools, closed=True))
    )
    return (*sections, tools)


def _of_dimension(view: View, dimension: str) -> Blocks:
    rows = view.of_dimension(dimension)
    if not rows:
        return (Prose(text="not measured: no metric of this dimension", weight="quiet"),)
    if view.kind.sends_requests:
        return _by_group(view, dimension, rows)
    return (metric_table(view, dimension, rows),)


def _by_group(view: View, name: str, rows: Sequence[MetricRow], *, closed: bool = False) -> Blocks:
    """One table per engine and scenario; metrics measured nowhere in one list."""
    known, unknown = [row for row in rows if row.known], [row for row in rows if not row.known]
    blocks: list[Block] = []
    for index, group in enumerate(view.groups if known else ()):
        several = len(view.groups) > 1
        table = metric_table(view, f"{name}-{index}", known, title=group if several else "", group=group if several else None)
        folded = count(len(known), "metrics") if several or closed else ""
        blocks.append(replace(table, folded=folded, opened=index == 0 and not closed))
    if unknown:
        blocks.append(Bullets(items=tuple(Bullet(text=line) for line in grouping.absences(view, unknown))))
    return tuple(blocks)


def charts(view: View) -> Section:
    """All charts of the record."""

    def drawn() -> Blocks:
        from fireassay.reports.charts.of_view import charts_of

        everything = view.dimensions == DIMENSIONS  # omit what was not requested
        return tuple(chart for chart in charts_of(view) if everything or not chart.missing)

    return Section(key="charts", title="Charts", depth="appendix", content=drawn)


# ---- how it was measured ---------------------------------------------------------------------------------------------


def how(view: View, columns: Sequence[tuple[str, Callable[[LaunchRow], Cell]]] = ()) -> Sections:
    """Launches, environment, conditions and methods; `columns` as of `launches`."""
    return (launches(view, columns), *environment(view), conditions(view), methods(view))


def imported(view: View) -> Sections:
    """The origin of an imported record, and the values that its program reported."""
    if not view.foreign:
        return ()
    intro = Prose(
        text="Another program made these measurements. Its own results are shown next to the numbers computed here from the same requests.",
        weight="quiet",
    )
    return (Section(key="imported", title="Imported", content=(intro, facts(view.foreign))),)


def facts(rows: Iterable[Fact]) -> Facts:
    """Names and texts."""
    return Facts(rows=tuple((fact.name, fact.text) for fact in rows))


def profile(view: View) -> Sections:
    """Results of profiled launches."""
    if not view.profiles:
        return ()
    lines = (Prose(text="\n".join(launch_lines(launch, most=PROFILE_ROWS)), weight="code") for launch in view.profiles)
    question = "What takes the time inside a step? Profiled steps are slower than timed ones."
    return (Section(key="profile", title="Profile", question=question, content=tuple(lines)),)


def launches(view: View, columns: Sequence[tuple[str, Callable[[LaunchRow], Cell]]] = ()) -> Section:
    """Every launch in start order; `columns` of the kind follow the wall time."""
    shown: tuple[tuple[str, Callable[[LaunchRow], Cell]], ...] = (
        ("#", lambda row: row.number),
        ("Configuration", lambda row: row.label),
        ("Round", lambda row: row.block),
        ("Place", lambda row: row.order),
        ("Role", lambda row: row.role),
        ("Status", lambda row: Mark(word=row.status, tone="plain" if row.status == "ok" else "bad")),
        *((("Disturbed", _disturbed),) if any(row.disturbed for row in view.launches) else ()),
        ("Wall", lambda row: row.wall),
        *columns,
        ("Begin (UTC)", lambda row: row.begin_utc),
        ("Reason", lambda row: row.reason),
    )
    table = Table(
        name="launches",
        heads=heads(*(head for head, _ in shown)),
        rows=tuple(tuple(of(row) for _, of in shown) for row in view.launches),
        notes=("Every launch in start order, including failed ones.",),
        anchor="launch",
    )
    return Section(key="launches", title="Launches", depth="detail", content=(table, *dispersion_table(view)))


def _disturbed(row: LaunchRow) -> Cell:
    """The disturbances of the machine during a launch; a repeated one says so in its reason."""
    why = "; ".join(row.disturbed.values()) if row.status == "ok" else ""
    return Mark(word=row.disturbances, tone="open", sign="~", why=why) if row.disturbed else Words(text="no", tone="absent")


TRAINING_COLUMNS: Final[tuple[tuple[str, Callable[[LaunchRow], Cell]], ...]] = (
    ("Steps", lambda row: row.steps),
    ("Warm-up", lambda row: row.warmup),
    ("Median step", lambda row: row.step),
    ("Restarts", lambda row: row.restarts),
)


def environment(view: View) -> Sections:
    """Changes during the experiment, then every fact."""
    total, changed = sum(len(group.rows) for group in view.environment), view.changes
    if not total:
        return (Section(key="environment", title="Environment", depth="detail", content=(Prose(text="Not recorded."),)),)
    rows = tuple((f"{group.name}.{row.key}", row.before, row.after) for group in view.environment for row in group.rows if row.changed)
    summary = Prose(text=f"{total - changed} of {total} facts stayed the same.", weight="quiet")
    table = Table(name="changed", heads=heads("Changed", "Before", "After"), rows=rows)
    blocks: Blocks = (table, summary) if rows else (Prose(text="Nothing changed during the experiment."), summary)
    return (
        Section(key="environment", title="Environment", depth="detail", content=blocks),
        Section(key="facts", title="All facts", depth="appendix", content=lambda: tuple(_groups(view))),
    )


def _groups(view: View) -> Iterable[Block]:
    for index, group in enumerate(view.environment):
        summary = f"{count(len(group.rows), 'facts')}{f', {group.changed} changed' if group.changed else ''}"
        rows = tuple((row.key, row.before, row.after if row.changed else "") for row in group.rows)
        yield Table(name=f"facts-{index}", title=group.name, heads=heads("Fact", "Before", "Changed to"), rows=rows, folded=summary)


def conditions(view: View) -> Section:
    """Under which conditions the numbers hold."""
    return Section(key="conditions", title="Conditions", depth="detail", content=(facts(view.conditions),))


def methods(view: View) -> Section:
    """The twelve rules, and the artifact form."""

    def made() -> Blocks:
        intro = Prose(text="The twelve rules of Hoefler and Belli (SC'15), answered by what this record shows; the wording is ours.")
        items = tuple(
            Bullet(
                mark=Mark(word=rule.answer, tone=ANSWERS[rule.answer]),
                title=f"{rule.number}. {rule.demand}",
                text=f"{rule.evidence[:1].upper()}{rule.evidence[1:]}",
                todo=rule.remedy,
                folded=True,
            )
            for rule in view.rules
        )
        return (intro, Bullets(items=items), artifact(view))

    return Section(key="methods", title="Method", depth="appendix", content=made)


def artifact(view: View) -> Table:
    """The fields of a paper's artifact form, as far as the record provides them."""
    rows = tuple((field.name, Words(text=field.text, tone="plain" if field.known else "absent")) for field in view.artifact)
    return Table(
        name="artifact", title="For an artifact form", heads=heads("Field", "Answer"), rows=rows, folded=count(len(rows), "fields")
    )


PAGE = RecordPage(name="record", summary="the verdict and its numbers", page=page, writer="terminal")
