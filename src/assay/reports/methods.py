"""How honestly was it measured?  The twelve rules as a filled-in checklist, and what a paper's artifact form asks for."""

from __future__ import annotations

from assay.reports.base import Report
from assay.reports.markup import plain, table
from assay.reports.view import View

HEAD = """\
Each of the twelve rules of Hoefler and Belli ("Scientific Benchmarking of Parallel Computing Systems", SC'15) is
answered by what was done in this record; the wording of the rules is ours."""


def render(view: View) -> str:
    """The honest-methods page as Markdown."""
    parts = [
        f"# How {plain(view.name)} was measured",
        HEAD,
        _score(view),
        "## Twelve rules",
        _rules(view),
        "## For an artifact form",
        _artifact(view),
        "## How each number was made",
        _numbers(view),
    ]
    return "\n\n".join(parts) + "\n"


def _score(view: View) -> str:
    answers = [rule.answer for rule in view.rules]
    told = [f"{answers.count(answer)} {answer}" for answer in dict.fromkeys(answers)]
    return f"Record {plain(view.record)} ({view.word}): {', '.join(told)}."


def _rules(view: View) -> str:
    rows = [(str(rule.number), rule.demand, rule.answer.upper(), rule.evidence, rule.mend) for rule in view.rules]
    return table(("#", "Rule", "Answer", "Evidence", "To do"), rows)


def _artifact(view: View) -> str:
    return table(("Field", "Answer"), [(field.name, field.text) for field in view.artifact])


def _numbers(view: View) -> str:
    rows = [
        (row.title, view.label(key), shown.text, shown.value.method)
        for row in view.metrics
        for key, shown in row.cells.items()
        if shown.measured and hasattr(shown.value, "method")
    ]
    return table(("Metric", "Where", "Value", "Method"), rows) if rows else "No number was measured."


REPORT = Report(
    name="methods",
    suffix="-methods.md",
    summary="the honest-methods page: twelve rules and an artifact form, filled in by the record",
    render=render,
)
