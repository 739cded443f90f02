"""What must a verb's file declare, which flags do several verbs share, and what does a verb say of itself on one screen?

One file holds one `VERB`; its stem is the verb.  `assay --help` reads `group`, `summary` and `front` from the file's text, so the file says
`VERB = Verb(...)` with them as literals.  What only the work needs is imported in `run`: help and a wrong flag need no Polars.

The one screen (`--help`): first sentence, three examples, the flags that most people use, exit codes.  Sentence and examples are the
beginning of the verb's description, the flags' texts are those of its parser, and which flags are usual the verb declares (`Verb.usual`).
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from fireassay.cli.support.settings import COLOURS
from fireassay.printable import say, window

Group = Literal["measure", "judge", "records", "instrument"]
WIDTH: Final = 80
GROUP: Final = 9  # columns of a group's name
FLAG: Final = 22  # columns of a flag and its metavar
EXAMPLES: Final = 3
LONG: Final = 48  # a longer example does not move the remarks of the others
OUTPUT: Final = ("--quiet", "--full", "--json", "--html", "--markdown", "--color")  # those that a verb has, in one line
COMMON: Final = ("--help", "--help-all", *OUTPUT)
A_RECORD: Final = "a record: folder, id or name (its beginning suffices); latest, latest:KIND, latest:NAME"  # in help texts


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb of the command line."""

    name: str
    group: Group
    summary: str  # one line, shown by `assay help --all`
    call: str = ""  # what does the same for a program, as values; empty: only the command line has it
    front: int = 0  # its line in `assay --help`, from 1; 0: most people do without it
    description: str  # what it does: a sentence, examples, then the rest; `--help` shows the beginning, `--help-all` everything
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]  # returns the exit code; raises AssayError for known errors
    usual: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # group -> its flags that `--help` shows; empty: all
    exits: Mapping[int, str] = field(default_factory=lambda: {0: "done"})  # exit codes in a word; 2 is bad input everywhere
    tables: bool = False  # whether it reads the tables of records


# ---- flags of several verbs ------------------------------------------------------------------------------------------


def add_root(parser: argparse.ArgumentParser, where: str = "where records are looked up by name (default: records)") -> None:
    """Add the flag shared by all verbs that make records or take their names."""
    parser.add_argument("--root", type=Path, default=Path("records"), metavar="DIR", help=where)


def add_days(parser: argparse.ArgumentParser) -> None:
    """Add the flags on the variation between sessions."""
    parser.add_argument(
        "--history", metavar="STORE", help="folder or store of records: 5 or more comparable ones give the variation between sessions"
    )
    parser.add_argument(
        "--day-to-day",
        type=share,
        metavar="SHARE",
        help="assumed variation between sessions without a history (default: 0.15); interleaved records need none",
    )


def add_detect(parser: argparse.ArgumentParser) -> None:
    """Add the flag that asks a dry run for the number of launches."""
    help = "with --dry-run: how many launches show a change of this size (0.02)?"
    parser.add_argument("--detect", type=share, metavar="SHARE", help=help)


def share(text: str) -> float:
    """Argument type: a share between 0 and 1, also in per cent."""
    with suppress(ValueError):
        number, sign, _ = text.partition("%")
        if 0.0 < (value := float(number) / (100.0 if sign else 1.0)) < 1.0:
            return value
    raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1, for example 0.05 or 5%")


def loss(text: str) -> float:
    """Argument type: a loss of a score, as a flag of an experiment reads it."""
    from fireassay.spec import model  # pydantic, which help does without

    try:
        return model.loss(text)
    except model.Unreadable as error:
        raise argparse.ArgumentTypeError(f"{text} is not {error.allowed}") from None


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the flags of every verb that it has not declared itself."""
    if "--quiet" not in parser._option_string_actions:
        parser.add_argument("--quiet", action="store_true", help="no progress and no notes; the result and errors remain")
    parser.add_argument("--color", choices=COLOURS, metavar="auto|always|never", help="colour: on a terminal, always or never (auto)")


# ---- the parser ------------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """A parser that answers a wrong flag with one sentence and the closest valid flag (exit code 2)."""

    def __init__(self, *, prog: str, description: str, verb: Verb | None = None) -> None:
        super().__init__(prog=prog, description=description, formatter_class=_Formatter, allow_abbrev=False, add_help=False)
        self.verb = verb
        self.words: list[str] = []  # that are parsed
        self.add_argument("-h", "--help", action=_Help, nargs=0, dest=argparse.SUPPRESS, help="the flags that most people use")
        self.add_argument("--help-all", action=_Help, nargs=0, dest=argparse.SUPPRESS, help="every flag, with the key that it sets")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; an error may need the words."""
        self.words = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(self.words, namespace)

    def error(self, message: str) -> NoReturn:
        """Report the error, name the closest flag or what is missing, exit with 2."""
        say(f"error: {self.prog}: {message}.{self._closest(message) or self._missing(message)} See `{self.prog} --help`.", file=sys.stderr)
        self.exit(2)

    def _closest(self, message: str) -> str:
        flags = [flag for flag in self._option_string_actions if flag.startswith("--")]
        if "-- COMMAND" in (self.usage or "") and (match := re.match(r"unrecognized arguments: (?:--- )?(?!-)(.+)", message)):
            example = [] if not self._get_positional_actions() else _examples(self.description or "")
            return f" A command follows --, as in: {_split(example[0].strip())[0] if example else f'{self.prog} -- {match[1]}'}."
        if "--output" in flags and (match := re.fullmatch(r"unrecognized arguments: ([^\s-]\S*\.\w+)", message)):
            return f" To write to that file: --output {match[1]}."
        script = next((word for word in self.words if word.endswith(".py")), "")
        if script and "-- SCRIPT" in (self.usage or "") and (match := re.match(r"unrecognized arguments: (.+)", message)):
            return f" A script and its own options stand after --, as in: {self.prog} -- {script} {match[1]}."
        for word in re.findall(r"unrecognized arguments: (--[\w-]+)", message):
            close = difflib.get_close_matches(word, flags, n=1)
            return f" Did you mean {close[0]}?" if close else ""
        return " Leave it out, or quote words that belong together." if message.startswith("unrecognized arguments: ") else ""

    def _missing(self, message: str) -> str:
        """The value that a flag needs, or a whole command."""
        if match := re.match(r"argument (?:\S+/)?(--[\w-]+): expected ", message):
            return f" Write {_spelled(self._option_string_actions[match[1]])}: {_text(self._option_string_actions[match[1]])}."
        examples = _examples(self.description or "") if message.startswith("the following arguments are required") else []
        return f" For example: `{_split(examples[0].strip())[0]}`." if examples else ""


class _Help(argparse.Action):
    """Prints the help and ends, whatever else is missing."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object, option_string: str | None = None) -> None:
        verb = getattr(parser, "verb", None)
        print(parser.format_help() if verb is None or option_string == "--help-all" else brief(verb, parser), end="")
        parser.exit()


class _Formatter(argparse.HelpFormatter):
    """Fills paragraphs, keeps indented examples, and limits wide windows to 100 columns."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(window(sys.stdout), 100) - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = itertools.groupby(text.splitlines(), key=lambda line: not line or line.startswith(" "))
        shown = ["\n".join(lines) if as_it_is else textwrap.fill(" ".join(lines), width) for as_it_is, lines in parts]
        return textwrap.indent("\n".join(shown), indent)


# ---- the help on one screen ------------------------------------------------------------------------------------------


def brief(verb: Verb, parser: argparse.ArgumentParser) -> str:
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
