"""What does the page of an examination, of machine or client, show?

The verdict, every check, and remedies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fireassay.reports.answering import shortened
from fireassay.reports.page import Answer, Bullet, Bullets, Case, Mark, Next, Outcome, Page, Section, Table, Tile, Tone, heads

EXIT_OF: Final = {"fit": 0, "unknown": 4, "noisy": 4, "unfit": 1}
TONES: Final[dict[str, Tone]] = {"fit": "good", "unfit": "bad", "noisy": "open", "unknown": "open"}
FLOOR: Final = "noise floor"  # the check that says which differences show
MAX_TILES: Final = 4
MAX_LINES: Final = 9  # checks with a line each
MAX_REMEDIES: Final = 2
SIGNED: Final = {
    "fit": Mark(word="fit", tone="good"),
    "noisy": Mark(word="noisy", tone="open", sign="~"),
    "unfit": Mark(word="unfit", tone="bad"),
    "unknown": Mark(word="unknown", tone="absent"),
}
OUTCOMES: Final[dict[Tone, Outcome]] = {"good": "passed", "bad": "failure"}


def page(title: str, head: str, fitness: str, checks: Sequence[Mapping[str, Any]], again: str = "assay doctor") -> Page:
    """The page of an examination; `again` repeats it."""
    rows = tuple((check["name"], SIGNED.get(check["fitness"], SIGNED["unknown"]), check["evidence"]) for check in checks)
    sections = [
        Section(key="brief-checks", title="", role="answer", content=(Bullets(items=tuple(_lines(checks))),)),
        Section(key="checks", title="Checks", content=(Table(name="checks", heads=heads("Check", "Fitness", "Evidence"), rows=rows),)),
    ]
    if helps := tuple(Bullet(title=check["name"], text=check["mend"]) for check in checks if check["mend"]):
        sections.append(Section(key="help", title="Remedies", content=(Bullets(items=helps),)))
    return Page(
        title=title,
        mark=_mark(fitness),
        lead=head,
        sections=tuple(sections),
        answer=_answer(head, fitness, checks, again),
        properties={"verb": "doctor", "fitness": fitness},
        cases=tuple(_case(check) for check in checks),
    )


def _answer(head: str, fitness: str, checks: Sequence[Mapping[str, Any]], again: str) -> Answer:
    """The noise floor of a machine, else the check that decides."""
    worst = next((check for check in checks if check["fitness"] == fitness), checks[0] if checks else None)
    told = next((check for check in checks if check["name"] == FLOOR and fitness != "unknown"), worst)
    smaller = fitness == "noisy" and told is not None and told["name"] == FLOOR
    return Answer(
        mark=_mark(fitness),
        headline=head if told is None else f"{told['name']} {told['evidence']}",
        tiles=tuple(_tile(check) for check in sorted(checks, key=_gravity) if check is not told)[:MAX_TILES],
        evidence="`assay compare` and `assay check` call smaller differences INCONCLUSIVE." if smaller else "",
        next=tuple(_next(checks, again)),
        record=head,
    )


def _gravity(check: Mapping[str, Any]) -> int:
    """What is wrong first; what is unknown says least."""
    return ("unfit", "noisy", "fit", "unknown").index(check["fitness"])


def _tile(check: Mapping[str, Any]) -> Tile:
    name = str(check["name"])
    return Tile(title=f"{name[:1].upper()}{name[1:]}", mark=SIGNED[check["fitness"]], text=check["evidence"], target="checks")


def _next(checks: Sequence[Mapping[str, Any]], again: str) -> Iterator[Next]:
    """The remedies, each once; a command that one of them names, else the examination again."""
    remedies = list(dict.fromkeys(str(check["mend"]) for check in checks if check["mend"]))[:MAX_REMEDIES]
    for remedy in remedies:
        reason, _, command = remedy.rpartition(": assay ")
        if reason:
            yield Next(reason=reason, command=f"assay {command}")
        elif remedy == remedies[-1]:
            yield Next(reason=f"{remedy}; then examine again", command=again)
        else:
            yield Next(reason=remedy)


def _lines(checks: Sequence[Mapping[str, Any]]) -> Iterator[Bullet]:
    """A line for each check; of many, those that hold are one list."""
    fit = [check for check in checks if check["fitness"] == "fit"]
    alone = len(checks) <= MAX_LINES
    for check in checks:
        if alone or check["fitness"] != "fit":
            yield Bullet(mark=SIGNED.get(check["fitness"], SIGNED["unknown"]), title=check["name"], text=shortened(check["evidence"], 120))
    if fit and not alone:
        yield Bullet(mark=SIGNED["fit"], title="fit", text=", ".join(check["name"] for check in fit))


def _mark(fitness: str) -> Mark:
    return Mark(word=fitness, tone=TONES.get(fitness, "open"))


def _case(check: Mapping[str, Any]) -> Case:
    outcome = OUTCOMES.get(TONES.get(check["fitness"], "open"), "skipped")
    return Case(name=check["name"], group="doctor", outcome=outcome, kind=check["fitness"], text=check["evidence"])
