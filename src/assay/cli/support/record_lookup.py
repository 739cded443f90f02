"""How do verbs that judge several records find, open and judge them?

A record is named by its path, its name below the root, `latest`, or its address in a store, from which it is pulled and
verified first.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assay.record.reader import Record
    from assay.verdict.comparison.sessions import Days
    from assay.verdict.comparison.types import Side


def find(text: str, root: Path) -> Path:
    """The folder of a record, pulled from its store if `text` is an address."""
    from assay.record.lookup import resolve
    from assay.record.store import Store, default_cache, is_address

    if not is_address(text):
        return resolve(text, root)
    place, _, name = text.rstrip("/").rpartition("/")
    return Store(place).pull(name, default_cache(os.environ))


def whole(path: Path) -> Record:
    """A record, opened; its seal is checked, because what was changed afterwards is no evidence against another record.

    Raises:
        RecordError: it cannot be opened, or is not what was sealed.
    """
    from assay.errors import RecordError
    from assay.record.reader import open_record
    from assay.record.sealing.verify import verify

    record = open_record(path)
    if record.sealed and (problems := verify(path)):
        raise RecordError(f"{path} is not what was sealed: {problems[0]} `assay verify {path}` lists everything.")
    return record


def side(path: Path, label: str = "") -> Side:
    """One record, opened and judged."""
    from assay.frames.record_data import from_record
    from assay.record.unjudged import judged_from
    from assay.verdict.comparison.types import Side
    from assay.verdict.judge import judge

    with judged_from(path):
        measured = from_record(whole(path))
        return Side(label=label or path.resolve().name, measured=measured, judgement=judge(measured))


def sides(paths: Iterable[Path]) -> list[Side]:
    """Those of several records that can be opened and judged; one that cannot hides no other, and is named on standard error."""
    from assay.errors import RecordError

    found = []
    for path in paths:
        try:
            found.append(side(path))
        except RecordError as error:
            _left_out(error)
    return found


def _left_out(error: Exception) -> None:
    from assay.printable import printable

    print(f"assay: left out: {printable(str(error))}", file=sys.stderr)


def refuse_itself(sides: Sequence[Side], where: str) -> None:
    """A record beside itself, or beside a copy of itself, would be found equal whatever it holds.

    Raises:
        SpecError: two of them are one record; `where` names what gave them.
    """
    from assay.errors import Problem, SpecError

    seen: dict[object, str] = {}
    for one in sides:
        identity = one.measured.manifest.get("id")
        if identity in seen:
            raise SpecError(
                (
                    Problem(
                        where=where,
                        found=f"{seen[identity]} and {one.label}, which are one record",
                        allowed="another record",
                        mend="`assay list` shows those that exist.",
                    ),
                ),
                "the command line",
            )
        seen[identity] = one.label


def folders_of(url: str) -> Iterator[Path]:
    """The complete records of a folder or a store, the oldest first; those of a store are pulled."""
    from assay.errors import RecordError
    from assay.record.store import Store, default_cache

    store = Store(url)
    if store.local is not None and not store.local.is_dir():
        raise RecordError(f"{store.shown} does not exist. Give the folder or the address that holds the records.")
    for entry in store.entries():
        if entry.state != "complete":
            continue
        try:
            yield store.local / entry.folder if store.local else store.pull(entry.folder, default_cache(os.environ))
        except RecordError as error:  # one that cannot be had hides no other
            _left_out(error)


def share(text: str) -> float:
    """A share between 0 and 1, as an argument's type."""
    with suppress(ValueError):
        if 0.0 < (value := float(text)) < 1.0:
            return value
    raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1, for example 0.05")


def add_days(parser: argparse.ArgumentParser) -> None:
    """What says how much sessions differ by themselves."""
    parser.add_argument(
        "--history",
        metavar="PLACE",
        help="a folder or address of records: 5 or more comparable ones say how much sessions differ by themselves",
    )
    parser.add_argument(
        "--day-to-day",
        type=share,
        metavar="SHARE",
        help="assumed deviation between sessions without a history (0.15); records made in turn need none",
    )


def days(arguments: argparse.Namespace, compared: Sequence[Side], varying: Sequence[str]) -> Days:
    """What --history and --day-to-day say about sessions other than the sides' own."""
    from assay.verdict.comparison.sessions import DAYS, days_of

    past: list[Side] = []
    if arguments.history:
        past = comparable(compared[0], sides(folders_of(arguments.history)), varying)
    return days_of(past, compared, DAYS if arguments.day_to_day is None else arguments.day_to_day)


def comparable(newest: Side, others: Sequence[Side], varying: Sequence[str]) -> list[Side]:
    """Those that may be compared with the newest one; inadmissible ones are left out."""
    from assay.verdict.comparison.comparability import differences, refusing

    return [one for one in others if one.judgement.verdict.status != "INVALID" and not refusing(differences((one, newest), varying))]
