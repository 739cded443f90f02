"""Which keys of an experiment contradict each other?

Each rule sees the raw data before validation, so that contradictions are reported together with wrong values.  A rule ignores
values of the wrong type: those are reported elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, shown
from fireassay.spec.rules.collectives import COLLECTIVE_RULES, times_collectives
from fireassay.spec.rules.data import tables
from fireassay.spec.rules.evaluation import EVALUATION_RULES, scores_answers
from fireassay.spec.rules.faults import FAULT_RULES
from fireassay.spec.rules.serving import SERVING_RULES
from fireassay.spec.sections.flops import flops_say_enough

Data = Mapping[str, Any]


def contradictions(data: object) -> tuple[Problem, ...]:
    """Every contradiction between the keys of an experiment, given as nested mappings or models."""
    plain = _plain(data)
    if not isinstance(plain, Mapping):
        return ()
    return tuple(problem for rule in RULES for problem in rule(plain))


LAUNCHES, AT_MOST = 5, 60  # defaults of launches.per_configuration and launches.at_most
FEWEST_LAUNCHES = 3  # per configuration; gates give no verdict below it (same as fireassay.verdict.gates.support.gate)


def _plain(data: object) -> object:
    if isinstance(data, BaseModel):
        return _plain(data.model_dump(by_alias=True))
    if isinstance(data, Mapping):
        return {name: _plain(inner) for name, inner in data.items() if inner is not None}
    return [_plain(inner) for inner in data] if isinstance(data, list | tuple) else data


def _at(data: Data, section: str, name: str) -> Any:
    inner = data.get(section)
    return inner.get(name) if isinstance(inner, Mapping) else None


def _counts(value: object) -> tuple[int, ...] | None:
    """A list of worker counts, or None if it is not one."""
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        return None
    return tuple(value)


def _whole_numbers(value: object) -> tuple[int, ...]:
    """The integers of a list, ignoring other items: one wrong item must not hide another problem."""
    return tuple(item for item in value if type(item) is int) if isinstance(value, list) else ()


def _levels(data: Data) -> tuple[int, ...] | None:
    return _counts(_at(data, "factor", "levels")) or None


def _serves(data: Data) -> bool:
    return _at(data, "workload", "runner") == "serving" or data.get("serving") is not None


def _something_to_start(data: Data) -> Iterator[Problem]:
    """Only a load on external engines and answers in files start no script, and only they have no factor."""
    if _serves(data) or scores_answers(data):
        return
    script = _at(data, "workload", "script")
    if isinstance(data.get("workload"), Mapping) and script in (None, "") and not times_collectives(data):
        yield Problem("workload.script", NOTHING if script is None else "nothing", "text that is not empty", "Name the script to run.")
    if data.get("factor") is None:
        yield Problem("factor", NOTHING, "a table with the keys name, levels", "Add [factor] with levels = [1, 2, 4].")


def _levels_once(data: Data) -> Iterator[Problem]:
    lists = [("factor.levels", _whole_numbers(_at(data, "factor", "levels")))]
    lists += [(f"faults[{index}].levels", _whole_numbers(fault.get("levels"))) for index, fault in tables(data, "faults")]
    for where, levels in lists:
        twice = [level for level, count in Counter(levels).items() if count > 1]
        if twice:
            yield Problem(
                where,
                shown(levels),
                "each worker count once",
                f"{', '.join(map(str, twice))} occurs more than once. Write {shown(list(dict.fromkeys(levels)))}.",
            )


def _first_look_within_the_most(data: Data) -> Iterator[Problem]:
    first, most = (_at(data, "launches", name) for name in ("per_configuration", "at_most"))
    first = LAUNCHES if first is None else first
    most = AT_MOST if most is None else most
    whole_numbers = type(first) is int and type(most) is int
    if _at(data, "launches", "precision") is not None and whole_numbers and most < first:
        yield Problem(
            "launches.at_most",
            shown(most),
            f"at least launches.per_configuration, the launches before the first interim analysis: {first}",
            f"Set launches.at_most to {first} or more (--at-most), or start with fewer launches (--launches).",
        )


def _among_the_levels(data: Data) -> Iterator[Problem]:
    levels = _levels(data)
    if levels is None:
        return
    single = [(f"{section}.{name}", _at(data, section, name)) for section, name in _LEVEL_KEYS]
    for index, fault in tables(data, "faults"):
        of_fault = enumerate(_counts(fault.get("levels")) or ())
        single += [(f"faults[{index}].levels[{position}]", level) for position, level in of_fault]
    for where, level in single:
        if type(level) is int and level >= 1 and level not in levels:
            yield Problem(
                where,
                shown(level),
                f"one of the levels {', '.join(map(str, levels))}",
                f"Add {level} to the levels, or choose one of them.",
            )


_LEVEL_KEYS = (("scaling", "base"), ("gates", "required_workers"))


def _budget_needs_prices(data: Data) -> Iterator[Problem]:
    budget = _at(data, "gates", "budget_usd")
    if budget is not None and data.get("prices") is None:
        yield Problem(
            "gates.budget_usd",
            shown(budget),
            "a budget only together with [prices]",
            'Add [prices] with usd_per_worker_hour = ..., date = ..., source = "...".',
        )


def _modelled_energy_needs_watts(data: Data) -> Iterator[Problem]:
    if _at(data, "energy", "source") == "modelled" and _at(data, "energy", "modelled_watts_per_worker") is None:
        yield Problem(
            "energy.modelled_watts_per_worker",
            NOTHING,
            'a number above 0 if energy.source = "modelled"',
            'Add modelled_watts_per_worker = ... below [energy], or write source = "auto".',
        )


def _calibrating_needs_hooks(data: Data) -> Iterator[Problem]:
    """Steps without synchronisation need the training hooks and at least two workers."""
    launches, levels = _at(data, "workload", "calibrate_communication"), _levels(data)
    if type(launches) is not int or launches < 1:
        return
    runner, attach = _at(data, "workload", "runner"), _at(data, "workload", "attach")
    if runner not in (None, "training") or attach is False:
        yield Problem(
            "workload.calibrate_communication",
            shown(launches),
            "0, since no training is hooked",
            'Keep workload.runner = "training" and workload.attach = true, or remove the key.',
        )
    elif levels is not None and max(levels) < 2:
        yield Problem(
            "workload.calibrate_communication",
            shown(launches),
            "0, since no level has 2 or more workers",
            "A single worker does not communicate: add a level, or remove the key.",
        )


def _fresh_folder_on_one_node(data: Data) -> Iterator[Problem]:
    """The coordinator of a training makes the copy, next to its record."""
    if _at(data, "workload", "fresh_folder") is not True:
        if _at(data, "workload", "keep_folders") is True:
            yield Problem(
                "workload.keep_folders",
                "true",
                "true only together with workload.fresh_folder",
                "Add workload.fresh_folder = true, or remove this key.",
            )
        return
    runner, nodes = _at(data, "workload", "runner"), _at(data, "launcher", "nodes")
    if runner not in (None, "training"):
        yield Problem(
            "workload.fresh_folder",
            "true",
            "false, since no training script is launched",
            'Remove it: only workload.runner = "training" copies its folder.',
        )
    elif (type(nodes) is int and nodes > 1) or _at(data, "launcher", "hosts"):
        yield Problem(
            "workload.fresh_folder",
            "true",
            "false, since the workers are on several machines",
            "Name the folder by {launch} in workload.arguments or workload.environment instead.",
        )


def _steps_end_a_training(data: Data) -> Iterator[Problem]:
    """A launch ended early has steps, but neither wall time nor cost of the whole job."""
    steps = _at(data, "workload", "steps")
    if type(steps) is not int:
        return
    if _at(data, "workload", "runner") not in (None, "training"):
        yield Problem(
            "workload.steps",
            shown(steps),
            "no value, since no training script is launched",
            'Remove it: only a training (workload.runner = "training") has steps.',
        )
    for name in ("deadline_s", "budget_usd"):
        if (gate := _at(data, "gates", name)) is not None:
            yield Problem(
                f"gates.{name}",
                shown(gate),
                "no value together with workload.steps",
                "Launches end before the job is done, so a whole run is not measured: remove one of the two.",
            )


def _only_of_a_training(data: Data) -> Iterator[Problem]:
    only, runner = _at(data, "verdict", "only"), _at(data, "workload", "runner")
    if only and (_serves(data) or runner not in (None, "training", "replay", "simulated")):
        yield Problem(
            "verdict.only",
            shown(only),
            "no value, since no training is judged",
            "Remove it: other records are always judged in all of their dimensions.",
        )


_ENDPOINT = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(\d{1,5})")


def _nodes_meet(data: Data) -> Iterator[Problem]:
    nodes, rank = _at(data, "launcher", "nodes"), _at(data, "launcher", "node_rank")
    endpoint = _at(data, "launcher", "rendezvous_endpoint")
    nodes = 1 if nodes is None else nodes
    if type(nodes) is not int or nodes < 1:
        return
    if nodes > 1 and endpoint is None:
        yield Problem(
            "launcher.rendezvous_endpoint",
            NOTHING,
            f"host:port if nodes = {nodes}",
            'Add rendezvous_endpoint = "host:port", the same on every node.',
        )
    if type(rank) is int and rank >= nodes:
        yield Problem("launcher.node_rank", shown(rank), f"a number below launcher.nodes = {nodes}", "Nodes are numbered from 0.")


def _endpoint_is_host_and_port(data: Data) -> Iterator[Problem]:
    endpoint = _at(data, "launcher", "rendezvous_endpoint")
    if not isinstance(endpoint, str):
        return
    match = _ENDPOINT.fullmatch(endpoint)
    if match is None or not 1 <= int(match[1]) <= 65535:
        yield Problem(
            "launcher.rendezvous_endpoint", shown(endpoint), "host:port with a port from 1 to 65535", 'For example "node0:29400".'
        )


def _words_can_be_passed(data: Data) -> Iterator[Problem]:
    """The operating system cannot pass a null byte, or a variable with an equals sign in its name."""
    words = [("workload.script", _at(data, "workload", "script"))]
    arguments, environment = _at(data, "workload", "arguments"), _at(data, "workload", "environment")
    for index, word in enumerate(arguments if isinstance(arguments, list) else ()):
        words.append((f"workload.arguments[{index}]", word))
    for name, value in (environment if isinstance(environment, Mapping) else {}).items():
        words.append((f"workload.environment.{name}", value))
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            yield Problem("workload.environment", shown(name), "a name without = and null bytes, not empty")
    for where, word in words:
        if isinstance(word, str) and "\0" in word:
            yield Problem(where, shown(word), "text without null bytes")


Rule = Callable[[Data], Iterator[Problem]]


def _fork_is_no_other_measurement(data: Data) -> Iterator[Problem]:
    """Forked workers have paid for no import, and are forks of one process with one thread on this machine."""
    if _at(data, "launcher", "start") != "fork":
        return
    keys = {
        "launcher.kind": (_at(data, "launcher", "kind"), (None, "local"), '"local"'),
        "launcher.nodes": (_at(data, "launcher", "nodes"), (None, 1), "1"),
        "launcher.threads_per_worker": (
            _at(data, "launcher", "threads_per_worker"),
            (None, 1),
            "1: a pool of threads does not survive a fork",
        ),
        "launcher.pin": (_at(data, "launcher", "pin"), (None, "none"), '"none"'),
        "scaling.time": (_at(data, "scaling", "time"), (None, "auto", "step"), '"auto" or "step": whole launches include start-up'),
    }
    for where, (value, allowed, words) in keys.items():
        if value not in allowed:
            fix = 'Or set launcher.start = "exec".'
            yield Problem(where, shown(value), f'{words} with launcher.start = "fork"', fix)
    if data.get("profile") is not None:
        fix = 'Set launcher.start = "exec".'
        yield Problem("profile", "a profile", 'none with launcher.start = "fork"', fix)


RULES: tuple[Rule, ...] = (
    _something_to_start,
    _levels_once,
    _first_look_within_the_most,
    _among_the_levels,
    _budget_needs_prices,
    _modelled_energy_needs_watts,
    _calibrating_needs_hooks,
    _fresh_folder_on_one_node,
    _steps_end_a_training,
    _only_of_a_training,
    _nodes_meet,
    _fork_is_no_other_measurement,
    _endpoint_is_host_and_port,
    _words_can_be_passed,
    flops_say_enough,
    *COLLECTIVE_RULES,
    *EVALUATION_RULES,
    *SERVING_RULES,
    *FAULT_RULES,
)
