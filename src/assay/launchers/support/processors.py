"""Which processors does each worker get, if workers are pinned?  A pure function of the machine and the worker counts.

Every worker gets the same number of processors at every level: the machine's share of the largest level.  Otherwise one
worker alone would have the whole machine and each of four a quarter of it, and their ratio would not be a speedup.
Whole physical cores (with all their hardware threads) as long as there are enough of them, else single processors.

* compact: neighbours first, so that the workers share caches and a NUMA node as long as they fit into it;
* spread: each next worker on the NUMA node with the most free cores, so that they share as little as possible; the
  processors of one worker lie in one node where that is possible.

The engine itself and assay are not pinned.  It cannot tell which processors the hypervisor really gives.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assay.errors import EnvironmentLacks, Problem, SpecError
from assay.launchers.support import pinned_worker
from assay.launchers.support.base import Request
from assay.record.machine import Machine, Unread
from assay.spec.experiment import Experiment

Unit = tuple[int, tuple[int, ...]]  # NUMA node, processors that are handed out together


@dataclass(frozen=True, kw_only=True)
class Processor:
    """A logical processor: its number, the first number on its physical core, its NUMA node."""

    number: int
    core: int
    node: int


def usable() -> set[int]:
    """The processors that this process may use. Raises EnvironmentLacks where the system does not tell."""
    if not hasattr(os, "sched_getaffinity"):
        raise EnvironmentLacks(f'launcher.pin needs Linux; on {sys.platform} set launcher.pin = "none"')
    return set(os.sched_getaffinity(0))


def topology(machine: Machine, numbers: Collection[int]) -> tuple[Processor, ...]:
    """These processors with their cores and nodes; where the kernel does not tell, each is a core of its own on node 0."""
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
    found: dict[int, int] = {}
    for path in machine.names("sys/devices/system/node/node[0-9]*/cpulist"):
        try:
            numbers = parsed(machine.text(path))
        except (Unread, ValueError):  # a node with memory and no processor
            continue
        found |= dict.fromkeys(numbers, int(path.split("/")[-2].removeprefix("node")))
    return found


def parsed(text: str) -> list[int]:
    """ "0-3,8" -> 0, 1, 2, 3, 8, as the kernel writes lists of processors. Raises ValueError."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


# ---- who gets what ---------------------------------------------------------------------------------------------------


def assign(processors: Sequence[Processor], workers: int, most: int, how: str) -> tuple[tuple[int, ...], ...]:
    """The processors of each worker, by local rank.

    Args:
        processors: those that may be used.
        workers: of this launch on this host.
        most: of any launch of the experiment on this host, at least `workers`.
        how: "spread" or "compact".

    Raises:
        ValueError: there are fewer processors than `most`.
    """
    if len(processors) < most:
        raise ValueError(f"{len(processors)} processors for {most} workers")
    units = _cores(processors)
    if len(units) >= most:
        share = len(units) // most
        dealt = _neighbours(units, workers, share) if how == "compact" else _apart(units, workers, share)
    else:
        singles = _singles(units, how)
        dealt = _neighbours(singles, workers, len(singles) // most)
    return tuple(tuple(sorted(number for _, numbers in own for number in numbers)) for own in dealt)


def _cores(processors: Sequence[Processor]) -> list[Unit]:
    """Whole cores, neighbours first."""
    cores: dict[tuple[int, int], list[int]] = {}
    for one in processors:
        cores.setdefault((one.node, one.core), []).append(one.number)
    return [(node, tuple(sorted(numbers))) for (node, _), numbers in sorted(cores.items())]


def _singles(cores: Sequence[Unit], how: str) -> list[Unit]:
    """Single processors in the order of giving out. compact: the threads of one core after another. spread: the first thread
    of every core, nodes in turn, then the second ones."""
    ranked: list[tuple[int, int, int, int]] = []  # thread, place of its core in its node, node, number
    places: dict[int, int] = {}
    for node, numbers in cores:
        place = places[node] = places.get(node, -1) + 1
        ranked += [(thread, place, node, number) for thread, number in enumerate(numbers)]
    ranked.sort(key=(lambda one: (one[2], one[1], one[0])) if how == "compact" else None)
    return [(node, (number,)) for _, _, node, number in ranked]


def _neighbours(units: Sequence[Unit], workers: int, share: int) -> list[list[Unit]]:
    return [list(units[worker * share : (worker + 1) * share]) for worker in range(workers)]


def _apart(units: Sequence[Unit], workers: int, share: int) -> list[list[Unit]]:
    """Each worker from the node with the most free units; what that one lacks from the next."""
    free: dict[int, list[Unit]] = {}
    for unit in units:
        free.setdefault(unit[0], []).append(unit)
    dealt = []
    for _ in range(workers):
        own: list[Unit] = []
        while len(own) < share:
            node = max(sorted(free), key=lambda one: len(free[one]))
            taken = share - len(own)
            own += free[node][:taken]
            free[node] = free[node][taken:]
        dealt.append(own)
    return dealt


# ---- for the launchers -------------------------------------------------------------------------------------------------


def check(experiment: Experiment) -> None:
    """Whether the workers can be pinned as asked.

    Raises:
        SpecError: there are fewer processors than workers, or memory is asked for without processors.
        EnvironmentLacks: this system cannot do it.
    """
    settings = experiment.launcher
    if settings.pin == "none":
        if settings.numa != "none":
            raise SpecError(
                (
                    Problem(
                        where="launcher.numa",
                        found=f'"{settings.numa}" with launcher.pin = "none"',
                        allowed='"none" without pinning',
                        mend='Set launcher.pin to "spread" or "compact": memory is local to processors that are known.',
                    ),
                )
            )
        return
    most, there = max(experiment.factor.levels) // settings.nodes, len(usable())
    if there < most:
        raise SpecError(
            (
                Problem(
                    where="launcher.pin",
                    found=f'"{settings.pin}" with {most} workers on {there} processors',
                    allowed="at least one processor for every worker",
                    mend='Set launcher.pin = "none", or run fewer workers.',
                ),
            )
        )
    if settings.numa != "none" and (why := pinned_worker.may_prefer_memory()):
        raise EnvironmentLacks(f'launcher.numa = "{settings.numa}" cannot be had here: {why}')


def placed(request: Request, machine: Machine | None = None, numbers: Collection[int] | None = None) -> dict[str, object]:
    """What a launch's `placement` says of threads, processors and memory: JSON-able, and what `entry` pins to."""
    settings = request.settings
    told: dict[str, object] = {"threads_per_worker": settings.threads_per_worker, "pin": settings.pin}
    if settings.pin == "none":
        return told
    known = topology(machine or Machine(), usable() if numbers is None else numbers)
    most = max(request.most_workers, request.workers) // settings.nodes
    chosen = assign(known, request.workers // settings.nodes, most, settings.pin)
    told["processors"] = [list(own) for own in chosen]
    if settings.numa != "none":
        node_of = {one.number: one.node for one in known}
        told["memory"] = [sorted({node_of[number] for number in own}) for own in chosen]
    return told


def entry(request: Request) -> list[str]:
    """What stands before a worker's own command: nothing, or the program that binds it."""
    told = placed(request)
    if "processors" not in told:
        return []
    asked = {name: told[name] for name in ("processors", "memory") if name in told}
    return [pinned_worker.__file__, json.dumps(asked)]
