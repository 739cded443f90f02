"""How does a CI server read a page: one JUnit test case per case that the page counts, or one for its verdict?

regression: failure; nothing measured and not comparable: error; inconclusive: skipped; pass and improvement: passed.  Labels and
metric names of a record are untrusted: text is cleaned of control characters and escaped.
"""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree

from fireassay.printable import printable
from fireassay.reports.page import Case, Outcome, Page, Tone
from fireassay.reports.writers.writer import Writer

OUTCOMES: Final[dict[Tone, Outcome]] = {"good": "passed", "bad": "failure", "void": "error", "open": "skipped"}


def write(page: Page) -> str:
    """Render the page as JUnit XML, well-formed whatever the labels contain."""
    suite = ElementTree.Element("testsuite", name=f"assay {page.properties.get('verb', 'report')}")
    for case in page.cases or (_verdict(page),):
        _add(suite, case)
    counts = {kind: str(len(suite.findall(f"testcase/{kind}"))) for kind in ("failure", "error", "skipped")}
    suite.set("tests", str(len(suite)))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, counts[kind])
    properties = ElementTree.Element("properties")
    for name, value in page.properties.items():
        if name != "verb":
            ElementTree.SubElement(properties, "property", name=name, value=printable(value))
    suite.insert(0, properties)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _verdict(page: Page) -> Case:
    word, tone = (page.mark.word, page.mark.tone) if page.mark else ("", "plain")
    return Case(name=page.title, group="assay", outcome=OUTCOMES.get(tone, "skipped"), kind=word, text=page.lead)


def _add(suite: ElementTree.Element, case: Case) -> None:
    element = ElementTree.SubElement(suite, "testcase", classname=printable(f"assay.{case.group}"), name=printable(case.name))
    words = printable(case.text)
    if case.outcome == "passed":
        ElementTree.SubElement(element, "system-out").text = words
    elif case.outcome == "skipped":
        ElementTree.SubElement(element, "skipped", message=words)
    else:
        ElementTree.SubElement(element, case.outcome, message=words, type=case.kind).text = words


WRITER = Writer(name="junit", suffix=".xml", summary="test cases for a CI server", write=write)
