"""The honest-methods page: twelve rules, the artifact form, and the method behind every number."""

from __future__ import annotations

from assay.estimates.estimate import Estimate
from assay.reports import html
from assay.reports.markup import plain
from assay.reports.methods import render
from assay.reports.view import View


def test_every_rule_and_every_field_is_there(view: View) -> None:
    text = render(view)
    assert all(f"| {rule.number} | {plain(rule.demand)} | {rule.answer.upper()} |" in text for rule in view.rules)
    assert all(f"| {plain(field.name)} | {plain(field.text)} |" in text for field in view.artifact)


def test_every_measured_number_stands_with_its_method(view: View) -> None:
    text = render(view)
    measured = [shown.value for row in view.metrics for shown in row.cells.values() if shown.measured]
    assert measured
    assert all(isinstance(value, Estimate) and plain(value.method) in text for value in measured)


def test_the_page_answers_the_rules_in_folds_and_tells_the_method_on_hover(view: View) -> None:
    page = html.render(view)
    assert page.count('<span class="made" title="') == sum(
        shown.measured for row in view.primary if html.absent_everywhere(row) is None for shown in row.cells.values()
    )
    assert 'id="methods"' in page
    assert all(str(rule.number) + ". " in page for rule in view.rules)
