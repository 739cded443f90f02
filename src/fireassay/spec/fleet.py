"""Which tests does `assay fleet` run on every node, and how slow a node must it find?

`workload.arguments` hold the tests' names and `find=SHARE`; the nodes are `launcher.hosts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fireassay.errors import Problem, did_you_mean, refuse_any
from fireassay.units import BYTES_PER_SECOND, FLOP_PER_S

FIND: Final = "find="
FIND_SHARE: Final = 0.05
COUNTER, NO_TEST = "fleet_", "fleet_lack"  # telemetry counters begin with the one; the other is an event


@dataclass(frozen=True)
class NodeTest:
    """A test that gives every node a rate: the higher, the better."""

    title: str
    unit: str


TESTS: Final[Mapping[str, NodeTest]] = {
    "matrix": NodeTest("matrix product on the processors", FLOP_PER_S),
    "memory": NodeTest("memory copy", BYTES_PER_SECOND),
    "disk": NodeTest("disk write", BYTES_PER_SECOND),
    "device": NodeTest("matrix product on the GPU", FLOP_PER_S),
}
DEFAULT: Final = ("matrix", "memory", "disk")


def device_of(node: str) -> str:
    """The telemetry device of a node's rates."""
    return f"node {node}"


def fleet_arguments(arguments: Sequence[str]) -> tuple[tuple[str, ...], float]:
    """The tests, and the slowness that a fit fleet must exclude. Raises SpecError: an argument is neither."""
    problems, find = [], FIND_SHARE
    tests = [word for word in arguments if not word.startswith(FIND)]
    for word in arguments:
        if word.startswith(FIND):
            try:
                find = float(word.removeprefix(FIND))
            except ValueError:
                find = 0.0
            if not 0.0 < find < 1.0:
                problems.append(Problem("--find", repr(word.removeprefix(FIND)), "a share between 0 and 1, for example 0.05"))
        elif word not in TESTS:
            problems.append(Problem("--tests", repr(word), ", ".join(TESTS), did_you_mean(word, list(TESTS))))
    if len(set(tests)) < len(tests):
        problems.append(Problem("--tests", "a test twice", "every test once"))
    refuse_any(problems, "the fleet's tests")
    return tuple(tests) or DEFAULT, find
