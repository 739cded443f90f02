"""`assay site`: which pages show all records, their trends and their differences to other people?"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from fireassay.cli.support.bar import bar
from fireassay.cli.support.verb import Verb, add_root
from fireassay.clock import SystemClock
from fireassay.errors import RecordError
from fireassay.printable import one_line, say

TITLE: Final = "Records"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to write the site: a new or empty folder, or an earlier site")
    add_root(parser, "the folder of the records (default: records)")
    parser.add_argument("--title", default=TITLE, metavar="TEXT", help=f"title of the first page (default: {TITLE})")


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.records import sides, survey
    from fireassay.api.records.site import opened, overviews, record_pages

    root: Path = arguments.root
    if not root.is_dir():
        raise RecordError(f"{root} is not a folder of records. Give it with --root.")
    cache = survey.folder(os.environ)
    site = opened(arguments.folder)

    def progress(page: str) -> None:
        if not arguments.quiet:
            say(f"writing {page}", file=sys.stderr)

    site.write(record_pages(survey.survey(root, cache), sides.Sides(cache, bar)), progress, _skipped)  # judges, and thereby fills the cache
    site.write(overviews(survey.survey(root, cache), arguments.title, SystemClock().utc()), progress, _skipped)
    site.close()
    unchanged = len(site.wanted) - site.written
    say(f"{arguments.folder / 'index.html'}: {site.written} pages written, {unchanged} unchanged")
    return 0


def _skipped(error: Exception) -> None:
    say(f"assay: skipped: {one_line(str(error))}", file=sys.stderr)


VERB = Verb(
    name="site",
    group="records",
    call="fireassay.api.records.site.record_pages",
    summary="write a static site over all records: table, trends, comparisons",
    description="""Write a site of plain files over all records of a folder: a table of the records, the page of each, the trend of each workload with its
change points, each record against the previous one of its workload, and any two side by side. It needs no server and no network.

    assay site public                      # the records below ./records
    assay site public --root /data/records
    python -m http.server -d public        # or copy the folder to any web server

Run it again after new records: only pages that change are written. Records that still run are listed with their state; `assay serve`
shows their progress. Comparisons and trends allow the code to differ, and nothing else, as `assay check` does.""",
    add_arguments=_add_arguments,
    run=_run,
    exits={0: "written"},
    tables=True,
)
