"""`assay config`: which defaults does the command line use, and where does each come from?"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from functools import partial

from fireassay.cli.support import settings
from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import Verb
from fireassay.printable import json_text


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.reports.pages.settings import page

    path = settings.path_of(os.environ)
    file = f"none, since ${settings.VARIABLE} is empty" if path is None else f"{path}{'' if settings.exists(path) else ' (does not exist)'}"
    rows = [dataclasses.asdict(origin) for origin in settings.origins(os.environ)]
    document = partial(json.dumps, {"file": None if path is None else str(path), "settings": rows}, indent=2, ensure_ascii=False)
    emit(Output(name="config", page=partial(page, file, rows), document=lambda: json_text(document())), arguments)
    return 0


VERB = Verb(
    name="config",
    group="instrument",
    summary="show the defaults of the command line, and where each comes from",
    description="""Show each default of the command line and where it comes from: a file of your own, the environment, or this program.

    assay config
    assay config --json
    FIREASSAY_CONFIG= assay list     without your own defaults

The file is ~/.config/fireassay.toml ($XDG_CONFIG_HOME is respected; FIREASSAY_CONFIG names another one, or none if empty):

    records = "~/records"     # where records are made and looked up, as --root
    color = "never"           # as --color
    width = 100               # columns of the output
    quiet = true              # no progress and no notes, as --quiet
    format = "markdown"       # without a flag
    open = true               # open a written HTML page in the browser
    export = ["csv=out/{record}"]  # after a verb that seals, as --to and --out of assay export

A flag overrides the file, the file $NO_COLOR and $COLUMNS. What changes a measurement (workers, launches, prices ...) is refused
in this file: it belongs into the experiment, so that two people with one experiment measure the same.""",
    add_arguments=_add_arguments,
    run=_run,
)
