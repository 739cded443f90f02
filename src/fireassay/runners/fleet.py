"""How are the nodes of a fleet tested?  Rounds; in each, every node once and its tests, both in random order.

A launch is a round. The nodes are `launcher.hosts`: a command prefix runs `instruments/machine/node_tests.py` there, by this Python's
path. Rates are rows of `telemetry` with the device `node NAME`; a test without a rate is an event `fleet_lack` with the reason. A node
that fails costs only its own rates; a round in which none answers has failed. One node at a time: nodes may share a machine, a disk or a switch.
"""

from __future__ import annotations

import json
import math
import os
import platform
import random
import sys
from pathlib import Path
from typing import Any, Final

from fireassay.errors import Problem, refuse_any
from fireassay.instruments import network_probe
from fireassay.instruments.machine import node_tests
from fireassay.launchers import nodes
from fireassay.launchers.support import supervisor
from fireassay.record.folder import check_written, write_event
from fireassay.runners.experiment.context import Job, Made, Metered, RunContext, Runner
from fireassay.spec.experiment import Experiment
from fireassay.spec.fleet import COUNTER, NO_TEST, TESTS, device_of, fleet_arguments
from fireassay.spec.sections.workload import Host

PATIENCE_S: Final = 120.0  # for all tests of a node


def check(experiment: Experiment, folder: Path) -> None:
    """Check the tests and the nodes. Raises SpecError."""
    fleet_arguments(experiment.workload.arguments)
    hosts = experiment.launcher.hosts
    names = [host.name for host in hosts]
    problems = []
    if not hosts:
        problems.append(Problem("--hosts", "no node", "at least one", "For example: assay fleet --hosts nodes.toml"))
    if len(set(names)) < len(names):
        problems.append(Problem("--hosts", "a name twice", "a unique name for each node"))
    refuse_any(problems, "the nodes")


class FleetRounds(Metered):
    """Makes the rounds of an experiment."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self.hosts = context.experiment.launcher.hosts
        self.tests, _ = fleet_arguments(context.experiment.workload.arguments)

    def make(self, job: Job) -> Made:
        """Run one round."""
        begin_utc = self.context.begin_utc()
        writer = self.context.record.writer(job.number)
        begin = self.context.clock.now_ns()
        write_event(writer, job.number, "launch_begin", begin, {"slot": job.planned.slot, "begin_utc": begin_utc})
        draw = random.Random(f"{self.context.experiment.launches.seed} {job.planned.slot}")
        order = draw.sample(self.hosts, len(self.hosts))
        self.meter.start(job.number, lambda: supervisor.family(os.getpid()), workers=job.planned.workers)
        try:
            answered = [
                host.name for host in order if not self.stopped() and self._visit(job, host, draw.sample(self.tests, len(self.tests)))
            ]
        finally:
            self.meter.stop()
        check_written(writer, self.context.record.path)
        status, reason = self._judged(answered)
        row = job.row(
            begin_ns=begin,
            end_ns=self.context.clock.now_ns(),
            begin_utc=begin_utc,
            status=status,
            reason=reason,
            exit_code=0 if status == "ok" else None,
            placement=json.dumps({"launcher": "nodes", "host": platform.node(), "order": [host.name for host in order]}),
        )
        return Made(row=row)

    def _judged(self, answered: list[str]) -> tuple[str, str]:
        if self.stopped():
            return "aborted", f"stopped by {self.context.stop.reason}"
        return ("ok", "") if answered else ("failed", f"none of {len(self.hosts)} nodes answered: the record has the reasons")

    def stopped(self) -> bool:
        """True if a stop was requested."""
        return bool(self.context.stop.count)

    def _visit(self, job: Job, host: Host, tests: list[str]) -> bool:
        """Test a node and write down its rates. Returns whether there was any."""
        rates, why = run_tests(host, tests, self.stopped)
        now, writer = self.context.clock.now_ns(), self.context.record.writer(job.number)
        for test in tests:
            rate = rates.get(test, {}).get("rate")
            if isinstance(rate, float) and math.isfinite(rate) and rate > 0.0:
                row = (job.number, now, platform.node(), device_of(host.name), f"{COUNTER}{test}", rate, TESTS[test].unit, "self")
                writer.append("telemetry", row)
            elif not self.stopped():
                lack = str(rates.get(test, {}).get("lack") or why or "it gave no rate")
                write_event(writer, job.number, NO_TEST, now, {"node": host.name, "test": test, "why": lack})
        return not why


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
        return {}, f"no answer in {PATIENCE_S:g} s" if answer.code is None else f"exit code {answer.code}: {last[:200]}"
    return rates, ""


RUNNER = Runner(name="fleet", check=check, maker=FleetRounds)
