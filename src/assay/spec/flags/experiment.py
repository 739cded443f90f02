"""How do command-line flags become an experiment, alone or on top of a file?

    assay run --workers 1,2,4 --launches 5 -- train.py --epochs 3
    assay run examples/digits.toml --launches 3

Every flag stands for one key of the experiment (`FLAGS`), and a flag overrides the file's key.  The words after `--`
are the script and its arguments.  Values are taken as text here and checked together with everything else, so that a
wrong flag, a wrong key in the file and a missing script are told in one message.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.clock import SystemClock
from assay.errors import Problem, SpecError

if TYPE_CHECKING:
    import argparse

    from assay.spec.experiment import Experiment

PREFIX = "key_"  # of the namespace's attributes, so that the verb's own flags never collide with these
NAME_LENGTH = 80
PRICE_SOURCE = "given as --price"


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A flag and the key that it stands for."""

    name: str
    path: str
    metavar: str
    help: str
    many: bool = False  # may be given more than once

    @property
    def switch(self) -> bool:
        """Whether it takes no value: it stands for true."""
        return not self.metavar


def _flag(name: str, path: str, metavar: str, help: str, many: bool = False) -> Flag:
    return Flag(name=name, path=path, metavar=metavar, help=help, many=many)


FLAGS: tuple[Flag, ...] = (
    _flag("--workers", "factor.levels", "1,2,4", "worker counts to run"),
    _flag("--launches", "launches.per_configuration", "N", "launches of each worker count (5)"),
    _flag("--seed", "launches.seed", "N", "fixes the order, the seeds and the fault times"),
    _flag("--confidence", "launches.confidence", "C", "confidence of every interval (0.95)"),
    _flag("--precision", "launches.precision", "P", "add launches until intervals reach this fraction to either side (0.02)"),
    _flag("--at-most", "launches.at_most", "N", "with --precision: most launches of each worker count (60)"),
    _flag("--repeat", "noise.repeat", "N", "how often a launch that was disturbed is made again (0)"),
    _flag("--name", "name", "NAME", "names the record (the script's name)"),
    _flag("--runner", "workload.runner", "NAME", "which runner drives the script (training)"),
    _flag("--work", "workload.work", "UNIT", "what one unit of useful work is called (items)"),
    _flag(
        "--parallelism", "workload.parallelism", "HOW", "auto (by what is seen), data, sharded, tensor, pipeline, local_sgd, mixed or none"
    ),
    _flag("--env", "workload.environment", "NAME=TEXT", "a variable set for the script; may be repeated", many=True),
    _flag("--steps", "workload.steps", "N", "end each launch after N steps beyond the warm-up, of a job that runs for days"),
    _flag("--fresh-folder", "workload.fresh_folder", "", "run each launch in a fresh copy of the working folder"),
    _flag("--scaling", "scaling.mode", "MODE", "auto (by the recorded work), strong (total work fixed) or weak (work per worker fixed)"),
    _flag("--base", "scaling.base", "N", "the worker count that speedups are relative to (the smallest)"),
    _flag("--time", "scaling.time", "WHICH", "which time is compared: auto, step or wall"),
    _flag("--quality-metric", "quality.metric", "NAME", "the score that decides whether quality was held"),
    _flag("--quality-direction", "quality.direction", "DIR", "higher or lower is better"),
    _flag("--margin", "quality.margin", "M", "largest loss of mean score that counts as held (0.01)"),
    _flag("--chance", "quality.chance", "Q", "mean score of who guesses; a reference must be above it"),
    _flag("--efficiency", "gates.efficiency", "E", 'smallest admissible efficiency (0.70), or "none"'),
    _flag("--deadline", "gates.deadline_s", "S", "longest admissible wall time, seconds"),
    _flag("--budget", "gates.budget_usd", "USD", "highest admissible cost of one run; needs --price"),
    _flag("--only", "verdict.only", "WHAT", "ask about these dimensions alone: correctness, performance, cost, reliability"),
    _flag("--required-workers", "gates.required_workers", "N", "this worker count must be admissible"),
    _flag("--price", "prices.usd_per_worker_hour", "USD", "price of one worker for one hour"),
    _flag("--price-date", "prices.date", "DATE", "date of the price (today)"),
    _flag("--price-source", "prices.source", "TEXT", "where the price is from"),
    _flag("--energy", "energy.source", "SOURCE", "auto, none, rapl, nvml or modelled"),
    _flag("--watts", "energy.modelled_watts_per_worker", "W", "watts of one worker, for --energy modelled"),
    _flag("--fault", "faults", "KIND", "add fault launches of this kind (kill); may be repeated", many=True),
    _flag("--launcher", "launcher.kind", "NAME", "where the workers run (local)"),
    _flag("--max-restarts", "launcher.max_restarts", "N", "restarts allowed in a fault launch (3)"),
    _flag("--threads", "launcher.threads_per_worker", "N", "threads of every worker (1)"),
    _flag("--pin", "launcher.pin", "HOW", "processors of a worker: none, spread or compact"),
    _flag("--nodes", "launcher.nodes", "N", "nodes that take part (1)"),
    _flag("--node-rank", "launcher.node_rank", "N", "this node's number, from 0"),
    _flag("--rendezvous-endpoint", "launcher.rendezvous_endpoint", "HOST:PORT", "where several nodes meet"),
    _flag("--rendezvous-id", "launcher.rendezvous_id", "ID", "the job's id, shared by all nodes"),
    _flag("--timeout", "limits.launch_timeout_s", "S", "seconds after which a launch is ended (3600)"),
    _flag("--total-timeout", "limits.experiment_timeout_s", "S", "seconds after which no further launch starts"),
)


def add_flags(parser: argparse.ArgumentParser, only: Iterable[str] | None = None) -> None:
    """Declare the experiment's file, every flag (or those named), and the command after `--` (`after_dashes` of the namespace).

    Values stay text: they are checked by `experiment_from`.
    """
    named = None if only is None else frozenset(only)
    keep_command(parser)
    parser.usage = "%(prog)s [options] [FILE] [-- SCRIPT ARGUMENT ...]"
    parser.add_argument("experiment", nargs="?", metavar="FILE", help="an experiment's TOML file")
    group = parser.add_argument_group("keys of the experiment", "Each overrides the key of the file, if one is given.")
    for flag in FLAGS:
        if named is not None and flag.name not in named:
            continue
        kind: dict[str, str] = {"action": "append" if flag.many else "store", "metavar": flag.metavar}
        if flag.switch:
            kind = {"action": "store_const", "const": "true"}
        group.add_argument(flag.name, dest=_attribute(flag), help=f"{flag.help}  [{flag.path}]", **kind)  # type: ignore[arg-type]


def split_at_dashes(words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """What stands before the first `--`, and the user's own command after it."""
    if "--" not in words:
        return list(words), ()
    place = list(words).index("--")
    return list(words[:place]), tuple(words[place + 1 :])


def keep_command(parser: argparse.ArgumentParser) -> None:
    """Let the parser put the words after `--` in `after_dashes`.

    argparse cannot: it forgets where `--` stood, and it gives up on optional positional words round options.
    """
    parse = parser.parse_known_args

    def parse_before_dashes(args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        before, after = split_at_dashes(sys.argv[1:] if args is None else args)
        found, unknown = parse(before, namespace)
        found.after_dashes = after
        return found, unknown

    parser.parse_known_args = parse_before_dashes  # type: ignore[method-assign, assignment]


def experiment_from(
    namespace: argparse.Namespace, words_after_dashes: Sequence[str] | None = None, *, today: date | None = None
) -> tuple[Experiment, Path]:
    """The experiment, and the folder that its script is relative to.

    Args:
        namespace: what a parser with `add_flags` gave.
        words_after_dashes: script and arguments; they override those of the file. Default: the namespace's own.
        today: the date of a price that was given without one.

    Raises:
        SpecError: every problem of the file, the flags and the script at once.
    """
    command = tuple(getattr(namespace, "after_dashes", ()) if words_after_dashes is None else words_after_dashes)
    given = {flag: value for flag in FLAGS if (value := getattr(namespace, _attribute(flag), None)) is not None}
    file = getattr(namespace, "experiment", None)
    _something_to_run(file, command)
    from assay.spec.load import checked, parse

    data, lines = parse(Path(file)) if file else ({}, {})
    folder = Path(file).parent if file and not command else Path()
    merged, problems = merge(data, given, command, today or SystemClock().utc().date())
    source = " and ".join([*([str(file)] if file else []), *(["the flags"] if given or not file else [])])
    try:
        experiment = checked(merged, folder, source, lines)
    except SpecError as error:
        found = (_as_flag(problem, given, bool(file)) for problem in error.problems if not _told(problem, problems))
        raise SpecError((*problems, *found), source) from None
    if problems:
        raise SpecError(tuple(problems), source)
    return experiment, folder


def merge(
    data: Mapping[str, Any], given: Mapping[Flag, str | list[str]], command: Sequence[str], today: date
) -> tuple[dict[str, Any], list[Problem]]:
    """A file's keys with the flags' values and the command in their places, and the flags that could not be read."""
    merged = copy.deepcopy(dict(data))
    problems: list[Problem] = []
    for flag, value in given.items():
        _apply(merged, flag, value, problems)
    if any(flag.path == "prices.usd_per_worker_hour" for flag in given):
        prices = _section(merged, "prices")
        prices.setdefault("source", PRICE_SOURCE)
        prices.setdefault("date", today)
    if command:
        workload = _section(merged, "workload")
        workload["script"], workload["arguments"] = command[0], list(command[1:])
        merged.setdefault("name", name_from(command[0]))
    return merged, problems


def name_from(script: str) -> str:
    """A record's name from a script's: "my train.py" gives "my-train"."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(script).stem).strip("-._")
    return name[:NAME_LENGTH] or "experiment"


def _attribute(flag: Flag) -> str:
    return PREFIX + flag.name.removeprefix("--").replace("-", "_")


def _something_to_run(file: str | None, command: Sequence[str]) -> None:
    example = "For example: assay run --workers 1,2,4 -- train.py --epochs 3"
    if file is None and not command:
        allowed = "an experiment's TOML file, or a script after --"
        raise SpecError((Problem(where="what to run", found="neither", allowed=allowed, mend=f"{example}."),), "the flags")
    if file is not None and file.endswith(".py"):
        mend = f"Put -- before the script: assay run --workers 1,2,4 -- {file}"
        raise SpecError((Problem(where=file, found="a script", allowed="an experiment's TOML file", mend=mend),), file)


def _section(data: dict[str, Any], name: str) -> dict[str, Any]:
    section = data.get(name)
    if not isinstance(section, dict):  # of the wrong type in the file: the flags' own section is checked instead
        section = data[name] = {}
    return section


def _apply(data: dict[str, Any], flag: Flag, value: str | list[str], problems: list[Problem]) -> None:
    if flag.path == "faults":
        data["faults"] = [{"kind": kind} for kind in value]
        return
    section, _, key = flag.path.partition(".")
    place = _section(data, section) if key else data
    if flag.path == "workload.environment":
        in_file = place.get(key)
        place[key] = {**(in_file if isinstance(in_file, dict) else {}), **_variables(flag, value, problems)}
        return
    read = _read(flag, str(value))
    if isinstance(read, Problem):
        problems.append(read)
    else:
        place[key or section] = read


def _variables(flag: Flag, pairs: Iterable[str], problems: list[Problem]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            problems.append(Problem(where=flag.name, found=pair, allowed="NAME=TEXT", mend=f"{flag.name} {pair}=1"))
        else:
            variables[name] = text
    return variables


def _read(flag: Flag, text: str) -> object:
    """The value of a flag in its key's type, or the problem."""
    from assay.spec.experiment import Experiment
    from assay.spec.keys import keys

    key = keys(Experiment)[flag.path]
    try:
        if key.type == "whole number":
            return _whole(text)
        if key.type == "number":
            return "none" if text == "none" and flag.path == "gates.efficiency" else float(text)
        if key.type == "true or false":
            return text == "true"
        if key.type.startswith("list"):
            parts = text.split(",")
            return [_whole(part) for part in parts] if "number" in key.type else [part.strip() for part in parts]
        return date.fromisoformat(text) if key.type == "date" else text
    except ValueError:
        return Problem(where=flag.name, found=text or "nothing", allowed=key.allowed, mend=_example(flag))


def _whole(text: str) -> int:
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", text) or len(text) > sys.int_info.default_max_str_digits:
        raise ValueError(text)
    return int(text)


def _example(flag: Flag) -> str:
    return "Write them with commas and no spaces: --workers 1,2,4." if flag.path == "factor.levels" else ""


def _told(problem: Problem, told: Sequence[Problem]) -> bool:
    """Whether a missing key is missing only because its flag could not be read."""
    unread = {flag.path for flag in FLAGS for one in told if one.where == flag.name}
    return _path(problem) in unread or (_path(problem) == "factor" and "factor.levels" in unread)


def _path(problem: Problem) -> str:
    return problem.where.partition(" (line ")[0].partition("[")[0]


def _as_flag(problem: Problem, given: Mapping[Flag, object], with_file: bool) -> Problem:
    """The problem under the flag's name where the value came from a flag, or where there is no file to mend."""
    path = _path(problem)
    flag = next((flag for flag in FLAGS if flag.path == path and (flag in given or not with_file)), None)
    if path == "workload.script" and not with_file:
        return replace(problem, where="the script after --")
    if path == "factor" and not with_file:
        return Problem(where="--workers", found="nothing", allowed="worker counts", mend="Add --workers 1,2,4.")
    if flag is None:
        return problem
    mend = _mend(flag, problem) if flag in given else f"Add {flag.name} {flag.metavar}."
    return replace(problem, where=flag.name, mend=mend)


def _mend(flag: Flag, problem: Problem) -> str:
    """Flags are mended by flags."""
    return "Add --price USD." if flag.path == "gates.budget_usd" and "[prices]" in problem.mend else problem.mend
