"""How are the nodes and links of a fleet tested?  Rounds; in each, every node, every pair and the ring once, all in random order.

A launch is a round. The nodes are `launcher.hosts`, or those that the launcher's engine lends: a command prefix runs
`instruments/machine/node_tests.py` and `link_tests.py` there, by this Python's path. Rates are rows of `telemetry` with the device
`node NAME`, `link A > B`, `pair A - B` or that of the ring; a test without one is an event `fleet_lack` with the reason. A node or link that
fails costs only its own rates; a round in which nobody answers has failed. One test at a time: nodes may share a machine, a disk or a
switch. In parallel, if asked, disjoint pairs are tested at once.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay import catalog
from fireassay.errors import Problem, refuse_any
from fireassay.instruments import network_probe
from fireassay.instruments.machine import node_tests
from fireassay.launchers import nodes
from fireassay.launchers.support.base import Launcher
from fireassay.runners.experiment.context import Job, RunContext, Runner
from fireassay.runners.launching.link_group import GroupResult, run_group
from fireassay.runners.launching.rounds import Rounds, Visited
from fireassay.spec.experiment import Experiment
from fireassay.spec.fleet import COUNTER, NO_TEST, RING, TESTS, device_of, fleet_arguments, link_device, matchings
from fireassay.spec.sections.workload import Host

PATIENCE_S: Final = 120.0  # for all tests of a node
HUNG: Final = f"no answer in {PATIENCE_S:g} s"
GIVEN_UP: Final = 2  # rounds in a row in which a node let all of it pass
TRAINED_BY: Final = {"tcp": "gloo"}  # a training needs torch's


def check(experiment: Experiment, folder: Path) -> None:
    """Check the tests and the nodes. Raises SpecError, EnvironmentLacks."""
    asked = fleet_arguments(experiment.workload.arguments)
    hosts, kind = experiment.launcher.hosts, experiment.launcher.kind
    names = [host.name for host in hosts]
    problems = []
    if kind == nodes.LAUNCHER.name:
        if not hosts:
            problems.append(Problem("--hosts", "no node", "at least one", "For example: assay fleet --hosts nodes.toml"))
        if len(set(names)) < len(names):
            problems.append(Problem("--hosts", "a name twice", "a unique name for each node"))
        if asked.of("direction", "pair", "ring") and len(names) == 1:
            problems.append(Problem("--tests", "tests of links, and one node", "two nodes or more"))
        refuse_any(problems, "the nodes")
        return
    launcher: Launcher = catalog.load("launchers", kind)
    if launcher.allocate is None:
        lends = [name for name in catalog.names("launchers") if catalog.load("launchers", name).allocate is not None]
        refuse_any([Problem("--launcher", repr(kind), ", ".join(lends), "It lends no nodes: name them with --hosts.")], "the nodes")
    launcher.check(experiment)


class FleetRounds(Rounds):
    """Makes the rounds of an experiment."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        launcher = context.experiment.launcher
        self.hosts = {host.name: host for host in launcher.hosts[: None if launcher.kind == "nodes" else max(context.plan[0].workers, 1)]}
        if context.agents is not None:
            context.agents.close()  # they have said what the nodes are like; what a node is tested with is alone there
        self.asked = fleet_arguments(context.experiment.workload.arguments)
        self.absent: dict[str, str] = {}  # nodes that did not answer in this round, and why
        self.silent = Counter[str]()  # rounds in a row in which a node hung

    def visit(self, job: Job) -> Visited:
        """Visit every node, every pair and the ring, in random order."""
        draw = random.Random(f"{self.context.experiment.launches.seed} {job.planned.slot}")
        order = draw.sample(list(self.hosts), len(self.hosts))
        self.absent = {name: why for name in order if (why := self._given_up(name))}
        answered: list[str] = []
        for visit in draw.sample(every := self._visits(job, order, draw), len(every)):
            answered += [] if self.stopped() else visit()
        placement = {
            "launcher": self.context.experiment.launcher.kind,
            "order": order,
            "switches": {name: host.switch for name, host in self.hosts.items() if host.switch},
        }
        return Visited(
            answered=answered, placement=placement, nobody=f"none of {len(self.hosts)} nodes answered: the record has the reasons"
        )

    def _visits(self, job: Job, order: list[str], draw: random.Random) -> list[Callable[[], list[str]]]:
        visits: list[Callable[[], list[str]]] = []
        if own := self.asked.of("node"):
            visits += [partial(self._node, job, self.hosts[name], draw.sample(own, len(own))) for name in order]
        if self.asked.of("direction", "pair"):
            every = matchings(sorted(self.hosts), self.asked.pairs, self.context.experiment.launches.seed)
            together = every if self.asked.parallel else [[pair] for matching in every for pair in matching]
            visits += [partial(self._pairs, job, [draw.sample(pair, 2) for pair in matching]) for matching in together]
        if self.asked.of("ring"):
            visits.append(partial(self._ring, job, order))
        return visits

    def _node(self, job: Job, host: Host, tests: list[str]) -> list[str]:
        """Test a node and write down its rates. Returns its name if there was any."""
        gone = self._given_up(host.name)
        rates, why = ({}, gone) if gone else run_tests(host, tests, self.stopped)
        self.silent[host.name] = self.silent[host.name] + 1 if gone or why == HUNG else 0
        for test in tests:
            found = rates.get(test, {})
            self._result(job, device_of(host.name), test, found.get("rate"), found.get("lack") or why, node=host.name)
        return [] if why else [host.name]

    def _given_up(self, name: str) -> str:
        """Why a node is not tried any more; empty if it is."""
        return f"not tried again: no answer in {GIVEN_UP} rounds" if self.silent[name] >= GIVEN_UP else ""

    def _pairs(self, job: Job, pairs: Sequence[Sequence[str]]) -> list[str]:
        """Test disjoint pairs, all at once if there are several."""
        with ThreadPoolExecutor(len(pairs)) as threads:
            told = list(threads.map(self._of_pair, pairs))
        return [name for pair, (found, absent) in zip(pairs, told, strict=True) for name in self._written(job, pair, found, absent)]

    def _of_pair(self, pair: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
        """What a pair gives in each test; and nodes that did not answer."""
        results: dict[str, Any] = {}
        absent = {name: self.absent[name] for name in pair if name in self.absent}
        for transport, tests in self._by_transport("direction", "pair").items():
            told = (
                self._together(pair, transport, tests) if not absent else GroupResult(why=f"not tried again: {next(iter(absent.values()))}")
            )
            results |= told.results or {test: {"lack": told.why} for test in tests}
            absent |= {told.culprit: told.why} if told.culprit else {}
        return results, absent

    def _together(self, names: Sequence[str], transport: str, tests: Sequence[str]) -> GroupResult:
        return run_group([self.hosts[name] for name in names], transport, tests, self.stopped)

    def _by_transport(self, *kinds: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for test in self.asked.of(*kinds):
            by = self.asked.transport
            found.setdefault(TRAINED_BY.get(by, by) if test == "training" else by, []).append(test)
        return found

    def _written(self, job: Job, pair: Sequence[str], results: dict[str, Any], absent: dict[str, str]) -> list[str]:
        """Write down a pair's results. Returns its names if there were any."""
        self.absent |= absent
        first, second = pair
        found = False
        for test, result in results.items():
            value, lack = result.get("value"), str(result.get("lack") or "")
            both = value if isinstance(value, list) and len(value) == 2 else [None, None]
            ends = [((first, second), both[0]), ((second, first), both[1])]
            if TESTS[test].of == "pair":
                ends = [((min(pair), max(pair)), value)]
            for (sender, receiver), rate in ends:
                device = link_device(sender, receiver, directed=TESTS[test].of == "direction")
                found |= self._result(job, device, test, rate, lack, link=[sender, receiver], absent=sorted(absent))
        return [*pair] if found else []

    def _ring(self, job: Job, order: list[str]) -> list[str]:
        ((transport, tests),) = self._by_transport("ring").items()
        told = self._together(order, transport, tests)
        for test in tests:
            result = told.results.get(test, {})
            self._result(job, RING, test, result.get("value"), result.get("lack") or told.why)
        return [] if told.why else order

    def _result(self, job: Job, device: str, test: str, value: object, lack: object, **about: object) -> bool:
        """Write down a number, or why there is none. Returns whether there is one."""
        if isinstance(value, float) and math.isfinite(value) and value > 0.0:
            self.number(job, device, f"{COUNTER}{test}", value, TESTS[test].unit, "self")
            return True
        if not self.stopped():
            self.event(job, NO_TEST, {**about, "test": test, "why": str(lack or "it gave no rate")})
        return False


def run_tests(host: Host, tests: list[str], stopped: network_probe.Stopped = lambda: False) -> tuple[dict[str, Any], str]:
    """What the node's program says of each test; and why it says nothing, empty if it does."""
    environment = [f"{name}={text}" for name, text in host.environment.items()]
    program = [*(["env", *environment] if environment else []), sys.executable, "-I", node_tests.__file__, *tests]
    try:
        answer = network_probe.run(nodes.over(host.prefix, program), PATIENCE_S, stopped)
    except OSError as error:
        return {}, f"{host.prefix[0] if host.prefix else sys.executable}: {error.strerror}"
    try:
        found = json.loads(answer.out.strip().rpartition("\n")[2])
        rates = {test: dict(found[test]) for test in tests}
    except (ValueError, KeyError, TypeError):
        last = answer.err.strip().rpartition("\n")[2] or "no output"
        return {}, HUNG if answer.code is None else f"exit code {answer.code}: {last[:200]}"
    return rates, ""


RUNNER = Runner(name="fleet", check=check, maker=FleetRounds)
