"""What does a verb say of itself on one screen?

Its first sentence, three examples, the flags that most people use, exit codes.  Sentence and examples are the beginning of the
verb's description, the flags' texts are those of its parser, and which flags are usual the verb declares (`Verb.usual`).
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

WIDTH: Final = 80
GROUP: Final = 9  # columns of a group's name
FLAG: Final = 22  # columns of a flag and its metavar
EXAMPLES: Final = 3
LONG: Final = 48  # a longer example does not move the remarks of the others
OUTPUT: Final = ("--quiet", "--full", "--json", "--html", "--markdown", "--color")  # those that a verb has, in one line
COMMON: Final = ("--help", "--help-all", *OUTPUT)


class Described(Protocol):
    """What a verb declares of its help."""

    @property
    def description(self) -> str:
        """A sentence, examples, then the rest."""

    @property
    def usual(self) -> Mapping[str, Sequence[str]]:
        """Group -> the flags that most people use."""

    @property
    def exits(self) -> Mapping[int, str]:
        """Exit codes in a word."""


def brief(verb: Described, parser: argparse.ArgumentParser) -> str:
    """The screen as text."""
    flags = {_name(action): action for action in parser._actions if action.option_strings}
    usual: Mapping[str, Sequence[str]] = verb.usual or {"options": _own(flags)}
    lines = [*textwrap.wrap(_sentence(verb.description), WIDTH), "", *_examples(verb.description), ""]
    for group, names in usual.items():
        lines += _group(group, [flags[name] for name in names])
    named = _named(usual)
    output = [_spelled(flags[name]) for name in OUTPUT if name in flags and name not in named]
    lines += _in_line("output", output)
    lines += _in_line("exit", [f"{code} {words}" for code, words in {**verb.exits, 2: "bad input"}.items()])
    rest = len(set(flags) - set(COMMON) - named)
    more = f"{rest} more option{'' if rest == 1 else 's'}, and all of the text: " if rest else "All of the text: "
    return "\n".join([*lines, f"{more}{parser.prog} --help-all"]) + "\n"


def _in_line(label: str, items: Sequence[str]) -> list[str]:
    """Items one after the other; a line ends only between two."""
    text = "  ".join(item.replace(" ", "\N{NO-BREAK SPACE}") for item in items)
    lines = textwrap.wrap(text, WIDTH, initial_indent=f"{label:<{GROUP}}", subsequent_indent=" " * GROUP)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _name(action: argparse.Action) -> str:
    return next((name for name in action.option_strings if name.startswith("--")), action.option_strings[0])


def _own(flags: Mapping[str, argparse.Action]) -> list[str]:
    """The flags that are not about output, which every verb has."""
    shape = {"--format", "--output", "--root", *(name for name, action in flags.items() if action.dest in ("form", "formats"))}
    return [name for name in flags if name not in shape and name not in COMMON]


def _named(usual: Mapping[str, Sequence[str]]) -> set[str]:
    return {name for names in usual.values() for name in names}


def _sentence(description: str) -> str:
    """The first paragraph up to its first full stop or colon."""
    paragraph = " ".join(description.partition("\n\n")[0].split())
    head, stop, _ = paragraph.partition(". ")
    return f"{head}." if stop else paragraph


def _examples(description: str) -> list[str]:
    """The first examples, indented by two columns, without remarks that do not fit."""
    lines = [line.strip() for line in description.splitlines() if line.startswith("  ") and line.strip().startswith("assay ")]
    pairs = [_split(line) for line in lines[:EXAMPLES]]
    width = max((len(command) for command, _ in pairs if len(command) <= LONG), default=0)
    rows = [f"  {command:<{width}}    {remark}".rstrip() for command, remark in pairs]
    return [row if len(row) <= WIDTH else f"  {command}" for row, (command, _) in zip(rows, pairs, strict=True)]


def _split(example: str) -> tuple[str, str]:
    command, _, remark = example.partition("  ")
    return command, remark.strip().removeprefix("#").strip()


def _spelled(action: argparse.Action) -> str:
    words = action.metavar if isinstance(action.metavar, str) else "|".join(action.choices) if action.choices else ""
    return f"{_name(action)} {'' if action.nargs == 0 else words}".rstrip()


def _group(name: str, actions: Sequence[argparse.Action]) -> Iterator[str]:
    margin = " " * (GROUP + FLAG)
    for number, action in enumerate(actions):
        label, flag = name if number == 0 else "", _spelled(action)
        text = textwrap.wrap(_text(action), WIDTH - len(margin))
        if len(flag) >= FLAG:
            yield f"{label:<{GROUP}}{flag}"
        else:
            yield f"{label:<{GROUP}}{flag:<{FLAG}}{text.pop(0) if text else ''}".rstrip()
        yield from (f"{margin}{line}" for line in text)


def _text(action: argparse.Action) -> str:
    """The flag's help, without the key that --help-all names."""
    return (action.help or "").partition("  [")[0].replace("%%", "%")
