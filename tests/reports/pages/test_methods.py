"""The methods page: twelve rules, the artifact form, and the method behind every number."""

from __future__ import annotations

from html import escape

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.reports.view import View
from fireassay.reports.writers.markdown import plain
from tests.reports.written import written

pytestmark = pytest.mark.slow


def test_every_rule_and_every_field_is_there(view: View) -> None:
    text = written(view, "markdown", page="methods")
    assert all(f"| {rule.number} | {plain(rule.demand)} | {rule.answer} |" in text for rule in view.rules)
    assert all(f"| {plain(field.name)} | {plain(field.text)} |" in text for field in view.artifact)


def test_every_measured_number_stands_with_its_method(view: View) -> None:
    text = written(view, "markdown", page="methods")
    measured = [shown.value for row in view.metrics for shown in row.cells.values() if shown.measured]
    assert measured
    assert all(isinstance(value, Estimate) and plain(value.method) in text for value in measured)


def test_the_page_answers_the_rules_in_folds(page: str, view: View) -> None:
    folds = page.partition("12 rules: ")[2]
    assert all(f"{rule.number}. {escape(rule.demand, quote=False)}" in folds.replace("&#39;", "'") for rule in view.rules)
