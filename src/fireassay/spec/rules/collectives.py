"""Which keys of a collectives experiment contradict each other?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fireassay.errors import Problem
from fireassay.spec.explain import shown
from fireassay.spec.rules.partial import Demand, repeated, right
from fireassay.spec.sections.collectives import MAX_SIZES, MIN_MATRIX, PLACEMENTS, one_size, sizes_of

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

RUNNER: Final = "collectives"


def times_collectives(experiment: Experiment) -> bool:
    """True if assay itself runs the collectives."""
    return experiment.workload.runner == RUNNER


def _levels(experiment: Experiment) -> list[int]:
    return [level for _, level in right(experiment.factor.levels)] if "factor" in experiment.model_fields_set else []


def _root_is_a_rank(experiment: Experiment) -> Iterator[Problem]:
    wanted = experiment.collectives_requested
    ranks = [wanted.group_size] if wanted.group_size > 0 else _levels(experiment)  # of a group
    if times_collectives(experiment) and ranks and wanted.root >= min(ranks) > 0:
        allowed = f"a rank that exists at every level: below {min(ranks)}"
        yield Problem("collectives.root", shown(wanted.root), allowed, "Ranks are numbered from 0.")


def _groups_are_whole(experiment: Experiment) -> Iterator[Problem]:
    size = experiment.collectives_requested.group_size
    if size <= 0 or not times_collectives(experiment):
        return
    if uneven := [level for level in _levels(experiment) if level % size]:
        allowed = f"a number that divides every worker count, and {uneven[0]} too"
        fix = "Each rank belongs to one group, and all groups have the same size."
        yield Problem("collectives.group_size", shown(size), allowed, fix)


def _placements_exist(experiment: Experiment) -> Iterator[Problem]:
    placement, names = experiment.collectives_requested.placement, experiment.collectives_requested.operations
    if placement not in ("in", "out"):
        return
    without = [name for _, name in right(names) if name in PLACEMENTS and placement not in PLACEMENTS[name]]
    if without and len(without) == len(names):
        allowed = f'"both", or the one that {", ".join(without)} has'
        fix = "torch.distributed supports only one placement for these operations."
        yield Problem("collectives.placement", shown(placement), allowed, fix)


def _sizes_can_be_read(experiment: Experiment) -> Iterator[Problem]:
    wanted = experiment.collectives_requested
    sizes: set[int] = set()
    for index, text in right(wanted.sizes):
        if wanted.factor > 1:
            try:
                sizes |= set(sizes_of(text, wanted.factor))
            except ValueError as error:
                yield Problem(f"collectives.sizes[{index}]", shown(text), str(error))
    if len(sizes) > MAX_SIZES:
        yield Problem("collectives.sizes", f"{len(sizes)} sizes", f"at most {MAX_SIZES}")


def _shows_no_bandwidth(text: str) -> bool:
    try:
        return text != "" and one_size(text) < MIN_MATRIX
    except ValueError:
        return True


COLLECTIVE_RULES = (
    Demand(
        "collectives",
        lambda e: e.collectives is not None and not times_collectives(e),
        f'[collectives] only with workload.runner = "{RUNNER}"',
        f'Write runner = "{RUNNER}" below [workload].',
        found="a table, where workload.runner is another",
    ),
    Demand(
        "measure.communication",
        lambda e: e.measure.communication is True and e.workload.runner not in ("training", "replay", "simulated"),
        "false, since no training is run",
        "Remove it; `assay comm` measures the links alone.",
    ),
    Demand(
        "workload.script",
        lambda e: times_collectives(e) and e.workload.script != "",
        f'nothing where workload.runner = "{RUNNER}"',
        "Remove it: assay's own program makes the calls.",
    ),
    _root_is_a_rank,
    _groups_are_whole,
    _placements_exist,
    _sizes_can_be_read,
    Demand("collectives.operations", lambda e: repeated(e.collectives_requested.operations), "each operation once"),
    Demand(
        "collectives.matrix",
        lambda e: _shows_no_bandwidth(e.collectives_requested.matrix),
        "a size from 1K to 64G, for example 4M (1K is 1024)",
    ),
)
