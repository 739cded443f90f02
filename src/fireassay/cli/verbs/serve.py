"""`assay serve`: which records are there, and how far are the runs in flight, in a browser?"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fireassay.cli.support.bar import bar, judged_entries
from fireassay.cli.support.verb import Verb, add_root
from fireassay.clock import SystemClock
from fireassay.errors import EnvironmentLacks, Problem, RecordError, refuse_any
from fireassay.printable import say

NEEDED: Final = ("starlette", "uvicorn")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_root(parser, "the folder of the records (default: records)")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port to listen on (default: a free one)")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument("--expose", action="store_true", help="allow a --host that other machines can reach: there is no password")
    parser.add_argument("--title", default="Records", metavar="TEXT", help="title of the first page (default: Records)")
    parser.add_argument(
        "--no-judge", action="store_true", help="judge no new record before serving; each is judged when its page is opened"
    )


def _run(arguments: argparse.Namespace) -> int:
    _refuse_what_cannot_be(arguments)
    with suppress(KeyboardInterrupt):  # the usual end
        _serve(arguments)
    return 0


def _serve(arguments: argparse.Namespace) -> None:
    from fireassay.api.records import served, survey

    cache = survey.folder(os.environ)
    listener = served.listening(arguments.host, arguments.port)
    if not served.is_loopback(arguments.host):
        say("warning: whoever can reach this address can read these records; there is no password and no encryption", file=sys.stderr)
    if not arguments.no_judge:
        _judge(arguments.root, cache)
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    say(f"serving {arguments.root} at http://{host}:{listener.getsockname()[1]}/  (Ctrl-C ends)", flush=True)
    site = served.Site(root=arguments.root, cache=cache, title=arguments.title, clock=SystemClock(), watch=bar)
    app = served.application(site, served.hosts_of(arguments.host, exposed=arguments.expose))
    served.server(app).run(sockets=[listener])


def _judge(root: Path, cache: Path) -> None:
    """Judge new records, unless a run is measuring: judging takes processors from it."""
    from fireassay.api.records.survey import survey

    entries = survey(root, cache)
    running = [entry for entry in entries if entry.state == "running"]
    if running and any(entry.judgeable for entry in entries):
        say("a run is measuring: new records are judged when their pages are opened", file=sys.stderr)
        return
    judged_entries(entries, cache)


def _refuse_what_cannot_be(arguments: argparse.Namespace) -> None:
    """Raises SpecError, EnvironmentLacks or RecordError before anything listens."""
    from fireassay.api.records.served import is_loopback

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise EnvironmentLacks(f"assay serve needs {' and '.join(missing)}: pip install 'fireassay[serve]'")
    problems = []
    if not is_loopback(arguments.host) and not arguments.expose:
        fix = "Add --expose to let other machines read these records."
        problems.append(Problem("--host", arguments.host, "an address of this machine alone, such as 127.0.0.1", fix))
    if not 0 <= arguments.port <= 65_535:
        problems.append(Problem("--port", str(arguments.port), "0 to 65535; 0 takes a free one"))
    refuse_any(problems, "the command line")
    if not arguments.root.is_dir() and arguments.root != Path("records"):
        raise RecordError(f"{arguments.root} is not a folder of records. Give it with --root.")


VERB = Verb(
    name="serve",
    group="records",
    call="fireassay.api.records.served.application",
    summary="show all records in a browser, with the progress of runs in flight",
    description="""Serve the site of `assay site` on this machine, and the progress of runs in flight: launches ended and planned, what runs now, the time
left, and provisional numbers. Everything is made from the records when a page is opened; nothing is stored but verdicts in your cache
folder. Needs the extra: pip install 'fireassay[serve]'

    assay serve                              # the records below ./records, at a free port
    assay serve --root /data/records --port 8000
    ssh -L 8000:127.0.0.1:8000 machine       # from elsewhere, through ssh rather than with --expose

Only this machine can reach it, unless --host and --expose say otherwise. Ctrl-C ends it, with exit code 0.""",
    add_arguments=_add_arguments,
    run=_run,
    exits={0: "ended by Ctrl-C", 7: "starlette or uvicorn is missing, or the port is in use"},
    tables=True,
)
