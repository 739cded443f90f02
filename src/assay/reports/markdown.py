"""How does a verdict go into an issue, a pull request or a wiki?  As GitHub-flavoured Markdown with full tables."""

from __future__ import annotations

from assay.estimates.format import Shown
from assay.printable import printable
from assay.reports import grouping
from assay.reports.base import Report
from assay.reports.markup import plain, table
from assay.reports.rows import profile
from assay.reports.view import DIMENSION_QUESTIONS, DIMENSION_TITLES, MetricRow, View


def render(view: View) -> str:
    """The whole report as Markdown."""
    if view.timing:
        parts = (_headline, _numbers, _facts, _findings, _launches, _environment, _conditions)
        return "\n\n".join(part(view) for part in parts) + "\n"
    if view.serving is not None:
        return _of_load(view)
    if view.of_links:
        return _of_collectives(view)
    sections = (
        _headline(view),
        _vector(view),
        _layers(view),
        _numbers(view),
        _gates(view),
        _profiles(view),
        _findings(view),
        _recommendations(view),
        *(_dimension(view, dimension) for dimension in view.dimensions),
        _launches(view),
        _environment(view),
        _conditions(view),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _of_load(view: View) -> str:
    from assay.reports import load_markdown as load

    sections = (
        _headline(view),
        _vector(view),
        load.numbers(view),
        load.details(view),
        load.gates(view),
        _imported(view),
        load.findings(view),
        _recommendations(view),
        load.metrics(view),
        load.launches(view),
        _environment(view),
        _conditions(view),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _of_collectives(view: View) -> str:
    from assay.reports import load_markdown as load

    sections = (
        _headline(view),
        _vector(view),
        load.of_collectives(view),
        _imported(view),
        _findings(view),
        _launches(view),
        _environment(view),
        _conditions(view),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _headline(view: View) -> str:
    return f"# {plain(view.name)}: {view.word.upper()}\n\n> {plain(view.sentence)}"


def _vector(view: View) -> str:
    titles = [DIMENSION_TITLES[dimension] for dimension in view.dimensions]
    rows = [(row.column.label, *(f"{row.cells[d].word.upper()}: {row.cells[d].sentence}" for d in view.dimensions)) for row in view.vector]
    return f"## {view.dimensions_title}\n\n" + table(("Configuration", *titles), rows)


def _layers(view: View) -> str:
    """The four layers of a training on several workers."""
    rows = [(row.label, row.title, row.state, row.sentence) for row in view.shown_layers]
    return "## Correctness by layer\n\n" + table(("Configuration", "Layer", "State", "Evidence"), rows) if rows else ""


def _facts(view: View) -> str:
    return "## What they rest on\n\n" + table(("What", "Value"), [(fact.name, fact.text) for fact in view.timing])


def _profiles(view: View) -> str:
    """What profiled launches say, as the lines that `assay profile` prints."""
    lines = [printable(line).replace("`", "'") for one in view.profiles for line in profile.launch_lines(one)]
    return "## Profile\n\n```text\n" + "\n".join(lines) + "\n```" if lines else ""


def _imported(view: View) -> str:
    """Where a record of another program came from, and what that program reported."""
    rows = [(fact.name, fact.text) for fact in view.foreign]
    return "## Imported\n\n" + table(("What", "Value"), rows) if rows else ""


def _numbers(view: View) -> str:
    return (
        f"## Numbers\n\n{_metric_table(view, view.primary)}\n\nIntervals in brackets: {view.confidence} confidence; the launch is the unit."
    )


def _metric_table(view: View, rows: tuple[MetricRow, ...]) -> str:
    """Configurations side by side; a value of the whole experiment has its own column if there is one."""
    keys = [*(column.key for column in view.columns)]
    others = dict.fromkeys(key for row in rows for key in row.cells if key not in keys)
    keys += others
    head = ("Metric", *(view.label(key) for key in keys))
    return table(head, [(row.title, *(_cell(row.cells.get(key)) for key in keys)) for row in rows])


def _cell(shown: Shown | None) -> str:
    return "" if shown is None else shown.full


def _gates(view: View) -> str:
    if not view.gates:
        return "## Gates\n\nNone were asked for."
    rows = [(gate.word.upper(), gate.label, gate.gate, gate.sentence) for gate in view.gates]
    return "## Gates\n\n" + table(("Status", "Configuration", "Gate", "Evidence"), rows)


def _findings(view: View) -> str:
    if not view.findings:
        return "## Findings\n\nNone: every audit passed."
    rows = [(found.severity, found.rule, found.where, found.evidence, found.remedy) for found in view.findings]
    return "## Findings\n\n" + table(("Severity", "Rule", "Where", "Evidence", "To do"), rows)


def _recommendations(view: View) -> str:
    if not view.recommendations:
        return ""
    rows = [(pick.goal, pick.label, pick.sentence) for pick in view.recommendations]
    return "## Recommendation\n\n" + table(("Goal", "Configuration", "Why"), rows)


def _dimension(view: View, dimension: str) -> str:
    rows = view.of_dimension(dimension)
    body = _metric_table(view, rows) if rows else "Not measured."
    return f"## {DIMENSION_TITLES[dimension]}\n\n{DIMENSION_QUESTIONS[dimension]}\n\n{body}"


def _launches(view: View) -> str:
    if view.timing:
        short = [(str(r.number), str(r.block), r.status, r.wall, r.reason) for r in view.launches]
        return "## Launches\n\n" + table(("Launch", "Block", "Status", "Wall", "Reason"), short)
    rows = [(str(r.number), r.label, str(r.block), r.role, r.status, r.wall, str(r.steps), r.step, r.reason) for r in view.launches]
    head = ("Launch", "Configuration", "Block", "Role", "Status", "Wall", "Steps", "Median step", "Reason")
    return "## Launches\n\n" + table(head, rows)


def _environment(view: View) -> str:
    """Only what changed during the experiment, and the count of the rest: the whole is in the record."""
    changed = [(f"{group.name}.{row.key}", row.before, row.after) for group in view.environment for row in group.rows if row.changed]
    total = sum(len(group.rows) for group in view.environment)
    if not total:
        return "## Environment\n\nNot recorded."
    body = table(("Changed", "Before", "After"), changed) if changed else "Nothing changed during the experiment."
    return f"## Environment\n\n{body}\n\n{total - len(changed)} of {total} facts stayed the same."


def _conditions(view: View) -> str:
    overhead = "; ".join(grouping.costs(view))
    rows = [(fact.name, fact.text) for fact in view.conditions]
    rows += [] if view.timing or view.of_links else [("Instrument's own cost" if view.serving is None else "Client", overhead)]
    return "## Conditions\n\n" + table(("What", "Value"), rows)


REPORT = Report(name="markdown", suffix=".md", summary="tables for an issue, a pull request or a wiki", render=render)
