"""Which faults contradict the load that they fall into?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from assay.errors import Problem
from assay.spec.explain import NOTHING, did_you_mean, shown
from assay.spec.rules.given import AT_S, Data, is_list, items_of, number_or, serving_of, tables_of

STARTED: Final = ("kill", "stop", "slow")  # kinds of faults that need a process that assay started


def faults_fit(data: Data) -> Iterator[Problem]:
    if not serving_of(data):
        return
    targets = [target for _, target in tables_of(serving_of(data), "targets")]
    for index, fault in tables_of(data, "faults"):
        where = f"faults[{index}]"
        yield from _fault_finds_its_target(where, fault, targets)
        yield from _fault_falls_into_the_load(where, fault, data)
        if fault.get("kind") == "command" and fault.get("command", "") == "":
            yield Problem(
                where=f"{where}.command",
                found=NOTHING,
                allowed='a line for the shell where kind = "command"',
                mend='For example command = "kubectl delete pod vllm-{replica}".',
            )


def _fault_finds_its_target(where: str, fault: Data, targets: list[Data]) -> Iterator[Problem]:
    name = fault.get("target", "")
    names = [str(target.get("name", "server")) for target in targets] or ["server"]
    if isinstance(name, str) and name not in ("", *names):
        yield Problem(
            where=f"{where}.target", found=shown(name), allowed=f"one of the engines {', '.join(names)}", mend=did_you_mean(name, names)
        )
        return
    struck = [target for target in targets or [{}] if name in ("", target.get("name", "server"))]
    kind = fault.get("kind", "kill")
    strange = [target for target in struck if not items_of(target, "command") and is_list(target, "command")]
    if kind in STARTED and strange:
        yield Problem(
            where=f"{where}.kind",
            found=f"{shown(kind)} for {strange[0].get('name', 'server')}, which assay does not start",
            allowed=f"{', '.join(STARTED)} only where the target has a command",
            mend='Add command to the target, or write kind = "command" with a line that reaches the server.',
        )
    replica = fault.get("replica")
    for target in islice((one for one in struck if type(replica) is int and replica >= _replicas(one)), 1):
        yield Problem(
            where=f"{where}.replica",
            found=shown(replica),
            allowed=f"a number below the replicas of {target.get('name', 'server')}: {_replicas(target)}",
            mend="Replicas are numbered from 0.",
        )


def _replicas(target: Data) -> int:
    replicas = target.get("replicas", 1)
    return len(items_of(target, "urls")) or (replicas if type(replicas) is int else 1)


def _fault_falls_into_the_load(where: str, fault: Data, data: Data) -> Iterator[Problem]:
    serving = serving_of(data)
    at_s = number_or(fault.get("at_s"), AT_S)
    load_s = number_or(fault.get("load_s"), -1.0)
    if at_s is not None and load_s is not None and 0 < load_s <= at_s:
        yield Problem(
            where=f"{where}.at_s",
            found=f"{at_s:g}",
            allowed=f"less than this fault's load_s, {load_s:g}",
            mend="Strike earlier, or let the load last longer.",
        )
    load = number_or(fault.get("load"), -1.0)
    loads = [one for key in ("concurrency", "rate") for one in items_of(serving, key) if isinstance(one, int | float)]
    if load is not None and load > 0 and load not in loads:
        yield Problem(
            where=f"{where}.load",
            found=f"{load:g}",
            allowed=f"one of the loads {', '.join(f'{one:g}' for one in loads)}" if loads else "none where there are no loads",
            mend="Leave it out for the one in the middle.",
        )
