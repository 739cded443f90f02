"""`assay list`: which records exist, and in which state?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import Verb
from fireassay.printable import json_text

if TYPE_CHECKING:
    from fireassay.record.reader import Record
    from fireassay.reports.page import Page


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "root", nargs="?", type=Path, default=Path("records"), metavar="ROOT", help="the folder of the records (default: records)"
    )
    parser.add_argument("--store", metavar="URL", help="list the records of a store instead: a folder or an address")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    import json

    from fireassay.reports.pages import record_list

    page: Callable[[str, list[dict[str, Any]]], Page]
    if arguments.store:
        page, (source, entries) = record_list.of_store, _of_store(arguments.store)
    else:
        page, source, entries = record_list.of_folder, str(arguments.root), _of_folder(arguments.root)
    document = partial(json.dumps, entries, indent=2, ensure_ascii=False)
    emit(Output(name="records", page=partial(page, source, entries), document=lambda: json_text(document())), arguments)
    return 0


def _of_folder(root: Path) -> list[dict[str, Any]]:
    from fireassay.errors import RecordError
    from fireassay.record.lookup import record_folders

    if not root.exists() and root != Path("records"):
        raise RecordError(f"{root} does not exist. Give the folder that holds the records.")
    return sorted(map(_describe, record_folders(root)), key=lambda entry: (entry["date"], entry["folder"]), reverse=True)


def _of_store(url: str) -> tuple[str, list[dict[str, Any]]]:
    """The store's name and its manifests; no table is read or copied."""
    from dataclasses import asdict

    from fireassay.record.store import Store

    store = Store(url)
    return store.shown, [asdict(entry) for entry in reversed(store.entries())]


def _describe(path: Path) -> dict[str, Any]:
    """The entry of one record; a damaged one is listed with its problem instead of ending the list."""
    from fireassay.errors import RecordError
    from fireassay.record.reader import open_record
    from fireassay.record.unjudged import judged_from

    described: dict[str, Any] = {
        "name": path.name,
        "id": "",
        "date": "",
        "state": "damaged",
        "reason": "",
        "launches_done": None,
        "launches_planned": None,
        "bytes": _bytes(path),
        "folder": str(path),
    }
    try:
        with judged_from(path):
            record = open_record(path)
            done, planned = _launches(record)
    except RecordError as error:
        return described | {"reason": str(error)}
    manifest = record.manifest
    return described | {
        "name": manifest["name"],
        "id": manifest["id"],
        "date": manifest["created_utc"],
        "state": record.state,
        "reason": manifest.get("reason", ""),
        "launches_done": done,
        "launches_planned": planned,
    }


def _launches(record: Record) -> tuple[int, int]:
    """Numbers of planned launches that ended by themselves, successfully or not, and of all planned launches."""
    from fireassay.spec.plan import plan

    rows = record.arrow("launches").select(["slot", "status"]).to_pylist()
    not_made = ("aborted", "skipped")
    return len({row["slot"] for row in rows if row["status"] not in not_made}), len(plan(record.experiment))


def _bytes(path: Path) -> int:
    from fireassay.record.untrusted import paths

    total = 0
    with suppress(OSError):  # a running record is being sealed, or a folder cannot be listed: count what was seen so far
        for entry in paths.walk(path):
            if entry.is_file(follow_symlinks=False):
                total += entry.stat(follow_symlinks=False).st_size
    return total


VERB = Verb(
    name="list",
    group="records",
    summary="list the records of a folder",
    description="""List the records of a folder, the newest first: name, id, date, state, launches done and planned, size.

    assay list                        # the records below ./records
    assay list /data/records --json   # for other programs
    assay list --store s3://bucket/records

States: running, complete, failed, interrupted (assay resume continues it), damaged (cannot be opened; the reason follows).
Other verbs take a record by its id, a unique prefix of its folder's name, or the word latest.""",
    add_arguments=_add_arguments,
    run=_run,
)
