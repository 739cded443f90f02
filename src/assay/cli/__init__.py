"""The command line: `assay VERB`.  The only place that exits the process."""

from __future__ import annotations

import argparse
import os
import sys

from assay import __version__, catalog
from assay.cli.base import Verb
from assay.errors import EXIT_CODES, AssayError

GROUPS = {"measure": "measure", "judge": "judge", "records": "records", "instrument": "instrument"}


def main(arguments: list[str] | None = None) -> int:
    """Run one verb and return the exit code of `assay.errors.EXIT_CODES`."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        return _dispatch(words)
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("assay: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`assay list | head`); nothing is left to say to anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _dispatch(words: list[str]) -> int:
    if words and words[0] in catalog.names("cli"):
        verb: Verb = catalog.load("cli", words[0])
        parser = _verb_parser(verb)
        return verb.run(parser.parse_args(words[1:]))
    parser = _top_parser()
    if not words:
        parser.print_help()
        return 2
    parser.parse_args(words)
    return 2


def _verb_parser(verb: Verb) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"assay {verb.name}", description=verb.description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verb.add_arguments(parser)
    return parser


def _top_parser() -> argparse.ArgumentParser:
    verbs: dict[str, Verb] = {name: catalog.load("cli", name) for name in catalog.names("cli")}
    lines = []
    for group, title in GROUPS.items():
        members = [verb for verb in verbs.values() if verb.group == group]
        if members:
            lines.append(f"{title}:")
            lines += [f"  {verb.name:<9} {verb.summary}" for verb in members]
    lines += ["", "exit codes:", *(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())]
    parser = argparse.ArgumentParser(
        prog="assay",
        usage="assay VERB [options]     (assay VERB --help explains one verb)",
        description="The measuring instrument for distributed AI: one experiment in, one sealed record out, "
        "a verdict over correctness, performance, cost and reliability.",
        epilog="\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    parser.add_argument("verb", metavar="VERB", choices=sorted(verbs), help="one of the verbs below")
    return parser
