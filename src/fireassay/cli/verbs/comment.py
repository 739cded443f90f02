"""`assay comment`: how does a verdict come under a pull request, once?"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from fireassay.cli.support.verb import Verb
from fireassay.errors import refuse
from fireassay.printable import say


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the Markdown of `assay gate --markdown FILE`")
    parser.add_argument("--name", default="gate", metavar="NAME", help="of the comment, where a request has several (default: gate)")


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.ci import comments

    comments.marker(arguments.name)
    try:
        text = arguments.file.read_text(errors="replace")
    except OSError as error:
        fix = "`assay gate --markdown FILE` writes it."
        raise refuse("FILE", f"{arguments.file} ({error.strerror})", "a file of Markdown", fix, source="the command line") from None
    address = comments.post(os.environ, text, arguments.name)
    if address:
        say(address)
    else:
        say("no open pull request has this commit as its head: nothing is posted", file=sys.stderr)
    return 0


VERB = Verb(
    name="comment",
    group="judge",
    summary="put a verdict under a pull request, as one comment",
    description="""Put the Markdown of a gate under the pull request of this job: one comment, which the next run changes.

    assay gate origin/main --markdown comment.md -- python work.py
    assay comment comment.md

For a workflow of GitHub on pull_request or workflow_run with GITHUB_TOKEN, and for a job of a GitLab merge request with GITLAB_TOKEN in
the environment. The comment has at most 25 lines and a link to the run. Its text is not trusted: it cannot link, mention or embed.

Exit codes: 0 posted, or no open request has this head; 2 bad input or no pull request; 7 no token, or the API refused or failed.""",
    add_arguments=_add_arguments,
    run=_run,
    call="fireassay.api.ci.comments.post",
    exits={0: "posted", 7: "no token, or the API refused"},
)
