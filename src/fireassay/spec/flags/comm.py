"""How do the flags of `assay comm` become an experiment?

    assay comm --workers 2,4 --ops all_reduce,all_gather --sizes 1K:256M

Every flag except --interface sets one key; all errors are reported at once, under the flags' names.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from fireassay.errors import Problem, SpecError
from fireassay.spec.flags import of_verb

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from fireassay.spec.experiment import Experiment

VERB: Final = "comm"
INTERFACES: Final = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
_INTERFACE_KEYS: Final = tuple(f"workload.environment.{name}" for name in INTERFACES)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare every flag; values stay text until `experiment_from`."""
    group = parser.add_argument_group("keys of the experiment")
    of_verb.declare(group, of_verb.flags_of(VERB))
    group.add_argument("--interface", metavar="NAME", help=f"network interface of the calls, as eth0: sets {' and '.join(INTERFACES)}")


def experiment_from(namespace: argparse.Namespace) -> Experiment:
    """The experiment that the flags describe. Raises SpecError: every problem of the flags at once."""
    data: dict[str, Any] = {"workload": {"runner": "collectives", "work": "calls"}, "gates": {"efficiency": "none"}, "collectives": {}}
    _, problems = of_verb.put_flags(data, VERB, namespace)
    if interface := getattr(namespace, "interface", None):
        data["workload"]["environment"] = dict.fromkeys(INTERFACES, interface)
    return of_verb.experiment_of(data, problems, as_flag)


@contextmanager
def under_flags() -> Iterator[None]:
    """Report the runner's preflight problems under the flags' names too, as the user wrote no keys.

    Raises:
        SpecError: the same problems under the names of their flags.
    """
    try:
        yield
    except SpecError as error:
        raise SpecError((as_flag(problem) for problem in error.problems), "the flags") from None


def as_flag(problem: Problem) -> Problem:
    """The problem under the name of the flag that sets its key."""
    if problem.where in _INTERFACE_KEYS:
        return replace(problem, where="--interface")
    return of_verb.as_flag(problem, of_verb.flags_of(VERB))
