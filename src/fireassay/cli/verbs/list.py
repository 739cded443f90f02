"""`assay list`: which records are there, and in which state?"""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.cli.support.verb import Verb
from fireassay.printable import columns, json_text, printable, say

if TYPE_CHECKING:
    from fireassay.record.reader import Record

HEADINGS = ("NAME", "ID", "DATE (UTC)", "STATE", "LAUNCHES", "SIZE")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "root", nargs="?", type=Path, default=Path("records"), metavar="ROOT", help="the folder that holds the records (default: records)"
    )
    parser.add_argument("--store", metavar="PLACE", help="list the records of a store instead: a folder or an address")
    parser.add_argument("--json", action="store_true", help="print a JSON array instead of a table")


def _run(arguments: argparse.Namespace) -> int:
    import json

    from fireassay.errors import RecordError
    from fireassay.record.lookup import record_folders

    if arguments.store:
        return _list_store(arguments.store, as_json=arguments.json)
    if not arguments.root.exists() and arguments.root != Path("records"):
        raise RecordError(f"{arguments.root} does not exist. Give the folder that holds the records.")
    entries = [_describe(path) for path in record_folders(arguments.root)]
    entries.sort(key=lambda entry: (entry["date"], entry["folder"]), reverse=True)
    if arguments.json:
        print(json_text(json.dumps(entries, indent=2, ensure_ascii=False)))
    elif not entries:
        say(f"no records in {arguments.root}; `assay run` makes one")
    else:
        print(_table(entries))
    return 0


def _list_store(url: str, *, as_json: bool) -> int:
    """A store is told by its manifests alone: no table is read, and nothing is copied."""
    import json
    from dataclasses import asdict

    from fireassay.record.store import Store

    store = Store(url)
    entries = [asdict(entry) for entry in reversed(store.entries())]
    if as_json:
        print(json_text(json.dumps(entries, indent=2, ensure_ascii=False)))
    elif not entries:
        say(f"no records in {store.shown}; `assay check --push` puts them there")
    else:
        rows = [("NAME", "ID", "DATE (UTC)", "STATE", "PLAN", "FOLDER"), *(_store_row(item) for item in entries)]
        print("\n".join(columns(rows)))
    return 0


def _store_row(entry: dict[str, str]) -> tuple[str, ...]:
    date = entry["created_utc"][:19].replace("T", " ")
    cells = (entry["name"], entry["id"], date, entry["state"], entry["plan_signature"], entry["folder"])
    return tuple(cell or "-" for cell in cells)


def _describe(path: Path) -> dict[str, Any]:
    """What is shown of one record; a damaged one is shown with its problem instead of stopping the list."""
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
    """Planned launches that have ended by themselves, in whatever way, and all planned launches."""
    from fireassay.spec.plan import plan

    rows = record.arrow("launches").select(["slot", "status"]).to_pylist()
    not_made = ("aborted", "skipped")
    return len({row["slot"] for row in rows if row["status"] not in not_made}), len(plan(record.experiment))


def _bytes(path: Path) -> int:
    from fireassay.record.untrusted import paths

    total = 0
    with suppress(OSError):  # a running record is sealed while we look, or a folder cannot be listed: what was seen until then
        for entry in paths.walk(path):
            if entry.is_file(follow_symlinks=False):
                total += entry.stat(follow_symlinks=False).st_size
    return total


def _table(entries: list[dict[str, Any]]) -> str:
    rows = [HEADINGS, *(_row(entry) for entry in entries)]
    lines = columns(rows, right=2)  # launches and size
    lines += [f"{Path(entry['folder']).name}: {entry['reason']}" for entry in entries if entry["state"] == "damaged"]
    return printable("\n".join(lines))


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    from fireassay.estimates.format import reading, scale_for

    launches = "-" if entry["launches_planned"] is None else f"{entry['launches_done']}/{entry['launches_planned']}"
    date = entry["date"][:19].replace("T", " ") or "-"
    return (
        entry["name"],
        entry["id"] or "-",
        date,
        entry["state"],
        launches,
        reading(entry["bytes"], "B", scale_for("B", [entry["bytes"]])),
    )


VERB = Verb(
    name="list",
    group="records",
    summary="list the records of a folder",
    description="""List the records of a folder, the newest first: name, id, date, state, launches done and planned, size.

    assay list                        # the records below ./records
    assay list /data/records --json   # for other programs
    assay list --store s3://bucket/records

States: running, complete, failed, interrupted (assay resume goes on), damaged (cannot be opened; the reason follows).
The id, the beginning of a folder's name, or the word latest names a record in the other verbs.""",
    add_arguments=_add_arguments,
    run=_run,
)
