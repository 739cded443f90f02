"""How is a fleet's verdict handed to what runs the cluster?  A list, a health check for Slurm, and commands for Kubernetes.

    drain.json   nodes and links with reason, evidence and commands
    drain.sh     for Slurm's HealthCheckProgram: drains the node that it runs on and exits with 1, if that node is in the list
    otherwise    a node and its reason per line, split by a tab

Sources: slurm.conf(5) HealthCheckProgram, scontrol(1); Kubernetes API reference, NodeCondition (a strategic merge by type) and Taint.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

from fireassay.estimates.format import percent
from fireassay.frames.fleet import Fleet, Link, NodeResult
from fireassay.printable import one_line
from fireassay.spec.fleet import TESTS

CONDITION: Final = "FireassayUnfit"
TAINT: Final = "fireassay/unfit"
MAX_REASON: Final = 200  # characters of a drain reason; squeue and sinfo cut longer ones


def reason_of(found: Fleet, node: str) -> tuple[str, str]:
    """The rule and the words of a node to drain."""
    return ("slow_node", slow_words(found.slow(node))) if found.slow(node) else ("silent_node", silent_words(found.silent[node]))


def slow_words(tests: Mapping[str, NodeResult]) -> str:
    """ "disk write 41 % slower than the fleet, where ordinary nodes are at most 6 % slower"."""
    return "; ".join(
        f"{TESTS[test].title}{f' ({result.side})' if result.side else ''} {percent(result.slower, 2)} slower than the fleet, where ordinary "
        f"nodes are at most {percent(result.ordinary, 2)} slower"
        for test, result in tests.items()
    )


def link_words(tests: Mapping[str, NodeResult]) -> str:
    """The same of a link."""
    return "; ".join(
        f"{TESTS[test].title} {percent(result.slower, 2)} slower than its nodes explain, where ordinary links{f' ({result.kind})' if result.kind else ''} "
        f"are at most {percent(result.ordinary, 2)} slower"
        for test, result in tests.items()
    )


def silent_words(tests: Mapping[str, str]) -> str:
    """Tests without an answer, by reason."""
    reasons: dict[str, list[str]] = {}
    for test, why in tests.items():
        reasons.setdefault(why, []).append(test)
    return "; ".join(f"no {', '.join(tests)} in any round: {why}" for why, tests in reasons.items())


def link_name(found: Fleet, link: Link) -> str:
    """ "n1 > n2" of a test with a direction, else "n1 - n2"."""
    directed = any(TESTS[test].of == "direction" for test in (*found.slow_link(link), *found.cut.get(link, ())))
    return f"{link[0]} {'>' if directed else '-'} {link[1]}"


def drain_line(node: str, reason: str) -> str:
    """The command that takes a node out of Slurm."""
    return f"scontrol update nodename={shlex.quote(node)} state=drain reason={shlex.quote(f'assay fleet: {reason}')}"


def kubectl(node: str, rule: str, reason: str, at: str) -> dict[str, str]:
    """The commands that say it to Kubernetes: a condition, which tells, and a taint, which keeps new pods away."""
    camel = "".join(word.capitalize() for word in rule.split("_"))
    condition = {"type": CONDITION, "status": "True", "reason": camel, "message": reason, "lastHeartbeatTime": at, "lastTransitionTime": at}
    patch = shlex.quote(json.dumps({"status": {"conditions": [condition]}}))
    return {
        "condition": f"kubectl patch node {shlex.quote(node)} --subresource=status --type=strategic -p {patch}",
        "taint": f"kubectl taint nodes {shlex.quote(node)} {TAINT}={rule}:NoSchedule --overwrite",
    }


def drain_list(found: Fleet, suffix: str, *, record: str, at: str) -> str:
    """The list in the format of a file's suffix. `at`: when the record was made, UTC."""
    rows = list(_rows(found, at))
    if suffix == ".json":
        links = [{"link": link_name(found, link), **_of_link(found, link)} for link in found.bad_links]
        return json.dumps({"record": record, "nodes": rows, "links": links}, indent=2) + "\n"
    if suffix == ".sh":
        return health_check(rows, record)
    return "".join(f"{row['node']}\t{one_line(row['reason'])}\n" for row in rows)


def _rows(found: Fleet, at: str) -> Iterator[dict[str, Any]]:
    for node in found.drained:
        rule, reason = reason_of(found, node)
        evidence: dict[str, Any] = {test: asdict(result) for test, result in found.slow(node).items()}
        yield {
            "node": node,
            "rule": rule,
            "reason": reason,
            "evidence": evidence or {**found.silent[node]},
            "slurm": drain_line(node, reason),
            "kubernetes": kubectl(node, rule, reason, at),
        }


def _of_link(found: Fleet, link: Link) -> dict[str, Any]:
    if slow := found.slow_link(link):
        return {"rule": "slow_link", "reason": link_words(slow), "evidence": {test: asdict(result) for test, result in slow.items()}}
    return {"rule": "silent_link", "reason": silent_words(found.cut[link]), "evidence": dict(found.cut[link])}


def health_check(rows: list[dict[str, Any]], record: str) -> str:
    """A program for Slurm's HealthCheckProgram."""
    cases = "".join(
        f"  {shlex.quote(row['node'])})\n"
        f'    scontrol update nodename="$node" state=drain reason={shlex.quote(one_line("assay fleet: " + row["reason"])[:MAX_REASON])}\n'
        "    exit 1 ;;\n"
        for row in rows
    )
    return (
        f"#!/bin/sh\n# For Slurm's HealthCheckProgram, from the record {one_line(record)}. Exit code 1: this node is to be drained.\n"
        f'node="${{SLURMD_NODENAME:-$(hostname -s)}}"\ncase "$node" in\n{cases}esac\nexit 0\n'
    )
