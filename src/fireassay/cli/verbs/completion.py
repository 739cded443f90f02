"""`assay completion`: how does a shell complete verbs, flags, records and metrics?"""

from __future__ import annotations

import argparse

from fireassay.cli.support.completion import SHELLS
from fireassay.cli.support.verb import Verb, add_root


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", choices=SHELLS, metavar="SHELL", help=f"the shell: {', '.join(SHELLS)}")
    parser.add_argument("--names", choices=("records", "targets"), metavar="WHAT", help="for the scripts: records, or targets")
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.cli.support import completion

    if arguments.names is not None:
        print("\n".join(completion.names(arguments.names, arguments.root)))
        return 0
    if arguments.shell is None:
        from fireassay.errors import refuse

        remedy = "".join(f"\n  assay completion {shell}" for shell in SHELLS)
        raise refuse("assay completion", "no shell", fix=remedy, source="the command line")
    print(completion.script(arguments.shell))
    return 0


VERB = Verb(
    name="completion",
    group="instrument",
    summary="print a completion script for bash, zsh or fish",
    description="""Print a script that completes verbs, flags, records, latest:KIND, metrics and files with TAB.

    assay completion bash > ~/.local/share/bash-completion/completions/assay
    assay completion zsh > ~/.zfunc/_assay     in a folder of $fpath
    assay completion fish > ~/.config/fish/completions/assay.fish

Start a new shell afterwards; write the script again after an update. Names of records are those of ./records, or of the
folder that `assay config` shows.""",
    add_arguments=_add_arguments,
    run=_run,
)
