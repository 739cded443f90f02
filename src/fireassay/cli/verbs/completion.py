"""`assay completion`: how does a shell complete verbs, flags, records and metrics?

Verbs, flags and fixed choices come from the parsers, and shtab writes the script.  shtab rather than argcomplete: its script answers
without starting Python at every TAB.  Only the names of records and experiments are asked for then (`assay completion --names`).
A name is offered only if it needs no quoting: shells expand the words that they are given, and a folder may be called `$(reboot)`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fireassay import catalog
from fireassay.cli.support.verb import Verb, add_common, add_root
from fireassay.errors import refuse
from fireassay.record.lookup import record_folders

SHELLS: Final = ("bash", "zsh", "fish")
PROGRAM: Final = "assay"
PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
RECORDS: Final = frozenset({"record", "records", "against"})  # destinations of arguments
TARGETS: Final = frozenset({"target", "experiment"})  # a record or a file


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", choices=SHELLS, metavar="SHELL", help=f"the shell: {', '.join(SHELLS)}")
    parser.add_argument("--names", choices=("records", "targets"), metavar="WHAT", help="for the scripts: records, or targets")
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.names is not None:
        print("\n".join(names(arguments.names, arguments.root)))
        return 0
    if arguments.shell is None:
        remedy = "".join(f"\n  assay completion {shell}" for shell in SHELLS)
        raise refuse("assay completion", "no shell", fix=remedy, source="the command line")
    print(script(arguments.shell))
    return 0


def script(shell: str) -> str:
    """The completion script for a shell."""
    import shtab

    return str(shtab.complete(_whole(), shell=shell))


def names(what: str, root: Path) -> Iterator[str]:
    """The records below a folder, newest first, with the words for the newest; or these and the experiment files here."""
    if what == "targets":
        yield from filter(PLAIN.fullmatch, sorted(str(path) for pattern in ("*.toml", "*/*.toml") for path in Path().glob(pattern)))
    yield "latest"
    yield from (f"latest:{kind}" for kind in catalog.names("kinds"))
    found = [path.name for path in record_folders(root)]
    yield from filter(PLAIN.fullmatch, sorted(found, key=lambda name: name.rsplit("-", 2)[1:], reverse=True))


def _whole() -> argparse.ArgumentParser:
    """One parser with every verb below it."""
    whole = argparse.ArgumentParser(prog=PROGRAM)
    verbs = whole.add_subparsers()
    for name, verb in catalog.load_all("cli.verbs").items():
        parser = verbs.add_parser(name, help=verb.summary, description=verb.summary)
        parser.add_argument("--help-all", action="store_true", help="every flag, with the key that it sets")
        verb.add_arguments(parser)
        add_common(parser)
        _complete(parser, name)
    return whole


def _complete(parser: argparse.ArgumentParser, verb: str) -> None:
    """Give every argument what shtab completes it with; the parser never parses, so its choices may be hints."""
    words = _words(verb)
    for action in parser._actions:
        if action.nargs == 0 or action.choices:
            continue
        if action.dest in words or action.metavar == "METRIC":
            action.choices = words.get(action.dest) or list(filter(PLAIN.fullmatch, catalog.names("metrics")))
        elif (completer := _completer(action)) is not None:
            action.complete = completer  # type: ignore[attr-defined]


def _words(verb: str) -> Mapping[str, list[str]]:
    """Attribute -> the words that a flag's key allows."""
    from fireassay.spec.flags.of_verb import flags_of

    return {item.attribute: item.key.type.split(" | ") for item in flags_of(verb) if " | " in item.key.type}


def _names_of(what: str) -> Any:
    """The names at the time of the TAB; shtab's own form would keep those at which zsh loaded the script."""
    import shtab

    command = f"{PROGRAM} completion --names {what}"
    return {**shtab.cmd(command), "zsh": f"(\\$({command}))"}


def _completer(action: argparse.Action) -> Any:
    """What shtab takes as the completion of an argument's value; None if there is none."""
    import shtab

    if action.dest in RECORDS:
        return _names_of("records")
    if action.dest in TARGETS:
        return _names_of("targets")
    if action.metavar in ("DIR", "ROOT"):
        return shtab.DIRECTORY
    return shtab.FILE if action.metavar in ("FILE", "PATH") or action.type is Path else None


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
