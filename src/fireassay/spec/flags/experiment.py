"""How do command-line flags become an experiment, alone or on top of a file?

    assay run --workers 1,2,4 --launches 5 -- train.py --epochs 3
    assay run examples/digits.toml --launches 3

Every flag sets one key of the experiment and overrides the file's.  The words after `--` are the script and its arguments.  Values
are read as text and validated together with everything else, so that a wrong flag, a wrong key in the file and a missing script
share one message.
"""

from __future__ import annotations

import copy
import re
import shlex
import shutil
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.clock import SystemClock
from fireassay.errors import Problem, SpecError, refuse, refuse_any
from fireassay.spec.flags.of_verb import KeyFlag, Stored, Text, declare, given, put, put_all
from fireassay.spec.model import PRICE_SOURCE

if TYPE_CHECKING:
    import argparse

    from fireassay.spec.experiment import Experiment

BETWEEN = "---"  # between two commands to be timed; no program has an option of this name
NAME_LENGTH = 80
# Of a script without a file: launches are added until the answer is decided.
BUDGET_S, FIRST_LAUNCHES, MOST_LAUNCHES = 600.0, 3, 20
QUICK_LEVELS = [1, 2]  # of --quick, if no flag and no file names any
NOT_QUICK = ("--launches", "--budget", "--precision", "--at-most", "--fault")  # what one launch cannot do


def add_flags(parser: argparse.ArgumentParser, flags: Iterable[KeyFlag]) -> None:
    """Declare the experiment file, some flags, and the command after `--` (`after_dashes` of the namespace).

    Values stay text until `experiment_from` checks them.
    """
    keep_command(parser)
    parser.usage = "%(prog)s [options] [FILE] [-- SCRIPT ARGUMENT ...]"
    parser.add_argument(
        "experiment", nargs="?", metavar="FILE", help="an experiment's TOML file, or a record whose experiment is run again"
    )
    group = parser.add_argument_group("keys of the experiment", "Each overrides the key of the file, if one is given.")
    declare(group, flags)


def split_at_dashes(words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The words before the first `--`, and the user's command after it."""
    if "--" not in words:
        return list(words), ()
    index = list(words).index("--")
    return list(words[:index]), tuple(words[index + 1 :])


def keep_command(parser: argparse.ArgumentParser) -> None:
    """Let the parser put the words after `--` in `after_dashes`.

    argparse cannot: it forgets the position of `--` and fails on optional positionals around options.
    """
    parse = parser.parse_known_args

    def parse_before_dashes(args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        before, after = split_at_dashes(sys.argv[1:] if args is None else args)
        parsed, unknown = parse(before, namespace)
        parsed.after_dashes = after
        return parsed, unknown

    parser.parse_known_args = parse_before_dashes  # type: ignore[method-assign, assignment]


def experiment_from(
    namespace: argparse.Namespace, flags: Sequence[KeyFlag], *, today: date | None = None, stored: Stored | None = None
) -> tuple[Experiment, Path]:
    """The experiment, and the folder that its script is relative to.

    Args:
        namespace: from a parser with `add_flags`. The words after `--` override the file's script and arguments.
        flags: those of the parser.
        today: date for prices given without one.
        stored: what the positional argument names, if it is a record and no file.

    Raises:
        SpecError: every problem of the file, the flags and the script at once.
    """
    command = tuple(getattr(namespace, "after_dashes", ()))
    texts = given(namespace, flags)
    file = getattr(namespace, "experiment", None)
    _something_to_run(file, command, texts, stored)
    _refuse_not_quick(texts)
    from fireassay.spec.load import checked
    from fireassay.spec.toml_file import parse

    default = {} if _is_program(command, texts) else until_decided(texts, flags)
    data, text = (stored.data, "") if stored else parse(Path(file)) if file else (default, "")
    folder = Path() if command or not file else stored.folder if stored else Path(file).parent
    merged, problems = merge(data, texts, command, today or SystemClock().utc().date())
    source = " and ".join([*([str(file)] if file else []), *(["the flags"] if texts or not file else [])])
    unread = {item.path for item in flags for problem in problems if problem.where == item.name}
    try:
        experiment = checked(merged, folder, source, text)
    except SpecError as error:
        more = (_as_flag(problem, texts, flags, bool(file)) for problem in error.problems if not _missing_unread(problem, unread))
        raise SpecError((*problems, *more), source) from None
    refuse_any(problems, source)
    return experiment, folder


def merge(
    data: Mapping[str, Any], texts: Mapping[KeyFlag, Text], command: Sequence[str], today: date
) -> tuple[dict[str, Any], list[Problem]]:
    """A file's keys overridden by the flags and the command, and the flags that could not be read."""
    merged = copy.deepcopy(dict(data))
    paths = {item.path for item in texts}
    if isinstance(merged.get("launches"), dict):
        merged["launches"].pop("quick", None)  # a record's: run again without the flag, it is judged
    if "launches.quick" in paths and "factor.levels" not in paths and "factor" not in merged:
        put(merged, "factor.levels", [1] if _commands(texts) or _is_program(command, texts) else QUICK_LEVELS)
    if _is_program(command, texts):
        put(merged, "workload.runner", "command")
    _fix_the_number(merged, paths)
    problems = put_all(merged, texts)
    if any(item.path == "prices.usd_per_worker_hour" for item in texts):
        before = merged.get("prices")
        merged["prices"] = {"source": PRICE_SOURCE, "date": today, **(before if isinstance(before, dict) else {})}
    if command:
        words = 2 if command[0] == "-m" else 1  # -m MODULE is one script
        script = " ".join(command[:words])
        put(merged, "workload.script", script)
        put(merged, "workload.arguments", list(command[words:]))
        merged.setdefault("name", name_from(script) if script.startswith("-m ") else named(command))
    return merged, problems


def _fix_the_number(data: dict[str, Any], flags: Container[str]) -> None:
    """A number of launches given by a flag is fixed, whatever the file's budget."""
    if "launches.per_configuration" in flags and "launches.budget_s" not in flags and isinstance(data.get("launches"), dict):
        data["launches"].pop("budget_s", None)
        if "launches.at_most" not in flags and data["launches"].get("precision") is None and "launches.precision" not in flags:
            data["launches"].pop("at_most", None)  # it bounds what is no longer added


INTERPRETER: Final = re.compile(r"(?:python|pypy|ruby|perl|node|bash|zsh|sh|julia|Rscript)[\d.]*")
SCRIPTS: Final = (".py", ".sh", ".js", ".rb", ".pl", ".jl", ".R")
DECIDED: Final = ("training", "program")  # runners whose worker counts are decided on


def until_decided(texts: Mapping[KeyFlag, Text], flags: Sequence[KeyFlag]) -> dict[str, Any]:
    """What a script without a file is run with: launches until the answer is decided, unless a flag says how many, or there is one count."""
    asked = {item.path: text for item, text in texts.items()}
    several = "," in str(asked.get("factor.levels", "," if "launches.quick" in asked else ""))
    if (
        not several
        or "launches.per_configuration" in asked
        or "launches.precision" in asked
        or asked.get("workload.runner", "training") not in DECIDED
    ):
        return {}
    known = any(item.path == "launches.budget_s" for item in flags)
    return {"launches": {"budget_s": BUDGET_S, "per_configuration": FIRST_LAUNCHES, "at_most": MOST_LAUNCHES}} if known else {}


def _commands(texts: Mapping[KeyFlag, Text]) -> bool:
    """True if the runner times a command or a function, which has no workers."""
    return any(item.path == "workload.runner" and text in ("command", "function") for item, text in texts.items())


def _is_program(command: Sequence[str], texts: Mapping[KeyFlag, Text]) -> bool:
    """True if --quick was given a program of the PATH, such as python: its starts are timed."""
    paths = {item.path for item in texts}
    if "launches.quick" not in paths or {"workload.runner", "factor.levels"} & paths or not command:
        return False
    script = command[0].endswith(".py") or ("/" not in command[0] and Path(command[0]).exists())
    return not script and shutil.which(command[0]) is not None


def _refuse_not_quick(texts: Mapping[KeyFlag, Text]) -> None:
    """Refuse flags that one launch of each worker count cannot satisfy."""
    names = {item.name: text for item, text in texts.items()}
    if "--quick" in names:
        allowed = "one launch of each worker count, which --quick is"
        wrong = [Problem(name, str(names[name]), allowed, f"Leave out --quick, or {name}.") for name in NOT_QUICK if name in names]
        refuse_any(wrong, "the flags")


def name_from(script: str) -> str:
    """A record's name from a script's: "my train.py" gives "my-train", "-m pkg.train" gives "pkg-train"."""
    stem = script[3:].replace(".", "-") if script.startswith("-m ") else Path(script).stem
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")
    return name[:NAME_LENGTH] or "experiment"


def named(words: Sequence[str]) -> str:
    """A record's name: the script or module that an interpreter runs, else the program. Other words may hold secrets."""
    program, *rest = words
    if INTERPRETER.fullmatch(Path(program).name):
        script = next((word for word in rest if not word.startswith("-")), "")
        before = rest[rest.index(script) - 1] if script in rest[1:] else ""
        if before == "-m":
            return name_from(f"-m {script}")
        suffix = Path(script).suffix
        if suffix in SCRIPTS or (suffix and not before.startswith("-")):  # python -u job.py; the value of an option may be anything
            return name_from(script)
    return name_from(program)


def _something_to_run(file: str | None, command: Sequence[str], texts: Mapping[KeyFlag, Text], stored: Stored | None) -> None:
    if file is None and not command:
        examples = "\n  assay run experiment.toml\n  assay run --workers 1,2,4 -- train.py --epochs 3"
        found = "no experiment file, and no script after --"
        raise refuse("nothing to run", found, fix=examples, source="the flags")
    if file is not None and stored is None and re.fullmatch(r"[0-9,]+", file) and not Path(file).exists():
        raise refuse(file, "a number by itself", "an experiment's TOML file", "A list has no spaces, as in --workers 1,2,4.", source=file)
    if file is not None and file.endswith(".py"):
        words = shlex.join(_words(texts)) or "--workers 1,2,4"
        remedy = f"Put -- before the script:\n  assay run {words} -- {shlex.quote(file)}"
        raise refuse(file, "a script", "an experiment's TOML file", remedy, source=file)


def _words(texts: Mapping[KeyFlag, Text]) -> Iterator[str]:
    """The given flags as words of a command line."""
    for item, text in texts.items():
        if isinstance(text, bool):
            yield item.name if text else f"--no-{item.name.removeprefix('--')}"
        else:
            for part in text if isinstance(text, list) else [text]:
                yield from (item.name, part)


def _missing_unread(problem: Problem, unread: Container[str]) -> bool:
    """True if a key is missing only because its flag could not be read."""
    return _path(problem) in unread or (_path(problem) == "factor" and "factor.levels" in unread)


def _path(problem: Problem) -> str:
    return problem.where.partition("[")[0]


def _as_flag(problem: Problem, texts: Container[KeyFlag], flags: Iterable[KeyFlag], with_file: bool) -> Problem:
    """The problem under the flag's name if the value came from a flag, or if there is no file to fix."""
    path = _path(problem)
    item = next((item for item in flags if item.path == path and (item in texts or not with_file)), None)
    if path == "workload.script" and not with_file:
        return replace(problem, where="the script after --")
    if path == "factor" and not with_file:
        return Problem("--workers", "nothing", "worker counts", "Add --workers 1,2,4.")
    if item is None:
        return problem
    remedy = _remedy(item, problem) if item in texts else f"Add {item.name} {item.flag.metavar}."
    return replace(problem, where=item.name, fix=remedy, excerpt=None)


def _remedy(item: KeyFlag, problem: Problem) -> str:
    """The fix, written as a flag."""
    return "Add --price USD." if item.path == "gates.budget_usd" and "[prices]" in problem.fix else problem.fix
