"""`assay list`: which records exist, what was their verdict, and which number decided it?"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay import catalog
from fireassay.cli.support.bar import judged_entries
from fireassay.cli.support.output import TERMINAL, Output, add_formats, emit
from fireassay.cli.support.verb import Verb
from fireassay.clock import SystemClock
from fireassay.errors import Problem, RecordError, did_you_mean, refuse, refuse_any
from fireassay.printable import json_text
from fireassay.record.manifest import STATES
from fireassay.record.untrusted import paths

if TYPE_CHECKING:
    from fireassay.api.records.survey import Entry
    from fireassay.reports.page import Page

MAX_ROWS: Final = 20  # rows on a terminal, without --all


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("root", nargs="?", type=Path, default=Path("records"), metavar="ROOT", help="the folder of the records (default: records)")
    add("--kind", action="append", metavar="KIND", help=f"only records of this kind: {', '.join(catalog.names('kinds'))}; repeatable")
    add(
        "--verdict",
        action="append",
        metavar="WORD",
        help="only records with this verdict or state: pass, invalid, interrupted, ...; repeatable",
    )
    add("--workload", action="append", metavar="NAME", help="only records of the experiment with this name; repeatable")
    add("--all", action="store_true", help=f"all records (default on a terminal: the newest {MAX_ROWS})")
    add("--no-judge", action="store_true", help="judge nothing: records whose verdict is not cached are shown as not judged")
    add("--store", metavar="URL", help="list the records of a store instead: a folder or an address")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.store:
        page, content = _of_store(arguments)
    else:
        found, entries = _entries(arguments)
        page, content = partial(_page, str(arguments.root), found, entries), partial(_described, entries)
    document = partial(json.dumps, indent=2, ensure_ascii=False)
    emit(Output(name="records", page=page, document=lambda: json_text(document(content()))), arguments)
    return 0


def _entries(arguments: argparse.Namespace) -> tuple[list[Entry], list[Entry]]:
    """All records, and those to be shown, judged as far as needed.

    Raises:
        RecordError: no such folder.
        SpecError: a filter that can fit nothing.
    """
    from fireassay.api.records import survey

    root: Path = arguments.root
    if not root.exists() and root != Path("records"):
        raise RecordError(f"{root} does not exist. Give the folder that holds the records.")
    cache = survey.folder(os.environ)
    found = survey.survey(root, cache)
    _refuse_unknown(arguments, found)
    most = MAX_ROWS if arguments.form == TERMINAL and not arguments.all else len(found)
    entries = [entry for entry in found if _fits(entry.kind, arguments.kind) and _fits(entry.name, arguments.workload)]
    entries = entries if arguments.verdict else entries[:most]
    if not arguments.no_judge:
        entries = judged_entries(entries, cache)
    return found, [entry for entry in entries if _fits(entry.verdict, arguments.verdict)][:most]


def _fits(value: str, wanted: Sequence[str] | None) -> bool:
    """True if a value is one of those given; `no-gain` is NO GAIN."""
    plain = value.lower().replace("_", " ")
    return not wanted or plain in {word.lower().replace("_", " ").replace("-", " ") for word in wanted} or value in wanted


def _refuse_unknown(arguments: argparse.Namespace, found: Sequence[Entry]) -> None:
    """Refuse a kind or verdict that does not exist, and a name that no record here has: an empty list would hide the slip."""
    if not (arguments.kind or arguments.verdict or arguments.workload):
        return
    from fireassay.api.records.survey import NOT_JUDGED
    from fireassay.reports.words import STATUS_WORDS

    known = {
        "kind": {*catalog.names("kinds"), *catalog.third_party("kinds"), *(entry.kind for entry in found)},
        "verdict": {*STATUS_WORDS.values(), *STATES, "damaged", NOT_JUDGED} - {"complete"},
        "workload": {entry.name for entry in found},
    }
    problems = tuple(
        Problem(f"--{flag}", repr(word), ", ".join(sorted(filter(None, words))), did_you_mean(word, filter(None, words)))
        for flag, words in known.items()
        for word in getattr(arguments, flag) or ()
        if (found or flag != "workload") and not any(_fits(one, [word]) for one in words)
    )
    refuse_any(problems, "the command line")


def _page(root: str, found: Sequence[Entry], entries: Sequence[Entry]) -> Page:
    from fireassay.api.records.survey import listed
    from fireassay.reports.pages.record_list import of_folder

    now = SystemClock().utc()
    return of_folder(root, [listed(entry, now) for entry in entries], len(found), _kinds_of(found), {} if found else _inside(Path(root)))


def _inside(root: Path) -> dict[str, int]:
    """Folders below it that hold records, as gates' do, with how many."""
    from fireassay.record.lookup import record_folders

    folders = sorted(folder for folder in root.iterdir() if folder.is_dir() and not folder.name.startswith(".")) if root.is_dir() else []
    return {folder.name: found for folder in folders if (found := len(record_folders(folder)))}


def _kinds_of(entries: Sequence[Entry]) -> str:
    """What a filter can choose: "kinds: training (3), calls (1); workloads: vit (4)"."""
    sorts = {
        "kinds": Counter(entry.kind for entry in entries if entry.kind),
        "workloads": Counter(entry.name for entry in entries if entry.name),
    }
    return "; ".join(
        f"{sort}: {', '.join(f'{one} ({n})' for one, n in counter.most_common(MAX_ROWS))}" for sort, counter in sorts.items() if counter
    )


def _described(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The entries of the JSON document."""
    return [
        {
            "record": entry.record,
            "name": entry.name or entry.path.name,
            "id": entry.id,
            "date": entry.created_utc,
            "state": entry.state,
            "reason": entry.reason,
            "kind": entry.kind,
            "verdict": entry.summary.status if entry.summary else None,
            "headline": entry.summary.headline if entry.summary else "",
            "launches_done": entry.done,
            "launches_planned": entry.planned,
            "bytes": _bytes(entry.path),
            "folder": str(entry.path),
        }
        for entry in entries
    ]


def _bytes(path: Path) -> int:
    total = 0
    with suppress(OSError):  # a running record is being sealed, or a folder cannot be listed: count what was seen so far
        for entry in paths.walk(path):
            if entry.is_file(follow_symlinks=False):
                total += entry.stat(follow_symlinks=False).st_size
    return total


def _of_store(arguments: argparse.Namespace) -> tuple[Callable[[], Page], Callable[[], list[dict[str, Any]]]]:
    """The page and the manifests of a store; no table is read or copied.

    Raises:
        SpecError: a filter that needs what only the record's tables say.
    """
    from fireassay.record.store import Store
    from fireassay.reports.pages.record_list import of_store

    if arguments.kind or arguments.verdict:
        flag = "--kind" if arguments.kind else "--verdict"
        raise refuse(flag, "a store", "--workload alone: a store is listed without opening its records", source="the command line")
    store = Store(arguments.store)
    entries = [asdict(entry) for entry in reversed(store.entries()) if _fits(entry.name, arguments.workload)]
    return partial(of_store, store.shown, entries), lambda: entries


VERB = Verb(
    name="list",
    group="records",
    call="fireassay.api.records.survey.survey",
    summary="all records",
    front=8,
    description="""List the records of a folder, the newest first: age, name, kind, verdict, and the number that decided, with its interval.

    assay list                                 # the newest records below ./records
    assay list --kind serving --verdict pass
    assay list /data/records --all --json      # for other programs
    assay list --store s3://bucket/records

Lower case is the state of a record without a verdict: running, interrupted (assay resume continues it), failed, damaged (the reason
follows), not judged. Verdicts are kept in your cache folder, so that only new records are judged. Other verbs
take a record by its name as shown here, its id, latest, latest:KIND or latest:NAME.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"choose": ("--kind", "--verdict", "--workload", "--all"), "judge": ("--no-judge",), "from": ("--store",)},
    exits={0: "listed"},
)
