"""Which keys of a fault contradict each other, or the workload they break?

As in `fireassay.spec.rules.experiment`: each rule sees the raw data and ignores values of the wrong type.
Requirements of a kind of fault on its own keys are rules of the kind (`fireassay.faults.support.base.Fault.rule`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from fireassay import catalog
from fireassay.errors import Problem
from fireassay.spec.explain import did_you_mean, shown
from fireassay.spec.rules.data import Data, is_list, items, number, table, tables
from fireassay.spec.sections.faults import Fault, kind_names, kind_of
from fireassay.spec.sections.launcher import Launcher

AT_S: Final[float] = Fault.model_fields["at_s"].default
MAX_RESTARTS: Final[int] = Launcher.model_fields["max_restarts"].default


def _as_their_kinds_ask(data: Data) -> Iterator[Problem]:
    for index, fault in tables(data, "faults"):
        if (kind := kind_of(fault)) is not None:
            for problem in kind.rule(fault):
                yield replace(problem, where=f"faults[{index}].{problem.where}")


def _restarts(data: Data) -> Iterator[Problem]:
    most = table(data, "launcher").get("max_restarts")
    kinds = {index: kind_of(fault) for index, fault in tables(data, "faults")}
    if most == 0 and any(kind is not None and kind.ends_worker for kind in kinds.values()):
        yield Problem(
            "launcher.max_restarts",
            "0",
            "a whole number of at least 1 if there are faults",
            "Remove it (default 3), or remove the faults: without a restart nothing recovers.",
        )
    most = most if isinstance(most, int) else MAX_RESTARTS
    for index, fault in tables(data, "faults"):
        times, kind = fault.get("times"), kinds[index]
        if isinstance(times, int) and times > max(1, most):
            yield Problem(
                f"faults[{index}].times",
                str(times),
                f"at most launcher.max_restarts, which is {most}",
                f"Write launcher.max_restarts = {times}: after the last strike nothing would start the workers again.",
            )
        if isinstance(times, int) and times > 1 and kind is not None and kind.ends_worker is False:
            yield Problem(
                f"faults[{index}].times",
                str(times),
                f"1 for a fault that ends no worker (here: {kind.name})",
                "Remove it: it strikes again after each restart of the workers, and this fault restarts none.",
            )


def _within_the_load(data: Data) -> Iterator[Problem]:
    if not table(data, "serving"):
        return
    targets = [target for _, target in tables(table(data, "serving"), "targets")]
    for index, fault in tables(data, "faults"):
        where = f"faults[{index}]"
        yield from _fault_finds_its_target(where, fault, targets)
        yield from _fault_falls_into_the_load(where, fault, data)


def _fault_finds_its_target(where: str, fault: Data, targets: list[Data]) -> Iterator[Problem]:
    name = fault.get("target", "")
    names = [str(target.get("name", "server")) for target in targets] or ["server"]
    if isinstance(name, str) and name not in ("", *names):
        yield Problem(f"{where}.target", shown(name), f"one of the engines {', '.join(names)}", did_you_mean(name, names))
        return
    struck = [target for target in targets or [{}] if name in ("", target.get("name", "server"))]
    kind = kind_of(fault)
    strange = [target for target in struck if not items(target, "command") and is_list(target, "command")]
    if kind is not None and kind.needs == "pids" and strange:
        started = [name for name in kind_names() if catalog.load("faults", name).needs == "pids"]
        yield Problem(
            f"{where}.kind",
            f"{shown(kind.name)} for {strange[0].get('name', 'server')}, which assay does not start",
            f"{', '.join(started)} only if the target has a command",
            'Add command to the target, or write kind = "command" with a line that reaches the server.',
        )
    replica = fault.get("replica")
    for target in islice((target for target in struck if type(replica) is int and replica >= _replicas(target)), 1):
        yield Problem(
            f"{where}.replica",
            shown(replica),
            f"a number below the replicas of {target.get('name', 'server')}: {_replicas(target)}",
            "Replicas are numbered from 0.",
        )


def _replicas(target: Data) -> int:
    replicas = target.get("replicas", 1)
    return len(items(target, "urls")) or (replicas if type(replicas) is int else 1)


def _fault_falls_into_the_load(where: str, fault: Data, data: Data) -> Iterator[Problem]:
    serving = table(data, "serving")
    at_s = number(fault.get("at_s"), AT_S)
    load_s = number(fault.get("load_s"), -1.0)
    if at_s is not None and load_s is not None and 0 < load_s <= at_s:
        yield Problem(
            f"{where}.at_s", f"{at_s:g}", f"less than load_s of this fault, {load_s:g}", "Strike earlier, or let the load last longer."
        )
    load = number(fault.get("load"), -1.0)
    loads = [item for key in ("concurrency", "rate") for item in items(serving, key) if isinstance(item, int | float)]
    if load is not None and load > 0 and load not in loads:
        yield Problem(
            f"{where}.load",
            f"{load:g}",
            f"one of the loads {', '.join(f'{item:g}' for item in loads)}" if loads else "none, since there are no loads",
            "Remove it to use the middle one.",
        )


FAULT_RULES: tuple[Callable[[Data], Iterator[Problem]], ...] = (_as_their_kinds_ask, _restarts, _within_the_load)
