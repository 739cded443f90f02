"""How do verbs that judge several records find, open and judge them?

A record is given by path, by name below the root, as `latest`, `latest:KIND` or `latest:NAME`, or by its address in a store, from
which it is pulled and verified first.
"""

from __future__ import annotations

import argparse
import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fireassay.record.reader import Record
    from fireassay.verdict.comparison.sessions import Days
    from fireassay.verdict.comparison.types import Side


def find(text: str, root: Path) -> Path:
    """The folder of a record, pulled from its store if `text` is an address."""
    from fireassay.record.lookup import resolve
    from fireassay.record.store import Store, default_cache, is_address

    if not is_address(text):
        return resolve(text, root)
    address, _, name = text.rstrip("/").rpartition("/")
    return Store(address).pull(name, default_cache(os.environ))


def pasted(text: str, root: Path) -> str:
    """The word that names the same record in a later command: `latest` moves on, and a name is looked up below the default root."""
    from fireassay.record.lookup import resolve

    if "/" in text or (text != "latest" and root == Path("records")):
        return text
    path = resolve(text, root)
    return path.name if root == Path("records") else str(path)


def whole(path: Path) -> Record:
    """Open a record and check its seal: a record changed afterwards is no evidence against another.

    Raises:
        RecordError: it cannot be opened, or differs from what was sealed.
    """
    from fireassay.errors import RecordError
    from fireassay.record.reader import open_record
    from fireassay.record.sealing.verify import verify

    record = open_record(path)
    if record.sealed and (problems := verify(path)):
        raise RecordError(_damaged(path, problems))
    return record


MOST_NAMED = 5  # of the damaged files


def _damaged(path: Path, problems: Sequence[str]) -> str:
    number, rest = len(problems), len(problems) - MOST_NAMED
    named = [f"  {problem}" for problem in problems[:MOST_NAMED]] + ([f"  and {rest} more"] if rest > 0 else [])
    return "\n".join(
        [
            f"{path} is damaged: {number} {'file is' if number == 1 else 'files are'} not as sealed",
            *named,
            f"Nothing is judged from it. Restore {'that file' if number == 1 else 'them'} from a copy, then:",
            f"  assay verify {shlex.quote(str(path))}",
        ]
    )


def side(path: Path, label: str = "") -> Side:
    """Open and judge one record."""
    from fireassay.cli.support.bar import bar
    from fireassay.frames.record_data import from_record
    from fireassay.record.unjudged import judged_from
    from fireassay.verdict.comparison.types import Side
    from fireassay.verdict.judge import judge

    with judged_from(path), bar(f"judging {path.name}") as advance:
        measured = from_record(whole(path))
        return Side(label=label or path.resolve().name, measured=measured, judgement=judge(measured, advance))


def sides(paths: Iterable[Path]) -> list[Side]:
    """Open and judge several records; those that fail are skipped and reported on standard error."""
    from fireassay.errors import RecordError

    result = []
    for path in paths:
        try:
            result.append(side(path))
        except RecordError as error:
            _report_skipped(error)
    return result


def _report_skipped(error: Exception) -> None:
    from fireassay.printable import remark

    remark(f"skipped: {error}")


def refuse_itself(sides: Sequence[Side], where: str) -> None:
    """Refuse to compare a record with itself or a copy, which is always equal.

    Raises:
        SpecError: two sides are one record; `where` names their source.
    """
    from fireassay.errors import refuse

    seen: dict[object, str] = {}
    for item in sides:
        identity = item.measured.manifest.get("id")
        if identity in seen:
            raise refuse(
                where,
                f"{seen[identity]} and {item.label}, which are the same record",
                "another record",
                "`assay list` shows the existing records.",
                source="the command line",
            )
        seen[identity] = item.label


def folders_of(url: str) -> Iterator[Path]:
    """The complete records of a folder or a store, oldest first; those of a store are pulled."""
    from fireassay.errors import RecordError
    from fireassay.record.store import Store, default_cache

    store = Store(url)
    if store.local is not None and not store.local.is_dir():
        raise RecordError(f"{store.shown} does not exist. Give a folder or the address of a store of records.")
    for entry in store.entries():
        if entry.state != "complete":
            continue
        try:
            yield store.local / entry.folder if store.local else store.pull(entry.folder, default_cache(os.environ))
        except RecordError as error:  # one unavailable record must not hide the others
            _report_skipped(error)


def share(text: str) -> float:
    """Argument type: a share between 0 and 1."""
    with suppress(ValueError):
        if 0.0 < (value := float(text)) < 1.0:
            return value
    raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1, for example 0.05")


def add_days(parser: argparse.ArgumentParser) -> None:
    """Add the flags on the variation between sessions."""
    parser.add_argument(
        "--history", metavar="STORE", help="folder or store of records: 5 or more comparable ones give the variation between sessions"
    )
    parser.add_argument(
        "--day-to-day",
        type=share,
        metavar="SHARE",
        help="assumed variation between sessions without a history (default: 0.15); interleaved records need none",
    )


def days(history: str | None, day_to_day: float | None, compared: Sequence[Side], varying: Sequence[str]) -> Days:
    """Day-to-day variation: from a history, or as assumed."""
    from fireassay.verdict.comparison.sessions import DAYS, days_of

    past: list[Side] = []
    if history:
        past = comparable(compared[0], sides(folders_of(history)), varying)
    return days_of(past, compared, DAYS if day_to_day is None else day_to_day)


def comparable(newest: Side, others: Sequence[Side], varying: Sequence[str]) -> list[Side]:
    """The records comparable with the newest; skips inadmissible ones."""
    from fireassay.verdict.comparison.comparability import differences, refusing

    return [
        other for other in others if other.judgement.verdict.status != "INVALID" and not refusing(differences((other, newest), varying))
    ]
