"""Which parts do all answers share?  Marks, doubts, the line about the record, and changes in per cent with their intervals."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, Shown, count, show
from fireassay.reports import grouping
from fireassay.reports.page import Chart, Line, Mark, Next, Number, Section, Sum, Table, Tile, Tone
from fireassay.reports.view import Column, View
from fireassay.reports.words import DIMENSION_TITLES, STATUS_WORDS, WHOLE
from fireassay.verdict.types import HOLDS, WORST_FIRST, Status, rule_words


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How a comparison was asked on the command line, for commands that ask again."""

    flags: tuple[str, ...] = ()  # those given, of the verb itself
    compare: tuple[str, ...] = ()  # of these, those that `assay compare` has
    cannot: str = ""  # why both codes cannot be measured again from here
    both: str = ""  # the command that measures both records in turn, where no check does
    more: str = ""  # the command that measures the only record again, up to a number of launches


TONES: Final[dict[str, Tone]] = {
    "PASS": "good",
    "GAIN": "good",
    "NO_GAIN": "gain",
    "MEASURED": "gain",
    "FAIL": "bad",
    "INVALID": "void",
    "INCONCLUSIVE": "open",
    "NOT_MEASURED": "absent",
}
CLAUSE_END: Final = re.compile(r"; |(?<=[.)\]]) (?=[A-Z])")
DISTURBANCES: Final = (
    "foreign_doubtful",
    "observed",
    "foreign_load",
    "steal",
    "throttled",
    "slow_sentinel",
    "drift",
)  # of the job and of the machine: told before anything else
ASSUMED: Final = ("distinct_samples_unknown",)  # notes on what the numbers take for granted
MAX_ROWS: Final = 8  # configurations in a brief table
MAX_DOUBT_LENGTH: Final = 115  # characters of one doubt
PERCENT: Final = Scale(factor=100.0, after=" %")
DECIDES: Final = Mark(word="decides", tone="gain")
MEASURING: Final = ("run", "load", "profile", "resume")  # verbs that do a record's work again
WITH_COMMAND: Final = re.compile(r"(.+) with `(assay resume)`")  # a remedy that is a command on the record
ENOUGH: Final = 5  # launches, as the audit `launches` demands
MAX_DOUBTS: Final = 2  # told; others are counted


def mark(status: Status, word: str = "", why: str = "") -> Mark:
    """A status as a mark; `word` replaces its name."""
    return Mark(word=word or STATUS_WORDS[status], tone=TONES[status], why=why)


def counted(view: View, status: Status, word: str = "", why: str = "") -> Mark:
    """The mark of a configuration or dimension; nothing of an inadmissible record passes."""
    void = view.status == "INVALID" and status in HOLDS
    return mark("INVALID", word or "does not count", why) if void else mark(status, word, why)


def standing(view: View, key: str) -> Mark:
    """How a configuration stands over all dimensions: recommended, holds, does not hold, undecided or void."""
    row = next(row for row in view.vector if row.column.key == key)
    statuses = {cell.status for dimension, cell in row.cells.items() if dimension in view.dimensions}
    status: Status = next((status for status in WORST_FIRST if status in statuses), "NOT_MEASURED")
    if key == view.recommended:
        return Mark(word="recommended", tone="gain")
    words = {"FAIL": "misses a gate", "INCONCLUSIVE": "undecided"} | ({"PASS": "holds"} if view.status != "INVALID" else {})
    return counted(view, status, words.get(status, ""))


def some(view: View, columns: Sequence[Column], most: int = MAX_ROWS) -> tuple[Column, ...]:
    """At most so many configurations: the first and the last, the recommended one with its neighbours, then the larger ones."""
    if len(columns) <= most:
        return tuple(columns)
    keys = [column.key for column in columns]
    middle = keys.index(view.recommended) if view.recommended in keys else 0
    near = [middle, middle + 1, 0, len(keys) - 1, middle - 1, middle + 2, middle - 2]  # by what they tell
    ranked = dict.fromkeys(index for index in (*near, *range(len(keys) - 1, 0, -1)) if 0 <= index < len(keys))
    wanted = set(list(ranked)[:most])
    return tuple(column for index, column in enumerate(columns) if index in wanted)


def worth(view: View) -> tuple[str, str]:
    """What the record's numbers are worth: "invalid" or "provisional", and why in a few words; both empty where they stand.

    "observed": there are none.
    """
    if view.kind.observes:
        return view.kind.name, "not an experiment"
    if view.status == "INVALID":
        rule = next((row.rule for row in view.findings if row.severity == "invalid"), "inadmissible")
        return "invalid", rule_words(rule)
    if view.status == "INCONCLUSIVE":
        return "provisional", "undecided"
    few = view.kind.unit == "launch" and not view.foreign and timed(view) < ENOUGH
    return ("provisional", count(timed(view), "launches")) if few else ("", "")


def cell(view: View, metric: str, key: str, *, bare: bool = True) -> Number | None:
    """A metric of a configuration; None if it is not computed there."""
    row = view.metric(metric)
    shown = row.cells.get(key) if row is not None else None
    return None if shown is None else Number(shown=shown, bare=bare)


def doubts(view: View, longest: int = MAX_DOUBT_LENGTH, stated: Sequence[str] = ()) -> Line:
    """What weakens the numbers, in one line; `longest`: most characters of the first, which is quoted; the others are named.

    `stated`: rules of findings that another line states.
    """
    groups = [group for group in grouping.findings(view) if group.severity in ("fail", "warning") or group.rule in ASSUMED]
    elsewhere = sum(group.rule in stated for group in groups)
    groups = [group for group in groups if group.rule not in stated]
    groups.sort(key=lambda group: (group.rule not in DISTURBANCES, len(group.told[0].sentence)))
    if not groups:
        return Line(label="warnings", text="none but what is said above" if elsewhere else "none: every check passed", target="findings")
    first, *others = groups
    place = first.told[0].where
    clause = first.told[0].sentence.partition(";")[0]
    text = shortened(clause if place in ("", WHOLE) else f"{place}: {clause}", longest)
    names = dict.fromkeys(rule_words(group.rule) for group in others)
    more = f"; also {', '.join(names)}" if names else ""
    return Line(label="warnings", text=f"{text}{more}", mark=Mark(word="warning", tone="open", sign="~"), target="findings")


def shortened(text: str, most: int = MAX_DOUBT_LENGTH) -> str:
    """The clauses that fit into so many characters; the first is never cut."""
    ends = [match.start() for match in CLAUSE_END.finditer(text)]
    return text if len(text) <= most or not ends else text[: max([end for end in ends if end <= most], default=ends[0])]


def clipped(name: str, most: int) -> str:
    """A name for a column of so many characters."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def dimension_line(view: View, dimension: str, quoted: str = "") -> Line | None:
    """One line of a dimension: the worst of its configurations decides the mark; None if nobody asked.

    `quoted`: the label of the column whose words are taken if it is as bad as any.
    """
    if dimension in view.unasked or dimension not in view.dimensions:
        return None
    cells = [row.cells[dimension] for row in sorted(view.vector, key=lambda row: row.column.label == quoted)]
    status: Status = next((status for status in WORST_FIRST if any(cell.status == status for cell in cells)), "NOT_MEASURED")
    told = next(cell.sentence for cell in reversed(cells) if cell.status == status)  # the base is the first, and has least to tell
    return Line(label=dimension, text=shortened(told.partition(";")[0]), mark=mark(status), target=f"metrics-{dimension}")


def tiles(view: View, quoted: str = "") -> tuple[Tile, ...]:
    """One tile for each dimension that was asked for, without a large number; `quoted` as of `dimension_line`."""
    lines = [(dimension, dimension_line(view, dimension, quoted)) for dimension in DIMENSION_TITLES]
    return tuple(
        Tile(title=DIMENSION_TITLES[dimension], mark=line.mark or mark("NOT_MEASURED"), text=line.text, target=line.target)
        for dimension, line in lines
        if line is not None
    )


def verdict_words(view: View) -> str:
    """The record's sentence without its name and status, for a headline."""
    text = view.sentence.removeprefix(f"{view.name}: ")
    for word in ("INCONCLUSIVE: ", "INVALID, no number of this record may be quoted: ", "INVALID: ", "FAIL: "):
        text = text.removeprefix(word)
    return shortened(text.partition(". Conditions:")[0].rstrip("."))


def record_line(view: View, how: str) -> str:
    """The record's id, how it was measured, and what was not asked for."""
    unasked = [name for name in view.unasked if name in DIMENSION_TITLES or name == "energy"]
    asked = f"; not asked: {', '.join(unasked)}" if unasked else ""
    state = "" if view.state == "complete" else f", {view.state}"
    intervals = sure(view.confidence, timed(view) if view.kind.unit == "launch" else 0)
    return f"{', '.join(part for part in (short(view) + state, how, intervals) if part)}{asked}; all: --full"


def sure(confidence: str, launches: int) -> str:
    """ "95 % intervals"; provisional where so few launches can miss a second mode or a tail; "" of one, which has none."""
    if launches == 1:
        return ""
    return f"{'provisional ' if 1 < launches < ENOUGH else ''}{confidence} intervals"


def short(view: View) -> str:
    """The end of the record's id, which identifies it in a command."""
    return view.record.rsplit("-", 1)[-1] or view.record


def named(view: View) -> str:
    """The record as a word of a command."""
    return shlex.quote(view.again.record or short(view))


def timed(view: View) -> int:
    """The timed launches of each configuration that ended well, if all have the same number; else the smallest."""
    counted = [launch.configuration for launch in view.launches if launch.role == "timed" and launch.status == "ok"]
    numbers = [counted.count(column.key) for column in view.columns]
    return min(numbers, default=0)


def launches_words(view: View, of: str = "configuration") -> str:
    """ "5 launches a level"."""
    return f"{count(timed(view), 'launches')} {'per ' + of if len(view.columns) > 1 else ''}".strip()


def remedies(view: View, severities: Iterable[str]) -> tuple[Next, ...]:
    """What the gravest finding asks for."""
    groups = [group for group in grouping.findings(view) if group.severity in severities and group.remedy]
    if not groups:
        return ()
    if found := WITH_COMMAND.fullmatch(groups[0].remedy):
        return (Next(reason=found[1], command=f"{found[2]} {named(view)}"),)
    return (Next(reason=groups[0].remedy),)


def scored(view: View, *flag: str) -> str:
    """The command that scores the record's answers again with this flag; empty if there is none."""
    if not view.again.score:
        return ""
    files, *given = view.again.score
    return shlex.join(["assay", "score", *files, *(word for words in given if words[0] != flag[0] for word in words), *flag])


def runnable(view: View, step: Next) -> Next:
    """The step with a command only if the record's work can be done again; of an engine that has ended, says so."""
    if step.command.split(" ")[1:2] and step.command.split(" ")[1] in MEASURING:
        if view.again.gone:
            return Next(reason=f"{step.reason}; not possible from here: {view.again.gone}")
        if view.again.silent:
            return replace(step, reason=f"{step.reason}, once the engine runs again ({view.again.silent} now)")
    return step


# ---- of a change, in per cent with its interval ----------------------------------------------------------------------


def in_percent(ratio: float, low: float, high: float, *, confidence: float, method: str = "", margins: Sequence[float] = ()) -> Number:
    """A ratio as a change from 0; `margins` are the fractions that it is compared with besides 0."""
    ends = (end - 1.0 if math.isfinite(end) else end for end in (ratio, low if low > 0.0 else -math.inf, high))
    value, least, most = (round(end, 9) + 0.0 for end in ends)  # a rounding residue is no change
    change = change_estimate(value, least, most, unit="fraction", confidence=confidence, method=method)
    shown = show(change, PERCENT, beside=(0.0, *margins))
    sign = "+" if value > 0.0 and shown.text.strip("0.% ") else ""
    return Number(shown=Shown(text=f"{sign}{shown.text}", interval=shown.interval, note="", value=change, scale=PERCENT))


def change_estimate(value: float, low: float, high: float, *, unit: str, confidence: float, method: str) -> Estimate:
    """A ratio or a difference with its interval, as in a workbook."""
    return Estimate(
        value=value, low=low, high=high, unit=unit, confidence=confidence, n_launches=2, n_trials=0, method=method, signature=""
    )


def change_tile(title: str, mark: Mark, number: Number | None, text: str) -> Tile:
    """A change as one side of an answer."""
    return Tile(
        title=title,
        mark=mark,
        big=number.shown.text if number else "",
        small=number.shown.interval if number else "",
        text=text,
        target="changes",
    )


def brief_sections(*blocks: Table | Chart | Sum) -> tuple[Section, ...]:
    """Blocks as brief sections."""
    return tuple(Section(key=f"brief-{block.name}", title="", role="answer", content=(block,)) for block in blocks)


def noted_doubts(notes: Sequence[str], most: int = MAX_DOUBTS) -> Line:
    """What weakens an answer: the first sentences, and how many more there are."""
    if not notes:
        return Line(label="warnings", text="none", target="notes")
    told = " ".join(f"{shortened(note).rstrip('.')}." for note in notes[:most])
    more = f" {len(notes) - most} more: --full" if len(notes) > most else ""
    return Line(label="warnings", text=f"{told}{more}", mark=Mark(word="warning", tone="open", sign="~"), target="notes")


def launches_a_side(*values: object) -> int:
    """The smallest number of launches behind values; 0 if one has no number."""
    return min((value.n_launches if isinstance(value, Estimate) else 0 for value in values), default=0)


def shell_command(*words: str) -> str:
    """A complete command, quoted for a shell."""
    return shlex.join(words)
