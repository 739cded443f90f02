"""Which processors does each pinned worker get?

A pure function of the machine and the worker counts.  Every worker gets the same number of processors at every level: the machine's
share at the largest level.  Otherwise one worker would have the whole machine and each of four a quarter, and their ratio would not be
a speedup.  Whole physical cores (with all hardware threads) while there are enough, else single processors.

* compact: neighbours first, so that workers share caches and a NUMA node as long as they fit into it;
* spread: each next worker on the NUMA node with the most free cores, so that workers share as little as possible; one worker's
  processors lie in one node where possible.

The engine and assay are not pinned.  Cannot tell which physical processors a hypervisor provides.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fireassay.errors import EnvironmentLacks, refuse
from fireassay.launchers.support import pinned_worker
from fireassay.launchers.support.base import Request
from fireassay.record.machine import Machine, Unread
from fireassay.spec.experiment import Experiment

Unit = tuple[int, tuple[int, ...]]  # NUMA node, processors that are assigned together


@dataclass(frozen=True, kw_only=True)
class Processor:
    """A logical processor: its number, the lowest number on its physical core, its NUMA node."""

    number: int
    core: int
    node: int


def usable() -> set[int]:
    """The processors this process may use. Raises EnvironmentLacks if the system does not report them."""
    if not hasattr(os, "sched_getaffinity"):
        raise EnvironmentLacks(f'launcher.pin needs Linux; on {sys.platform} set launcher.pin = "none"')
    return set(os.sched_getaffinity(0))


def topology(machine: Machine, numbers: Collection[int]) -> tuple[Processor, ...]:
    """These processors with cores and nodes; where the kernel reports none, each is its own core on node 0."""
    nodes = _nodes(machine)
    return tuple(Processor(number=number, core=_core(machine, number), node=nodes.get(number, 0)) for number in sorted(numbers))


def _core(machine: Machine, number: int) -> int:
    try:
        siblings = machine.text(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
        return min(parsed(siblings))
    except (Unread, ValueError):
        return number


def _nodes(machine: Machine) -> dict[int, int]:
    """processor -> NUMA node."""
    nodes: dict[int, int] = {}
    for path in machine.names("sys/devices/system/node/node[0-9]*/cpulist"):
        try:
            numbers = parsed(machine.text(path))
        except (Unread, ValueError):  # a node with memory but no processor
            continue
        nodes |= dict.fromkeys(numbers, int(path.split("/")[-2].removeprefix("node")))
    return nodes


def parsed(text: str) -> list[int]:
    """ "0-3,8" -> 0, 1, 2, 3, 8, as the kernel writes lists of processors. Raises ValueError."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


# ---- assignment --------------------------------------------------------------------------------------------------


def assign(processors: Sequence[Processor], workers: int, most: int, how: str) -> tuple[tuple[int, ...], ...]:
    """The processors of each worker, by local rank.

    Args:
        processors: the usable ones.
        workers: of this launch on this host.
        most: largest count of any launch of the experiment on this host, at least `workers`.
        how: "spread" or "compact".

    Raises:
        ValueError: fewer processors than `most`.
    """
    if len(processors) < most:
        raise ValueError(f"{len(processors)} processors for {most} workers")
    units = _cores(processors)
    if len(units) >= most:
        share = len(units) // most
        groups = _neighbours(units, workers, share) if how == "compact" else _apart(units, workers, share)
    else:
        singles = _singles(units, how)
        groups = _neighbours(singles, workers, len(singles) // most)
    return tuple(tuple(sorted(number for _, numbers in group for number in numbers)) for group in groups)


def _cores(processors: Sequence[Processor]) -> list[Unit]:
    """Whole cores, neighbours first."""
    cores: dict[tuple[int, int], list[int]] = {}
    for processor in processors:
        cores.setdefault((processor.node, processor.core), []).append(processor.number)
    return [(node, tuple(sorted(numbers))) for (node, _), numbers in sorted(cores.items())]


def _singles(cores: Sequence[Unit], how: str) -> list[Unit]:
    """Single processors in order of assignment. compact: the threads of one core after another. spread: the first thread of every core,
    alternating between nodes, then the second threads."""
    ranked: list[tuple[int, int, int, int]] = []  # thread, index of its core in its node, node, number
    places: dict[int, int] = {}
    for node, numbers in cores:
        position = places[node] = places.get(node, -1) + 1
        ranked += [(thread, position, node, number) for thread, number in enumerate(numbers)]
    ranked.sort(key=(lambda candidate: (candidate[2], candidate[1], candidate[0])) if how == "compact" else None)
    return [(node, (number,)) for _, _, node, number in ranked]


def _neighbours(units: Sequence[Unit], workers: int, share: int) -> list[list[Unit]]:
    return [list(units[worker * share : (worker + 1) * share]) for worker in range(workers)]


def _apart(units: Sequence[Unit], workers: int, share: int) -> list[list[Unit]]:
    """Each worker from the node with the most free units; the remainder from the next node."""
    free: dict[int, list[Unit]] = {}
    for unit in units:
        free.setdefault(unit[0], []).append(unit)
    groups = []
    for _ in range(workers):
        group: list[Unit] = []
        while len(group) < share:
            node = max(sorted(free), key=lambda candidate: len(free[candidate]))
            taken = share - len(group)
            group += free[node][:taken]
            free[node] = free[node][taken:]
        groups.append(group)
    return groups


# ---- for the launchers -------------------------------------------------------------------------------------------------


def check(experiment: Experiment) -> None:
    """Check that the workers can be pinned as configured.

    Raises:
        SpecError: fewer processors than workers, or memory binding without processors.
        EnvironmentLacks: this system does not support it.
    """
    settings = experiment.launcher
    if settings.pin == "none":
        if settings.numa != "none":
            raise refuse(
                "launcher.numa",
                f'"{settings.numa}" with launcher.pin = "none"',
                '"none" without pinning',
                'Set launcher.pin to "spread" or "compact": memory is local to processors that are known.',
            )
        return
    most, available = max(experiment.factor.levels) // settings.nodes, len(usable())
    if available < most:
        raise refuse(
            "launcher.pin",
            f'"{settings.pin}" with {most} workers on {available} processors',
            "at least one processor for every worker",
            'Set launcher.pin = "none", or run fewer workers.',
        )
    if settings.numa != "none" and (reason := pinned_worker.may_prefer_memory()):
        raise EnvironmentLacks(f'launcher.numa = "{settings.numa}" is not available here: {reason}')


def placed(request: Request, machine: Machine | None = None, numbers: Collection[int] | None = None) -> dict[str, object]:
    """Threads, processors and memory of a launch's `placement`: JSON-serialisable, and the input of `entry`."""
    settings = request.settings
    placement: dict[str, object] = {"threads_per_worker": settings.threads_per_worker, "pin": settings.pin}
    if settings.pin == "none":
        return placement
    processors = topology(machine or Machine(), usable() if numbers is None else numbers)
    workers = max(request.most_workers, request.workers) // settings.nodes
    chosen = assign(processors, request.workers // settings.nodes, workers, settings.pin)
    placement["processors"] = [list(group) for group in chosen]
    if settings.numa != "none":
        node_of = {processor.number: processor.node for processor in processors}
        placement["memory"] = [sorted({node_of[number] for number in group}) for group in chosen]
    return placement


def entry(request: Request) -> list[str]:
    """Prefix of a worker's command: empty, or the program that pins it."""
    placement = placed(request)
    if "processors" not in placement:
        return []
    pinned = {name: placement[name] for name in ("processors", "memory") if name in placement}
    return [pinned_worker.__file__, json.dumps(pinned)]
