"""What does the page of a watched job show?  The finding, each rank's time, where it is now, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fireassay.reports.page import Answer, Bullet, Bullets, Line, Mark, Next, Page, Section, Table, Tone, heads

TONES: Final[dict[str, Tone]] = {"none": "good", "slow_rank": "bad", "stall": "bad", "hang": "bad"}
WORDS: Final = {"none": "clear", "slow_rank": "slow rank", "stall": "stall", "hang": "hang", "starting": "starting", "unknown": "unknown"}
EXIT_OF: Final = {"none": 0, "slow_rank": 1, "stall": 1, "hang": 1}
MAX_RANKS: Final = 8
BUSY: Final = 0.2  # share of the time without a processor that is worth a line
ATTACH: Final = Next(reason="measure every step of the next start: FIREASSAY_ATTACH=1 in the job script")


def page(document: Mapping[str, Any], again: str) -> Page:
    """The page; `again` is the command that watches the same job longer; "" where the job may have ended."""
    kind = str(document["finding"])
    mark = Mark(word=WORDS[kind], tone=TONES.get(kind, "open"))
    heading = heads("rank", "running", "queued", "waits for others", "else mostly in", "now at")
    ranks = sorted(document["ranks"], key=lambda rank: rank["waiting"])
    shown = sorted(ranks[:MAX_RANKS], key=lambda rank: rank["rank"])
    table = Table(name="ranks", heads=heading, rows=tuple(_row(rank) for rank in shown))
    sections = [Section(key="brief-ranks", title="", role="answer", content=(table,))] if shown else []
    if stacks := tuple(Bullet(title=f"rank {rank['rank']}", text=" < ".join(rank["stack"][:12])) for rank in ranks if rank["stack"]):
        sections.append(Section(key="stacks", title="Stacks, innermost first", content=(Bullets(items=stacks),)))
    return Page(
        title=str(document["job"]),
        mark=mark,
        lead=str(document["sentence"]),
        sections=tuple(sections),
        answer=Answer(
            mark=mark,
            headline=str(document["sentence"]),
            evidence=_evidence(document),
            lines=tuple(_lines(document, len(ranks) - len(shown))),
            next=tuple(_next(document, again)),
            record=_record(document),
        ),
        properties={"verb": "watch", "finding": kind},
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _row(rank: Mapping[str, Any]) -> tuple[str, ...]:
    phases = [f"{phase} {_percent(share)}" for phase, share in list(rank["phases"].items())[:2]]
    name = f"{rank['rank']} on {rank['host']}" if rank["host"] else str(rank["rank"])
    return (
        name,
        _percent(rank["running"]),
        _percent(rank["queued"]),
        f"{_percent(rank['waiting'])} ± {100 * rank['waiting_error']:.0f}",
        ", ".join(phases) or "not seen",
        rank["at"] or "not seen",
    )


def _evidence(document: Mapping[str, Any]) -> str:
    if document["finding"] == "slow_rank":
        return f"{_percent(document['share'])} ± {100 * document['error']:.0f} more waiting on the other ranks; equal step times hide this."
    return ""


def _lines(document: Mapping[str, Any], more: int) -> Iterator[Line]:
    queued = [rank for rank in document["ranks"] if rank["queued"] > BUSY]
    if queued:
        most = max(rank["queued"] for rank in queued)
        yield Line(label="machine", text=f"overloaded: workers are ready without a processor up to {_percent(most)} of the time")
    if document["steps_per_s"] is not None:
        yield Line(label="steps", text=f"{document['steps_per_s']:.3g}/s, now {document['steps']}, by {document['steps_by']}")
    if document["log_line"]:
        yield Line(label="log", text=str(document["log_line"]))
    if document["stacks"]:
        yield Line(label="stacks", text=f"none, so waiting is guessed from blocked time and no phase is known: {document['stacks']}")
    if document["ended"]:
        yield Line(label="job", text="a worker ended while it was watched")
    if document["ranks"] and (unseen := document["workers"] - len(document["ranks"])) > 0:
        yield Line(label="ranks", text=f"{unseen} of {document['workers']} were not seen: they run elsewhere, or cannot be read")
    if more > 0:
        yield Line(label="ranks", text=f"{more} more, which wait longer; all: --json")


def _next(document: Mapping[str, Any], again: str) -> Iterator[Next]:
    if document["advice"]:
        yield Next(reason=str(document["advice"]).rstrip("."))
    if document["finding"] in ("none", "unknown", "starting"):
        yield ATTACH if document["ended"] else Next(reason="watch longer", command=again)
    elif document["finding"] != "hang":
        yield ATTACH


def _record(document: Mapping[str, Any]) -> str:
    own = document["own_cpu"]
    cost = f"; the watcher used {100 * own:.1f} % of a processor" if own is not None else ""
    where = f"; {document['record']}" if document["record"] else f"; {document['no_record']}" if "no_record" in document else ""
    return f"observed from outside for {document['seconds']:.0f} s{cost}{where}"
