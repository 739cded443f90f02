"""What does the page of an examination, of machine or client, show?

The verdict, every check, and remedies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fireassay.reports.page import Bullet, Bullets, Case, Mark, Outcome, Page, Section, Table, Tone, heads

EXIT_OF: Final = {"fit": 0, "unknown": 4, "noisy": 4, "unfit": 1}
TONES: Final[dict[str, Tone]] = {"fit": "good", "unfit": "bad", "noisy": "open", "unknown": "open"}
OUTCOMES: Final[dict[Tone, Outcome]] = {"good": "passed", "bad": "failure"}


def page(title: str, head: str, fitness: str, checks: Sequence[Mapping[str, Any]]) -> Page:
    """The page of an examination."""
    rows = tuple((check["name"], _mark(check["fitness"]), check["evidence"]) for check in checks)
    sections = [
        Section(key="checks", title="Checks", content=(Table(name="checks", heads=heads("Check", "Fitness", "Evidence"), rows=rows),))
    ]
    if helps := tuple(Bullet(title=check["name"], text=check["mend"]) for check in checks if check["mend"]):
        sections.append(Section(key="help", title="Remedies", content=(Bullets(items=helps),)))
    return Page(
        title=title,
        mark=_mark(fitness),
        lead=head,
        sections=tuple(sections),
        properties={"verb": "doctor", "fitness": fitness},
        cases=tuple(_case(check) for check in checks),
    )


def _mark(fitness: str) -> Mark:
    return Mark(word=fitness, tone=TONES.get(fitness, "open"))


def _case(check: Mapping[str, Any]) -> Case:
    outcome = OUTCOMES.get(TONES.get(check["fitness"], "open"), "skipped")
    return Case(name=check["name"], group="doctor", outcome=outcome, kind=check["fitness"], text=check["evidence"])
