"""Which words ask the same again?  The flags that were given, as the parser of the verb declares them, for the command of a next step."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any, Final

from fireassay.cli.support.output import add_formats
from fireassay.cli.support.verb import Parser, Verb, add_common, share

OF_COMPARE: Final = ("--varying", "--primary", "--at", "--root", "--history", "--day-to-day", "--force")  # `compare` and `check` have them
OF_OUTPUT: Final = ("--junit", "--markdown", "--show", "--push", "--trust")  # what a command to be read and run need not repeat


def flags(verb: Verb, arguments: argparse.Namespace, *, leave: Collection[str] = (), only: Collection[str] = ()) -> list[str]:
    """The given flags with their values; without those on output, those in `leave`, and with `only` no others."""
    parser, shape = (Parser(prog=verb.name, description="") for _ in range(2))
    verb.add_arguments(parser)
    add_formats(shape)
    add_common(shape)
    left = {*OF_OUTPUT, *leave, *shape._option_string_actions}
    words: list[str] = []
    for action in parser._actions:
        name = next((option for option in action.option_strings if option.startswith("--")), "")
        value = getattr(arguments, action.dest, None)
        if name and name not in left and (not only or name in only) and value is not None and value != parser.get_default(action.dest):
            words += _written(name, action, value)
    return words


def _written(name: str, action: argparse.Action, value: Any) -> list[str]:
    if action.nargs == 0:
        return [name] if value == action.const else []
    if action.nargs == "?" and value == action.const:
        return [name]
    texts = [f"{100.0 * each:g}%" if action.type is share else str(each) for each in (value if isinstance(value, list) else [value])]
    return [word for text in texts for word in ([f"{name}={text}"] if text.startswith("-") else [name, text])]
