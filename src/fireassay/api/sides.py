"""How are records opened, verified and judged, to be shown or compared?"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from fireassay.api.lookup import folders_of
from fireassay.errors import RecordError, refuse
from fireassay.frames.record_data import RecordData, from_record
from fireassay.printable import remark
from fireassay.record.reader import Record, judged_from, open_record
from fireassay.record.seal import verify
from fireassay.verdict.comparison.comparability import differences, refusing
from fireassay.verdict.comparison.sessions import DAYS, Days, days_of
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.judge import judge

MAX_NAMED: Final = 5  # of the damaged files

Advance = Callable[[int, int], None]  # done, of how many
Watch = Callable[[str], AbstractContextManager[Advance | None]]  # shows the progress of what is named, in the body


def unwatched(_what: str) -> AbstractContextManager[None]:
    """The progress that nobody watches."""
    return nullcontext()


def whole(path: Path) -> Record:
    """Open a record and check its seal: a record changed afterwards is no evidence against another.

    Raises:
        RecordError: it cannot be opened, or differs from what was sealed.
    """
    record = open_record(path)
    if record.sealed and (problems := verify(path)):
        raise RecordError(_damaged(path, problems))
    return record


def _damaged(path: Path, problems: Sequence[str]) -> str:
    number, rest = len(problems), len(problems) - MAX_NAMED
    named = [f"  {problem}" for problem in problems[:MAX_NAMED]] + ([f"  and {rest} more"] if rest > 0 else [])
    return "\n".join(
        [
            f"{path} is damaged: {number} {'file is' if number == 1 else 'files are'} not as sealed",
            *named,
            f"Nothing is judged from it. Restore {'that file' if number == 1 else 'them'} from a copy, then:",
            f"  assay verify {shlex.quote(str(path))}",
        ]
    )


def opened(path: Path) -> RecordData:
    """Open and verify one record."""
    with judged_from(path):
        return from_record(whole(path))


def side(path: Path, label: str = "", watch: Watch = unwatched) -> Side:
    """Open, verify and judge one record."""
    return judged(path, opened(path), label, watch)


def judged(path: Path, measured: RecordData, label: str = "", watch: Watch = unwatched) -> Side:
    """Judge a record that was opened and verified."""
    with judged_from(path), watch(f"judging {path.name}") as advance:
        return Side(label=label or path.resolve().name, measured=measured, judgement=judge(measured, advance))


def sides(paths: Iterable[Path], watch: Watch = unwatched, wanted: Callable[[RecordData], bool] = lambda _: True) -> list[Side]:
    """Open several records, and judge those that are wanted; those that fail are skipped with a remark."""
    result = []
    for path in paths:
        try:
            with judged_from(path):
                if wanted(measured := from_record(whole(path))):
                    result.append(judged(path, measured, "", watch))
        except RecordError as error:
            remark(f"skipped: {error}")
    return result


def named_sides(paths: Sequence[Path]) -> tuple[Side, ...]:
    """Open and judge the records, each once; their labels are the shortest names that distinguish them.

    Raises:
        RecordError: a record is missing, damaged, or not what was sealed.
    """
    measured = {path: from_record(whole(path)) for path in dict.fromkeys(paths)}
    judged = {path: judge(record) for path, record in measured.items()}
    labels = labels_of([(measured[path].experiment.name, path.name) for path in paths])
    return tuple(Side(label=label, measured=measured[path], judgement=judged[path]) for label, path in zip(labels, paths, strict=True))


def labels_of(names: Sequence[tuple[str, str]]) -> list[str]:
    """The experiments' names where they differ, else the folders'; a record given twice is numbered."""
    short, long = [name for name, _ in names], [folder for _, folder in names]
    chosen = short if len(set(short)) == len(short) else long
    if len(set(chosen)) == len(chosen):
        return chosen
    return [f"{name} ({index + 1})" for index, name in enumerate(chosen)]


def refuse_observed(sides: Sequence[Side]) -> None:
    """Refuse to compare a job that was only watched. Raises SpecError."""
    for item in sides:
        if item.measured.kind.observes:
            found = f"{item.label}, which was observed from outside (assay watch)"
            fix = "Measure the job: assay run SCRIPT, or FIREASSAY_ATTACH=1 in its own script."
            raise refuse("RECORD", found, "a record of an experiment, which has numbers", fix, source="the command line")


def refuse_itself(sides: Sequence[Side], where: str) -> None:
    """Refuse to compare a record with itself or a copy, which is always equal.

    Raises:
        SpecError: two sides are one record; `where` names their source.
    """
    seen: dict[object, str] = {}
    for item in sides:
        identity = item.measured.manifest.get("id")
        if identity in seen:
            found = f"{seen[identity]} and {item.label}, which are the same record"
            raise refuse(where, found, "another record", "`assay list` shows the existing records.", source="the command line")
        seen[identity] = item.label


def days(history: str | None, day_to_day: float | None, compared: Sequence[Side], varying: Sequence[str], watch: Watch = unwatched) -> Days:
    """Day-to-day variation: from a history, or as assumed."""
    ids = {side.measured.manifest.get("id") for side in compared}  # `days_of` leaves them out: they are not judged again
    others = sides(folders_of(history), watch, lambda measured: measured.manifest.get("id") not in ids) if history else []
    past = comparable(compared[0], others, varying)
    return days_of(past, compared, DAYS if day_to_day is None else day_to_day)


def comparable(newest: Side, others: Sequence[Side], varying: Sequence[str]) -> list[Side]:
    """The records comparable with the newest; skips inadmissible ones."""
    return [
        other for other in others if other.judgement.verdict.status != "INVALID" and not refusing(differences((other, newest), varying))
    ]
