"""What is shown of an evaluation?  On one screen held or not, and every score; on the page how it was done.

An HTML page asks: held or not, how good, for whom, which items, and at what cost; a paper gets every score with how its interval was made.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, show
from fireassay.frames.evaluation.item_scores import identity, requested, tasks
from fireassay.frames.evaluation.steps import steps_of
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation import image_tables, step_tables, tables
from fireassay.kinds.evaluation.choice import choice_words
from fireassay.kinds.evaluation.evaluation_rows import rows
from fireassay.kinds.evaluation.gates import change_words, margin_words
from fireassay.kinds.evaluation.groups import group_words
from fireassay.kinds.evaluation.metrics import NO_ANSWER
from fireassay.kinds.evaluation.perturbed import DROP, ROBUSTNESS
from fireassay.kinds.evaluation.recorded import reported
from fireassay.kinds.evaluation.tables import SAID, WORSE, of
from fireassay.metrics.cost import COST
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from fireassay.reports import answering
from fireassay.reports.build_view import KindView, contradictions
from fireassay.reports.build_view import requested as requested_conditions
from fireassay.reports.charts.evaluation import power, reliability
from fireassay.reports.charts.model import Interval, intervals
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.charts.step_curve import step_curve
from fireassay.reports.charts.trade_offs import quality_price
from fireassay.reports.cost_line import cost_line
from fireassay.reports.evaluation_view import EvaluationRows, HeldRow
from fireassay.reports.page import Answer, Cell, Chart, Head, Line, Next, Section, Table, Words
from fireassay.reports.pages import questions, record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import Paper, results, sentence
from fireassay.reports.view import Column, Fact, LaunchRow, MetricRow, View
from fireassay.spec.plan import Configuration
from fireassay.verdict.comparison.tested import TEST
from fireassay.verdict.judge import Judgement

BESIDE: Final = (NO_ANSWER.name, OUTPUT_THROUGHPUT.name, REQUEST_THROUGHPUT.name, COST.name)  # of the same requests
MAX_CHANGES: Final = 3  # in a headline
AGAIN_WITH: Final = re.compile(r"(score again) with (--extract \S+)")  # a remedy that is a flag of `assay score`
# the remedy of `judged_without_gold`
LABEL: Final = re.compile(
    r"(have people label about \S+ items) \(assay rate gold --record RECORD ([^)]+)\), then score again with --gold (\S+)"
)
CHANGED: Final = "Which items changed?"  # a section
MAX_CURVES: Final = 2  # sides whose choice among candidates is shown first
MAX_NAMED: Final = 2  # other sides with the same decision
MAX_REPORTED: Final = 60  # reported numbers that are shown
MAX_TASKS: Final = 3  # named with their conditions; the rest is a number
DIGEST: Final = 12  # digits of a digest that identifies items
COLUMNS: Final = record.TRAINING_COLUMNS


def answer(view: View) -> Answer:
    """Status, the decision, the shares without an answer."""
    reliable = (
        () if view.status == "INVALID" else (_reliability(view), answering.doubts(view, stated=("grouped_items", "graded_otherwise")))
    )
    paid = cost_line(view, view.columns[-1].key, of="pass")
    lines = tuple(line for line in (*_made(view), paid, *reliable) if line is not None)
    worst = _deciding(view)
    return Answer(
        mark=answering.mark(view.status),
        headline=_headline(view),
        evidence=_unasked(view),
        tiles=answering.tiles(view, worst.column if worst is not None else ""),
        lines=lines,
        next=_next(view),
        record=answering.record_line(view, "over items"),
    )


def _raters(rows: EvaluationRows) -> Iterator[Line]:
    """Which people, and which model, gave the scores."""
    for label, text, target in (("people", rows.people, "ratings"), ("judge", rows.judge, "metrics-reliability")):
        if text:
            yield Line(label=label, text=text, target=target)


def _made(view: View) -> Iterator[Line]:
    """What the scores take for granted: how answers were found, and that items stand alone."""
    rows, worst = of(view), _deciding(view)
    if worst is not None and worst.tested:
        yield Line(label="t-test", text=worst.tested.removeprefix(f"{TEST} "), target="held")
    if changed := _changed(view):
        yield Line(label="robustness", text=changed, target="metrics-correctness")
    yield from _raters(rows)
    if rows.extractor:
        yield Line(label="extractor", text=rows.extractor, target="record")
    if rows.unscaled:
        yield Line(
            label="scale", text=f"none declared for {rows.unscaled}: no bound relies on one (--score-scale LOW,HIGH)", target="record"
        )
    if said := group_words(rows.groups):
        yield Line(label="subgroups", text=said, target="groups")
    if rows.held and step_tables.of_candidates(view):  # else the headline
        yield Line(label="best of n", text=_first(step_tables.sentences(view)), target="steps")
    if rows.choices:
        yield Line(label="choice", text=_first(choice_words(rows.choices)), target="choices")
    if rows.pooled:
        yield Line(label="pooled", text=rows.pooled, target="record")
    if rows.independence:
        yield Line(label="items", text=rows.independence, target="findings")
    if rows.unused:
        yield Line(label="not used", text=rows.unused, target="findings")


def _first(sentences: Iterable[str]) -> str:
    """Those of the first sides, and how many more there are."""
    every = list(sentences)
    more = f"; {count(len(every) - MAX_CURVES, 'more sides')} below" if len(every) > MAX_CURVES else ""
    return f"{'; '.join(every[:MAX_CURVES])}{more}"


def _changed(view: View) -> str:
    """ "typos -12.0 points [-20.1, -4.2], lower case ...; worst of all 0.41 [...]": of the side that loses most; the score pools all variants."""
    worst = {column.key: view.estimate(ROBUSTNESS, column.key) for column in view.columns}
    known = {key: value for key, value in worst.items() if value is not None}
    if not known:
        return ""
    key = min(known, key=lambda each: known[each].value)
    drops = {row.name.removeprefix(DROP): view.estimate(row.name, key) for row in view.metrics if row.name.startswith(DROP)}
    changes = [f"{name.replace('_', ' ')} {change_words(drop, False)}" for name, drop in drops.items() if drop is not None]
    side = f"{next(column.label for column in view.columns if column.key == key)}: " if len(view.columns) > 1 else ""
    pooled = "the score above is over items as they are and changed"
    return f"{side}{', '.join(changes)}, against items as they are; worst variant of each item {show(known[key]).full}; {pooled}"


def _headline(view: View) -> str:
    """The decision with its number; without a margin the changes, of one file the scores."""
    worst = _deciding(view)
    if worst is None and view.status in ("MEASURED", "INCONCLUSIVE") and step_tables.compared(view):
        return step_tables.headline(view)
    if view.status == "MEASURED" and worst is not None:
        return _changes(view)
    if worst is None or worst.status != view.status or not isinstance(worst.change, Estimate):  # something else decides
        return answering.verdict_words(view)
    several = f" in {worst.task}" if len({row.task for row in of(view).held}) > 1 else ""
    told = (
        f"{worst.metric} {change_words(worst.change, worst.share)}, one-sided bounds, {margin_words(of(view).margin or 0.0, worst.share)}"
    )
    why = f"; {worst.why}" if worst.why else ""
    worse = f" ({WORSE[worst.status]})" if worst.worse_within else ""
    items = count(worst.items, "items")
    return f"{worst.column}: quality {SAID.get(worst.status, 'undecided')}{worse}{several}: {told} over {items}{why}{_too(view, worst)}"


def _changes(view: View) -> str:
    """ "int8 against bf16: Exact match -5.0 points [-6.4, -3.7], 1,319 items, 88 worse, 22 better"; the largest losses first."""
    rows = sorted(of(view).held, key=_low)
    several = len({row.task for row in rows}) > 1
    base = next(column.label for column in view.columns if column.key == view.base)
    told = [
        f"{row.column} against {base}{f' in {row.task}' if several else ''}: {row.metric} {_in_points(row)}, "
        f"{count(row.items, 'items')}, {row.worse:,} worse, {row.better:,} better"
        for row in rows[:MAX_CHANGES]
    ]
    more = f"; {count(len(rows) - MAX_CHANGES, 'more changes')} below" if len(rows) > MAX_CHANGES else ""
    return f"{'; '.join(told)}{more}"


def _in_points(row: HeldRow) -> str:
    """A change of a share in points, of another score as it is."""
    return change_words(row.change, row.share) if isinstance(row.change, Estimate) else row.change.detail


def _unasked(view: View) -> str:
    """Which flag asks whether the change is acceptable."""
    if view.status != "MEASURED" or not of(view).held or _with_margin(view) or _unlabelled(view):
        return ""
    return f"no margin was given: is that acceptable? --margin{' 0.02' if all(row.share for row in of(view).held) else ''}"


def _too(view: View, worst: HeldRow) -> str:
    """The other sides with the same decision."""
    others = dict.fromkeys(row.column for row in of(view).held if row.status == worst.status and row.column != worst.column)
    return f"; {', '.join(others) if len(others) <= MAX_NAMED else count(len(others), 'other sides')} too" if others else ""


def _deciding(view: View) -> HeldRow | None:
    """The decision that decides the record: of several the one with the lowest bound."""
    rows = of(view).held
    return min([row for row in rows if row.status == view.status] or rows[:1], key=_low, default=None)


def _low(row: HeldRow) -> float:
    return row.change.low if isinstance(row.change, Estimate) else math.inf


def _next(view: View) -> tuple[Next, ...]:
    """What decides; then, of answers that can be scored again, the groups that were taken as items."""
    steps = tuple(made for step in _decisive(view) for made in _labelling(view, step) or (_as_command(view, step),))
    field = of(view).grouping
    command = answering.scored(view, "--cluster", field) if field and view.status != "INVALID" else ""
    if not command:
        return steps
    grouped = Next(reason=f"if the items of one {field} share anything, take it as the unit", command=command)
    return (*(step for step in steps if "--cluster" not in step.reason), grouped)


def _labelling(view: View, step: Next) -> tuple[Next, ...]:
    """Of a judge without labels the commands that make some, and score with them; none of another remedy."""
    found = LABEL.fullmatch(step.reason)
    if found is None:
        return ()
    again = answering.scored(view, "--gold", found[3])
    reason = found[1] if again else f"{found[1]}, then measure again with --gold {found[3]}"
    made = Next(reason=reason, command=f"assay rate gold --record {answering.named(view)} {found[2]}")
    return (made, Next(reason="then score again", command=again)) if again else (made,)


def _as_command(view: View, step: Next) -> Next:
    """A remedy that names a flag of `assay score` as the whole command."""
    found = AGAIN_WITH.fullmatch(step.reason)
    command = answering.scored(view, *found[2].split()) if found else ""
    if found and command:
        return Next(reason=found[1], command=command)
    return Next(reason=f"{step.reason}; not possible from here: {view.again.gone}") if found and view.again.gone else step


def _decisive(view: View) -> tuple[Next, ...]:
    """INVALID or FAIL: what the finding asks for, else the items that got worse.  Undecided: how many items would decide."""
    if view.status in ("INVALID", "FAIL") and (remedies := answering.remedies(view, ("invalid", "fail"))):
        return remedies
    worst, knee = _deciding(view), step_tables.deciding(view)
    if worst is None and knee is not None and knee.status == "INCONCLUSIVE" and knee.more:
        return (Next(reason=f"{count(knee.items, 'items')} now; {knee.more}"),)
    if worst is not None and worst.status == "INCONCLUSIVE" and worst.more:
        return (Next(reason=f"{count(worst.items, 'items')} now; {worst.more}"),)
    if view.status == "FAIL" and worst is not None and worst.worse:
        return (
            Next(
                reason=f"look at the {count(worst.worse, 'items')} that got worse of {worst.items:,}; the HTML page lists them under “{CHANGED}”"
            ),
        )
    if view.status == "MEASURED" and (remedy := _unlabelled(view)):
        return (Next(reason=remedy),)
    if command := _with_margin(view):
        return (Next(reason="no margin was given; to ask whether that is acceptable", command=command),)
    return answering.remedies(view, ("invalid", "fail", "warning"))


def _unlabelled(view: View) -> str:
    """How to make labels of what a model judged alone, without which a margin is INVALID."""
    return next((row.remedy for row in view.findings if row.rule == "judged_without_gold"), "")


def _with_margin(view: View) -> str:
    """The command that asks whether a change of a share is acceptable, where nobody asked; empty if there is none."""
    rows = of(view).held
    if view.status != "MEASURED" or not rows or not all(row.share for row in rows) or _unlabelled(view):
        return ""
    if view.again.record and view.foreign:  # of another program's scores: the record's sides, which are all there is
        sides = sorted((column.key for column in view.columns), key=lambda key: key != view.base)
        return shlex.join(["assay", "compare", view.again.record, *(word for side in sides for word in ("--at", side)), "--margin", "0.02"])
    return answering.scored(view, "--margin", "0.02")


def _reliability(view: View) -> Line | None:
    return answering.dimension_line(view, "reliability")


def brief(view: View) -> tuple[Section, ...]:
    """A row for each side: its scores, and the shares of items that have none; in every state."""
    scores = [row.name for row in view.metrics if row.dimension == "correctness" and row.primary]
    names = [*scores, *(name for name in BESIDE if _measured(view, name))]
    if OUTPUT_THROUGHPUT.name in names:
        names = [name for name in names if name != REQUEST_THROUGHPUT.name]  # requests count where no token is generated
    rows = tuple((Words(text=column.label), *(answering.cell(view, name, column.key) for name in names)) for column in view.columns)
    titles = {row.name: row.title for row in view.metrics}
    heads = (Head(text="answers"), *(Head(text=titles[name]) for name in names))
    table = Table(name="scores", heads=heads, rows=rows, inline=True, notes=tables.standing(view))
    if step_tables.compared(view) and not of(view).held:  # of one engine: its scores are those of its steps
        return tuple(step_tables.brief(view))
    return (Section(key="brief-scores", title="", role="answer", content=(table, *_plot(view))), *step_tables.brief(view))


def _measured(view: View, name: str) -> bool:
    """True if any side has a number."""
    return any(isinstance(view.value(name, column.key), Estimate) for column in view.columns)


def _plot(view: View) -> tuple[Chart, ...]:
    """The change of each task beside the margin; without one the deciding score of each side."""
    if changes := tuple(block for block in tables.forest(view) if isinstance(block, Chart)):
        return changes
    scores = [row for row in view.metrics if row.dimension == "correctness" and row.primary]
    if not scores or len(view.columns) < 2:
        return ()
    row = scores[0]
    cells = [(column, answering.cell(view, row.name, column.key)) for column in view.columns]
    rows = tuple(Interval(name=column.label, number=cell) for column, cell in cells if cell is not None)
    return (intervals(name="score", title=row.title, rows=rows, stub="answers"),) if rows else ()


# ---- the view --------------------------------------------------------------------------------------------------------


def foreign_facts(measured: RecordData) -> Iterator[Fact]:
    """Meanings, settings of each side, what is missing, and what the harness reported beside what its items make."""
    foreign = measured.foreign or {}
    yield from (Fact(name=f"Their {name}", text=str(words)) for name, words in (foreign.get("meanings") or {}).items())
    for side, settings in (foreign.get("settings") or {}).items():
        yield Fact(name=str(side), text=", ".join(f"{name} {words}" for name, words in settings.items()))
    yield from contradictions(foreign)
    for row in reported(measured)[:MAX_REPORTED]:
        beside = "" if row.ours is None else f"; from the items {row.ours:.10g}"
        yield Fact(name=f"{row.name} of {row.task} ({row.configuration})", text=f"{given(row.theirs)} by {foreign.get('title')}{beside}")


def _columns(measured: RecordData) -> tuple[Column, ...]:
    """A configuration is called by the name of its answers."""
    return tuple(
        Column(key=configuration.name, label=_called(measured, configuration), workers=configuration.workers)
        for configuration in measured.varied
    )


def _called(measured: RecordData, configuration: Configuration) -> str:
    """Of a budget: what was sent."""
    steps = steps_of(measured)
    return (
        configuration.target or configuration.name if steps is None or configuration.steps is None else str(steps.sent(configuration.steps))
    )


def _fields(view: View, measured: RecordData, _: Judgement) -> Mapping[str, Any]:
    """Of the load's own numbers, those are shown first that were measured: nobody asked for an objective, a fault or a price.

    Scores come first, the deciding one before the others.
    """
    scores = requested(measured)
    kept = tuple(
        replace(row, primary=row.primary and (row.name in scores or any(isinstance(cell.value, Estimate) for cell in row.cells.values())))
        for row in sorted(view.metrics, key=lambda row: scores.index(row.name) if row.name in scores else len(scores))
    )
    labels = {column.key: column.label for column in view.columns}
    foreign = (*view.foreign, *foreign_facts(measured)) if measured.foreign is not None else ()
    return {"metrics": kept, "evaluation": rows(measured, labels), "foreign": foreign}


def _conditions(measured: RecordData, base: str) -> Mapping[str, str]:
    """What was asked and how it was scored, instead of a script."""
    told = [f"{name}: {_task(facts)}" for name, facts in identity(measured).items()]
    left = f"; {count(len(told) - MAX_TASKS, 'more tasks')}" if len(told) > MAX_TASKS else ""
    asked = f"{'; '.join(told[:MAX_TASKS])}{left}" or ", ".join(tasks(measured))
    return {**requested_conditions(measured, base), "Workload": asked}


def _task(facts: Mapping[str, Any]) -> str:
    """ "200 items, d27ef1ed91b1; extract:whole@2; metric:acc|norm:none"."""
    items, _, digest = str(facts.get("items") or "").partition(", ")
    metrics = facts.get("metrics")
    signatures = metrics.values() if isinstance(metrics, Mapping) else ()
    named = (f"{items}, {digest[:DIGEST]}".strip(", "), facts.get("method"), facts.get("extractor"), *signatures)
    return ", ".join(str(part) for part in named if part)


VIEW = KindView(columns=_columns, conditions=_conditions, fields=_fields)


# ---- the questions of an HTML page -----------------------------------------------------------------------------------


def question_sections(view: View, columns: Sequence[tuple[str, Callable[[LaunchRow], Cell]]]) -> Iterator[Section]:
    """The decision on the first screen, then a section for each question."""
    yield from step_tables.question(view)
    if view.evaluation is not None and view.evaluation.held:
        content, margin = tuple(tables.forest(view)), view.evaluation.margin
        title, asked = ("Changes", "How much did quality change?") if margin is None else ("Held or not", "Was quality held?")
        yield Section(key="held", title=title, question=asked, role="exhibit", content=content)
    yield questions.section(
        "scores",
        "Scores",
        "How good are the answers?",
        lambda: (*tables.score_plots(view), *tables.scores(view)),
        questions.dimension_words(view, "correctness"),
    )
    if tables.of(view).rated:
        yield questions.section("ratings", "Ratings", "How often was each rating given?", lambda: tables.rated(view))
    if tables.of(view).divergence:
        asked = "Does every engine compute what the reference computes?"
        yield questions.section("divergence", "Token by token", asked, lambda: tables.divergence(view))
    if tables.of(view).power:
        yield questions.section("power", "Power", "Which margin can so many items show?", lambda: power(view))
    if tables.of(view).groups:
        shown = (*tables.group_plots(view), *tables.groups(view), *tables.group_decisions(view))
        yield questions.section("groups", "Subgroups", "Are they as good for every subgroup?", lambda: shown)
    if tables.of(view).choices:
        yield questions.section("choices", "Choice", "What does another score say of the choice?", lambda: tables.choices(view))
    yield from image_tables.question_sections(view)
    yield tables.calibration_question(view)
    if len(view.columns) > 1:
        yield questions.section("flips", "Flips", CHANGED, lambda: tables.flips(view))
    yield questions.section(
        "outcomes", "Outcomes", "Was every item answered?", lambda: tables.outcomes(view), questions.dimension_words(view, "reliability")
    )
    trade = quality_price(view)
    if not trade[0].missing:
        yield questions.section("trade", "Quality against speed", "What does quality cost?", lambda: trade)
    for dimension, title, question in (("performance", "Speed", "How fast were the answers?"), ("cost", "Cost", "What did they cost?")):
        yield from questions.of_dimension(view, dimension, title, question)
    yield from questions.closing(view, columns)


# ---- a paper ---------------------------------------------------------------------------------------------------------


def _scores(view: View) -> tuple[MetricRow, ...]:
    """The requested scores; numbers of the same requests have their own sections."""
    return tuple(row for row in view.metrics if row.dimension == "correctness" and row.primary)


def _method(view: View) -> Iterator[str]:
    """How each score and its interval are made, and when quality counts as held."""
    for row in _scores(view):
        value = next((cell.value for cell in row.cells.values() if isinstance(cell.value, Estimate)), None)
        if value is not None:
            yield sentence(f"{row.title}: {value.method}")
    if (margin := of(view).margin) is not None:
        yield (
            "A change is that of the same items at both sides, with one-sided bounds; quality is held if the loss is shown to be smaller than "
            f"the margin of {given(margin)}, fixed beforehand."
        )


def _results(view: View) -> Iterator[str]:
    yield sentence(view.sentence)


PAPER: Final = Paper(workload=("Workload",), method=_method, performance=_results, rows=_scores)


# ---- the page --------------------------------------------------------------------------------------------------------


def page(view: View) -> tuple[Section, ...]:
    """The sections of an evaluation."""
    return (
        record.dimensions(view),
        record.gates(view),
        *step_tables.sections(view),
        Section(key="choices", title="The choice by another score", content=lambda: tables.choices(view)),
        Section(key="scores", title="Scores", content=tables.scores(view)),
        Section(key="held", title="Held or not", content=lambda: tuple(tables.forest(view))),
        Section(key="divergence", title="Token by token", content=lambda: tables.divergence(view)),
        Section(key="groups", title="Subgroups", content=lambda: (*tables.groups(view), *tables.group_decisions(view))),
        *tables.calibration_sections(view),
        Section(key="ratings", title="Ratings", content=lambda: tables.rated(view)),
        Section(key="outcomes", title="Outcomes", content=lambda: tables.outcomes(view), depth="detail"),
        Section(key="flips", title="Items that changed", content=lambda: tables.flips(view)),
        Section(key="worst", title="The worst images", content=lambda: image_tables.worst(view)),
        Section(key="candidates", title="Candidates and the chosen one", content=lambda: image_tables.candidates(view)),
        record.charts(view),
        record.numbers(view, opens=True),
        record.findings(view),
        *record.imported(view),
        *record.how(view),
        *brief(view),
        *question_sections(view, COLUMNS),
        *sheets(view, tables.sheets(view)),
        *results(view, PAPER),
    )


def charts(view: View) -> tuple[Draw, ...]:
    """Those of which something was measured."""
    rows = tables.of(view)
    return (
        *((step_curve,) if rows.knees else ()),
        *((power,) if rows.power else ()),
        *((reliability,) if rows.calibration else ()),
        quality_price,
    )
