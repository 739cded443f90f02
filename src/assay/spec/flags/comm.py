"""How do the flags of `assay comm` become an experiment?

    assay comm --workers 2,4 --ops all_reduce,all_gather --sizes 1K:256M

Every flag stands for one key (`FLAGS`); what is wrong is told under the names that the user wrote, all at once.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assay.errors import Problem, SpecError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from assay.spec.experiment import Experiment

WORKERS: Final = [2]
NAME: Final = "comm"
ALL_OPERATIONS: Final = "all"


def _whole(text: str) -> int:
    return int(text)


def _wholes(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _number(text: str) -> float:
    return float(text)


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _operations(text: str) -> list[str]:
    from assay.spec.sections.collectives import OPERATIONS

    return list(OPERATIONS) if text == ALL_OPERATIONS else _words(text)


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A flag, the key that it stands for, and how its text is read; `allowed` is what a text that cannot be read should be."""

    name: str
    path: str
    metavar: str
    help: str
    read: Callable[[str], Any] = str
    allowed: str = "text"

    @property
    def attribute(self) -> str:
        """The name under which the parser keeps it."""
        return "key_" + self.name.removeprefix("--").replace("-", "_")


_C = "collectives"
_COUNTS, _WHOLE, _NUMBER = "whole numbers with commas and no spaces, as in 2,4", "a whole number", "a number"
FLAGS: Final[tuple[Flag, ...]] = (
    Flag(
        name="--workers",
        path="factor.levels",
        metavar="2,4",
        help="worker counts to run, one process each (2)",
        read=_wholes,
        allowed=_COUNTS,
    ),
    Flag(name="--ops", path=f"{_C}.operations", metavar="A,B", help='operations, or "all" nine (all_reduce)', read=_operations),
    Flag(
        name="--sizes",
        path=f"{_C}.sizes",
        metavar="1K:256M",
        help="sizes in bytes as nccl-tests counts them, or a range; 1K is 1024 (1K:16M)",
        read=_words,
    ),
    Flag(
        name="--factor",
        path=f"{_C}.factor",
        metavar="N",
        help="step of a range: each size so many times the one before (4)",
        read=_whole,
        allowed=_WHOLE,
    ),
    Flag(
        name="--dtype", path=f"{_C}.dtype", metavar="TYPE", help="float32, float64, float16, bfloat16, int64, int32, int8, uint8 (float32)"
    ),
    Flag(name="--backend", path=f"{_C}.backend", metavar="NAME", help="gloo, nccl, mpi, or auto: nccl where every rank has a GPU (gloo)"),
    Flag(
        name="--placement",
        path=f"{_C}.placement",
        metavar="WHERE",
        help="the result in place of the input, elsewhere or both: in, out, both (both)",
    ),
    Flag(
        name="--warm-up",
        path=f"{_C}.warm_up",
        metavar="N",
        help="calls before the timed ones, never counted (5)",
        read=_whole,
        allowed=_WHOLE,
    ),
    Flag(
        name="--seconds",
        path=f"{_C}.seconds",
        metavar="S",
        help="how long the timed calls of a size last in a launch (0.2)",
        read=_number,
        allowed=_NUMBER,
    ),
    Flag(
        name="--calls", path=f"{_C}.calls", metavar="N", help="most calls back to back after a barrier (100)", read=_whole, allowed=_WHOLE
    ),
    Flag(
        name="--memory",
        path=f"{_C}.memory_mib",
        metavar="MIB",
        help="memory of a rank that calls rotate through (64)",
        read=_number,
        allowed=_NUMBER,
    ),
    Flag(
        name="--root-rank",
        path=f"{_C}.root",
        metavar="RANK",
        help="who broadcasts, gathers, scatters and reduces (0)",
        read=_whole,
        allowed=_WHOLE,
    ),
    Flag(
        name="--group-size",
        path=f"{_C}.group_size",
        metavar="N",
        help="ranks of a group; groups call together (all ranks)",
        read=_whole,
        allowed=_WHOLE,
    ),
    Flag(
        name="--launches",
        path="launches.per_configuration",
        metavar="N",
        help="launches of each worker count (5)",
        read=_whole,
        allowed=_WHOLE,
    ),
    Flag(name="--seed", path="launches.seed", metavar="N", help="fixes the order of launches and sizes", read=_whole, allowed=_WHOLE),
    Flag(
        name="--confidence",
        path="launches.confidence",
        metavar="C",
        help="confidence of every interval (0.95)",
        read=_number,
        allowed=_NUMBER,
    ),
    Flag(
        name="--threads", path="launcher.threads_per_worker", metavar="N", help="threads of every worker (1)", read=_whole, allowed=_WHOLE
    ),
    Flag(name="--pin", path="launcher.pin", metavar="HOW", help="processors of a worker: none, spread or compact"),
    Flag(name="--launcher", path="launcher.kind", metavar="NAME", help="where the workers run (local)"),
    Flag(name="--nodes", path="launcher.nodes", metavar="N", help="nodes that take part (1)", read=_whole, allowed=_WHOLE),
    Flag(name="--node-rank", path="launcher.node_rank", metavar="N", help="this node's number, from 0", read=_whole, allowed=_WHOLE),
    Flag(name="--rendezvous-endpoint", path="launcher.rendezvous_endpoint", metavar="HOST:PORT", help="where several nodes meet"),
    Flag(name="--rendezvous-id", path="launcher.rendezvous_id", metavar="ID", help="the job's id, shared by all nodes"),
    Flag(
        name="--timeout",
        path="limits.launch_timeout_s",
        metavar="S",
        help="seconds after which a launch is ended (3600)",
        read=_number,
        allowed=_NUMBER,
    ),
    Flag(name="--name", path="name", metavar="NAME", help="names the record (comm)"),
)
MATRIX: Final = Flag(
    name="--matrix",
    path=f"{_C}.matrix",
    metavar="SIZE",
    help="messages between every ordered pair of ranks too, the larger ones of this size (4M): latency, bandwidth, who is near whom",
)
MATRIX_SIZE: Final = "4M"
INTERFACES: Final = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
_INTERFACE_KEYS: Final = tuple(f"workload.environment.{name}" for name in INTERFACES)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare every flag; values stay text until `experiment_from`."""
    group = parser.add_argument_group("keys of the experiment")
    for flag in FLAGS:
        group.add_argument(flag.name, dest=flag.attribute, metavar=flag.metavar, help=flag.help)
    group.add_argument(MATRIX.name, dest=MATRIX.attribute, metavar=MATRIX.metavar, help=MATRIX.help, nargs="?", const=MATRIX_SIZE)
    group.add_argument("--interface", metavar="NAME", help=f"network interface of the calls, as eth0: sets {' and '.join(INTERFACES)}")


def experiment_from(namespace: argparse.Namespace) -> Experiment:
    """The experiment.

    Raises:
        SpecError: every problem of the flags at once.
    """
    data, problems = mapping(namespace)
    from assay.spec.load import checked

    try:
        experiment = checked(data, Path(), "the flags", {})
    except SpecError as error:
        told = {problem.where for problem in problems}
        more = (as_flag(problem) for problem in error.problems)
        raise SpecError((*problems, *(problem for problem in more if problem.where not in told)), "the flags") from None
    if problems:
        raise SpecError(tuple(problems), "the flags")
    return experiment


def mapping(namespace: argparse.Namespace) -> tuple[dict[str, Any], list[Problem]]:
    """The keys as a file would hold them, and the flags that could not be read."""
    data: dict[str, Any] = {
        "name": NAME,
        "workload": {"runner": "collectives", "work": "calls"},
        "factor": {"levels": WORKERS},
        "gates": {"efficiency": "none"},
        "collectives": {},
    }
    problems: list[Problem] = []
    for flag in (*FLAGS, MATRIX):
        text = getattr(namespace, flag.attribute, None)
        if text is None:
            continue
        try:
            value = flag.read(text)
        except ValueError:
            problems.append(Problem(where=flag.name, found=text or "nothing", allowed=flag.allowed))
            continue
        section, _, key = flag.path.partition(".")
        if key:
            data.setdefault(section, {})[key] = value
        else:
            data[section] = value
    if interface := getattr(namespace, "interface", None):
        data["workload"]["environment"] = dict.fromkeys(INTERFACES, interface)
    return data, problems


@contextmanager
def under_flags() -> Iterator[None]:
    """What the runner finds wrong beforehand, told under the flags too: nobody wrote its keys.

    Raises:
        SpecError: the same problems under the names of their flags.
    """
    try:
        yield
    except SpecError as error:
        raise SpecError(tuple(as_flag(problem) for problem in error.problems), "the flags") from None


def as_flag(problem: Problem) -> Problem:
    """The problem under the name of the flag that gives its key."""
    path = problem.where.partition(" (line ")[0]
    for flag in (*FLAGS, MATRIX):
        if path == flag.path or path.startswith(f"{flag.path}["):
            return replace(problem, where=flag.name)
    if path in _INTERFACE_KEYS:
        return replace(problem, where="--interface")
    return problem
