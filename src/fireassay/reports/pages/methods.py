"""How was it measured?

The twelve rules, the artifact form, and how each number was made.
"""

from __future__ import annotations

from fireassay.estimates.estimate import Estimate
from fireassay.reports.answering import TONES
from fireassay.reports.page import Mark, Page, Prose, RecordPage, Section, Table, heads
from fireassay.reports.pages.record import ANSWERS, artifact
from fireassay.reports.view import View

HEAD = (
    'Each of the twelve rules of Hoefler and Belli ("Scientific Benchmarking of Parallel Computing Systems", SC\'15) is answered by what '
    "this record shows;  the wording of the rules is ours."
)


def page(view: View) -> Page:
    """The methods page."""
    return Page(
        title=f"How {view.name} was measured",
        mark=Mark(word=view.word, tone=TONES[view.status]),
        lead=_score(view),
        about=(HEAD,),
        sections=(
            Section(key="rules", title="Twelve rules", content=(_rules(view),)),
            Section(key="artifact", title="For an artifact form", content=(artifact(view),)),
            Section(key="made", title="How each number was made", depth="detail", content=(_numbers(view),)),
        ),
    )


def _score(view: View) -> str:
    answers = [rule.answer for rule in view.rules]
    counts = [f"{answers.count(answer)} {answer}" for answer in dict.fromkeys(answers)]
    return f"Record {view.record} ({view.word}): {', '.join(counts)}."


def _rules(view: View) -> Table:
    rows = tuple(
        (rule.number, rule.demand, Mark(word=rule.answer, tone=ANSWERS[rule.answer]), rule.evidence, rule.remedy) for rule in view.rules
    )
    return Table(name="rules", heads=heads("#", "Rule", "Answer", "Evidence", "To do"), rows=rows)


def _numbers(view: View) -> Table | Prose:
    rows = tuple(
        (row.title, view.label(key), shown.text, shown.value.method)
        for row in view.metrics
        for key, shown in row.cells.items()
        if isinstance(shown.value, Estimate)
    )
    return (
        Table(name="made", heads=heads("Metric", "Where", "Value", "Method"), rows=rows) if rows else Prose(text="No number was measured.")
    )


PAGE = RecordPage(name="methods", summary="twelve rules and an artifact form, filled in by the record", page=page, writer="markdown")
