"""A page as JUnit XML: its cases, or its verdict where it counts none."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from fireassay.reports.page import Case, Mark, Tone
from fireassay.reports.writers.junit import write
from tests.reports.writers.small import EVIL, PAGE


@pytest.mark.parametrize(
    ("tone", "tag"), [("good", "system-out"), ("bad", "failure"), ("void", "error"), ("open", "skipped"), ("absent", "skipped")]
)
def test_a_page_without_cases_is_one_case_by_its_verdict(tone: Tone, tag: str) -> None:
    suite = ElementTree.fromstring(write(replace(PAGE, mark=Mark(word="w", tone=tone))))
    assert (suite.get("tests"), [child.tag for child in suite[1]]) == ("1", [tag])


def test_every_case_is_counted_and_nothing_breaks_the_file() -> None:
    outcomes = ("passed", "failure", "error", "skipped", "skipped")
    cases = tuple(Case(name=EVIL, group=EVIL, outcome=outcome, kind="k", text=EVIL) for outcome in outcomes)  # type: ignore[arg-type]
    suite = ElementTree.fromstring(write(replace(PAGE, cases=cases, properties={"state": EVIL})))
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "1", "1", "2"]
