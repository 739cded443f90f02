"""Which tests does `assay fleet` run on every node and link, on which pairs, and how slow a node must it find?

`workload.arguments` hold the tests' names, `find=SHARE`, and of links `pairs=N` (of each node), `transport=NAME` and `parallel=yes`; the
nodes are `launcher.hosts`, or those that the launcher's engine lends.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from fireassay.errors import Problem, did_you_mean, refuse_any
from fireassay.units import BYTES_PER_SECOND, FLOP_PER_S, PER_SECOND, SECONDS

FIND_SHARE: Final = 0.05
PAIRS: Final = 16
TRANSPORTS: Final = ("tcp", "gloo", "nccl")
COUNTER, NO_TEST = "fleet_", "fleet_lack"  # telemetry counters begin with the one; the other is an event
RING: Final = "ring of all nodes"  # the telemetry device


@dataclass(frozen=True)
class FleetTest:
    """A test that gives every node, every pair of nodes or all of them a rate, or a time."""

    title: str
    unit: str
    of: Literal["node", "direction", "pair", "ring"] = "node"

    @property
    def lower(self) -> bool:
        """Whether less is better."""
        return self.unit == SECONDS

    @property
    def links(self) -> bool:
        """Whether it tests links."""
        return self.of in ("direction", "pair")


TESTS: Final[Mapping[str, FleetTest]] = {
    "matrix": FleetTest("matrix product on the processors", FLOP_PER_S),
    "memory": FleetTest("memory copy", BYTES_PER_SECOND),
    "disk": FleetTest("disk write", BYTES_PER_SECOND),
    "device": FleetTest("matrix product on the GPU", FLOP_PER_S),
    "copies": FleetTest("copy from the host to the GPU", BYTES_PER_SECOND),
    "bandwidth": FleetTest("transfer", BYTES_PER_SECOND, "direction"),
    "latency": FleetTest("round trip", SECONDS, "pair"),
    "training": FleetTest("training step", PER_SECOND, "pair"),
    "ring": FleetTest("ring of all nodes", BYTES_PER_SECOND, "ring"),
}
DEFAULT: Final = ("matrix", "memory", "disk")


@dataclass(frozen=True, kw_only=True)
class FleetRequest:
    """What the words ask for."""

    tests: tuple[str, ...] = DEFAULT
    find: float = FIND_SHARE
    pairs: int = PAIRS
    transport: str = "tcp"
    parallel: bool = False

    def of(self, *kinds: str) -> tuple[str, ...]:
        """The tests of nodes, directions, pairs or the ring."""
        return tuple(test for test in self.tests if TESTS[test].of in kinds)


def device_of(node: str) -> str:
    """The telemetry device of a node's rates."""
    return f"node {node}"


def link_device(first: str, second: str, *, directed: bool) -> str:
    """The telemetry device of a link's rates."""
    return f"link {first} > {second}" if directed else f"pair {first} - {second}"


def nodes_of(device: str) -> tuple[str, str]:
    """The ends of a link's device."""
    _, first, _, second = device.split(" ")
    return first, second


def matchings(nodes: Sequence[str], each: int, seed: object) -> list[list[tuple[str, str]]]:
    """Disjoint pairs, every node in `each` matchings, or all pairs if there are no more; of an odd number, one waits in each.

    The circle method on a random order: no pair comes twice.
    """
    draw = random.Random(f"{seed} pairs")
    order: list[str | None] = [*draw.sample(list(nodes), len(nodes)), *([None] if len(nodes) % 2 else [])]
    turns = draw.sample(range(len(order) - 1), max(0, min(each if each < len(nodes) - 1 else len(order), len(order) - 1)))
    every = []
    for turn in turns:
        circle = [order[0], *order[1 + turn :], *order[1 : 1 + turn]]
        half = len(circle) // 2
        every.append([(a, b) for a, b in zip(circle[:half], reversed(circle[half:]), strict=True) if a is not None and b is not None])
    return every


def _share(text: str) -> float:
    if not 0.0 < (found := float(text)) < 1.0:
        raise ValueError
    return found


def _pairs(text: str) -> int:
    if (found := 1_000_000 if text == "all" else int(text)) < 3:
        raise ValueError
    return found


WORDS: Final[Mapping[str, tuple[Callable[[str], object], str, str]]] = {  # name -> reads it, its flag, what is allowed
    "find": (_share, "--find", "a share between 0 and 1, for example 0.05"),
    "pairs": (_pairs, "--pairs", "3 or more pairs of each node, or all: the median of fewer cannot tell a node from a link"),
    "transport": ({name: name for name in TRANSPORTS}.__getitem__, "--transport", ", ".join(TRANSPORTS)),
    "parallel": ({"yes": True, "no": False}.__getitem__, "--parallel", "yes or no"),
}


def fleet_arguments(arguments: Sequence[str]) -> FleetRequest:
    """What is asked for. Raises SpecError: an argument is no test and no setting."""
    problems, settings, tests = [], {}, []
    for word in arguments:
        name, equals, text = word.partition("=")
        if equals and name in WORDS:
            read, flag, allowed = WORDS[name]
            try:
                settings[name] = read(text)
            except (ValueError, KeyError):
                problems.append(Problem(flag, repr(text), allowed))
        elif word in TESTS:
            tests.append(word)
        else:
            problems.append(Problem("--tests", repr(word), ", ".join(TESTS), did_you_mean(word, list(TESTS))))
    if len(set(tests)) < len(tests):
        problems.append(Problem("--tests", "a test twice", "every test once"))
    refuse_any(problems, "the fleet's tests")
    return FleetRequest(tests=tuple(tests) or DEFAULT, **settings)  # type: ignore[arg-type]
