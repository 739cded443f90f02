"""What does the page of a running or ended run show?  What runs, where, how far, what it waits for, and what it said last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fireassay.estimates.format import duration
from fireassay.printable import one_line, shell_word
from fireassay.reports.page import Facts, Mark, Page, Prose, Section, Tone

TONES: Final[Mapping[str, Tone]] = {"running": "good", "complete": "good", "failed": "bad", "silent": "open", "interrupted": "open"}
NEXT: Final = {
    "running": "assay attach {0}",
    "interrupted": "assay resume {0}",
    "silent": "assay resume {0}    (refused while it still runs)",
    "complete": "assay report {0}",
    "failed": "assay report {0}",
}


@dataclass(frozen=True, kw_only=True)
class RunState:
    """How far a run is, or how it ended."""

    record: str  # path
    state: str  # running, interrupted, complete, failed; silent: unsealed, on another host, without a heartbeat
    reason: str
    host: str
    pid: int
    job: str  # "Slurm job 12"; "" outside a cluster
    done: int
    failed: int
    planned: int
    adaptive: bool = False  # the plan is only the maximum
    waiting: str | None = None  # what the cluster's engine waits for, in its words; None: unknown
    seconds_left: float | None = None
    last_sign_s: float | None = None  # since the last heartbeat, by the wall clocks; None: there is none
    running: Mapping[str, Any] | None = None  # the running launch
    now: str = ""  # the same in words
    output: tuple[str, ...] = ()  # last lines of the running launch, else of the run
    allocations: tuple[Mapping[str, Any], ...] = ()  # nodes that an engine lent, in order

    @property
    def alive(self) -> bool:
        """True if it is certain that it runs."""
        return self.state == "running"


def page(state: RunState) -> Page:
    """The page of a run."""
    sections = [Section(key="run", title="Run", content=(Facts(rows=tuple(_facts(state))),))]
    if state.output:
        text = "\n".join(map(one_line, state.output))
        sections.append(Section(key="output", title="Last output", content=(Prose(text=text, weight="code"),)))
    title = one_line(state.record.rpartition("/")[2])
    return Page(
        title=title,
        mark=Mark(word=state.state, tone=TONES.get(state.state, "plain")),
        sections=tuple(sections),
        properties={"verb": "status"},
    )


def _facts(state: RunState) -> Iterator[tuple[str, str]]:
    where = f"{one_line(state.host)}, process {state.pid}"
    yield "where", f"{where}, {one_line(state.job)}" if state.job else where
    most = "at most " if state.adaptive else ""
    yield "launches", f"{state.done} of {most}{state.planned}" + (f", {state.failed} failed" if state.failed else "")
    if state.waiting:
        yield "waits for", one_line(state.waiting)
    if state.now:
        yield "now", one_line(state.now)
    if state.seconds_left:
        yield "left", f"about {duration(state.seconds_left)}"
    if state.reason and state.state != "running":
        yield "ended", one_line(state.reason)
    if state.last_sign_s is not None and state.state not in ("complete", "failed"):
        yield "last sign", f"{duration(state.last_sign_s)} ago"
    for entry in state.allocations:
        yield "allocation", one_line(allocation_words(entry))
    if state.alive:
        yield "to stop it", f"assay attach {shell_word(state.record)} --stop"
    yield "next", NEXT.get(state.state, "assay report {0}").format(shell_word(state.record))


def allocation_words(entry: Mapping[str, Any]) -> str:
    """ "Slurm job 12: waited 40 s, held 2 h, ended by PREEMPTED"."""
    waited, held = entry.get("waited_s"), entry.get("held_s")
    words = [f"waited {duration(float(waited))}"] if isinstance(waited, int | float) else []
    words += [f"held {duration(float(held))}"] if isinstance(held, int | float) else []
    words += [f"ended: {entry['end']}"] if entry.get("end") else []
    return f"{str(entry.get('engine', '')).capitalize()} job {entry.get('job_id', 'unknown')}: {', '.join(words) or 'held'}"
