"""Which keys of a collectives experiment contradict each other?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from fireassay.errors import Problem
from fireassay.spec.explain import shown
from fireassay.spec.sections.collectives import LEAST_MATRIX, MOST_SIZES, PLACEMENTS, one_size, sizes_of

RUNNER: Final = "collectives"

Data = Mapping[str, Any]


def times_collectives(data: Data) -> bool:
    """Whether assay itself runs the collectives."""
    workload = data.get("workload")
    return isinstance(workload, Mapping) and workload.get("runner") == RUNNER


def _section(data: Data) -> Data:
    section = data.get("collectives")
    return section if isinstance(section, Mapping) else {}


def _only_with_its_runner(data: Data) -> Iterator[Problem]:
    if data.get("collectives") is not None and not times_collectives(data):
        yield Problem(
            "collectives",
            "a table, where workload.runner is another",
            f'[collectives] only with workload.runner = "{RUNNER}"',
            f'Write runner = "{RUNNER}" below [workload].',
        )


def _nothing_to_start(data: Data) -> Iterator[Problem]:
    workload = data.get("workload")
    script = workload.get("script") if isinstance(workload, Mapping) else None
    if times_collectives(data) and script not in (None, ""):
        yield Problem(
            "workload.script",
            shown(script),
            f'nothing where workload.runner = "{RUNNER}"',
            "Remove it: assay's own program makes the calls.",
        )


def _levels(data: Data) -> list[int]:
    factor = data.get("factor")
    levels = factor.get("levels") if isinstance(factor, Mapping) else None
    return [level for level in levels if type(level) is int] if isinstance(levels, list) else []


def _only_of_a_training(data: Data) -> Iterator[Problem]:
    measure, workload = data.get("measure"), data.get("workload")
    runner = workload.get("runner", "training") if isinstance(workload, Mapping) else "training"
    if isinstance(measure, Mapping) and measure.get("communication") is True and runner not in ("training", "replay", "simulated"):
        yield Problem(
            "measure.communication", "true", "false, since no training is run", "Remove it; `assay comm` measures the links alone."
        )


def _root_is_a_rank(data: Data) -> Iterator[Problem]:
    root, levels, of = _section(data).get("root", 0), _levels(data), _section(data).get("group_size", 0)
    if type(of) is int and of > 0:
        levels = [of]  # a rank of the group
    if times_collectives(data) and type(root) is int and levels and root >= min(levels) > 0:
        yield Problem(
            "collectives.root", shown(root), f"a rank that exists at every level: below {min(levels)}", "Ranks are numbered from 0."
        )


def _groups_are_whole(data: Data) -> Iterator[Problem]:
    of, levels = _section(data).get("group_size", 0), _levels(data)
    if type(of) is not int or of <= 0 or not times_collectives(data):
        return
    if uneven := [level for level in levels if level % of]:
        yield Problem(
            "collectives.group_size",
            shown(of),
            f"a number that divides every worker count, and {uneven[0]} too",
            "Each rank belongs to one group, and all groups have the same size.",
        )


def _placements_exist(data: Data) -> Iterator[Problem]:
    section = _section(data)
    placement, names = section.get("placement", "both"), section.get("operations", ["all_reduce"])
    if placement not in ("in", "out") or not isinstance(names, list):
        return
    without = [name for name in names if name in PLACEMENTS and placement not in PLACEMENTS[name]]
    if without and len(without) == len(names):
        yield Problem(
            "collectives.placement",
            shown(placement),
            f'"both", or the one that {", ".join(without)} has',
            "torch.distributed supports only one placement for these operations.",
        )


def _sizes_can_be_read(data: Data) -> Iterator[Problem]:
    section = _section(data)
    texts, factor = section.get("sizes", []), section.get("factor", 4)
    sizes: set[int] = set()
    for index, text in enumerate(texts if isinstance(texts, list) else ()):
        if not isinstance(text, str) or type(factor) is not int or factor <= 1:
            continue
        try:
            sizes |= set(sizes_of(text, factor))
        except ValueError as error:
            yield Problem(f"collectives.sizes[{index}]", shown(text), str(error))
    if len(sizes) > MOST_SIZES:
        yield Problem("collectives.sizes", f"{len(sizes)} sizes", f"at most {MOST_SIZES}")


def _operations_once(data: Data) -> Iterator[Problem]:
    names = _section(data).get("operations")
    if isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) != len(names):
        yield Problem("collectives.operations", shown(names), "each operation once")


def _matrix_can_be_read(data: Data) -> Iterator[Problem]:
    text = _section(data).get("matrix", "")
    if not isinstance(text, str) or not text:
        return
    try:
        enough = one_size(text) >= LEAST_MATRIX
    except ValueError:
        enough = False
    if not enough:
        yield Problem("collectives.matrix", shown(text), "a size from 1K to 64G, for example 4M (1K is 1024)")


COLLECTIVE_RULES: tuple[Callable[[Data], Iterator[Problem]], ...] = (
    _only_with_its_runner,
    _only_of_a_training,
    _nothing_to_start,
    _root_is_a_rank,
    _groups_are_whole,
    _placements_exist,
    _sizes_can_be_read,
    _operations_once,
    _matrix_can_be_read,
)
