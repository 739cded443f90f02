"""What do the times of an operation at several sizes say about a link?  The fit that `alpha`, `beta` and `crossover_size` share.

T(S) = a + b S by relative errors (`assay.stats.models.affine_fit`), in every launch of its own; the launches' values carry the interval.
alpha and beta are those of one link of a ring (`assay.frames.links.bandwidth.alpha_beta`).
Cannot tell: whether an engine uses a ring, nor where it changes its protocol: the residuals say how well the line fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.format import count
from assay.estimates.over_launches import positive
from assay.frames.links import bandwidth
from assay.frames.links.collective_calls import HOW, asked_cells, groups_of, missing, per_launch, ranks_of
from assay.frames.record_data import Measured
from assay.spec.sections.collectives import Cell
from assay.stats.models.affine_fit import LEAST_SIZES, Affine, affine_fit

Part = Literal["fixed", "growing"]
ENOUGH_SIZES: Final = max(4, LEAST_SIZES)  # three points leave one residual for two parameters
LEAST_SEEN: Final = 0.1  # of the time at the smallest size for a fixed part, at the largest for one that grows, in every launch
LEAST_RANGE: Final = 16.0  # largest / smallest size: below that neither part is seen apart from the other


def groups(measured: Measured) -> dict[str, list[Cell]]:
    """Name of the group -> its cells by ascending size."""
    found: dict[str, list[Cell]] = {}
    for cell in asked_cells(measured):
        found.setdefault(cell.group, []).append(cell)
    return found


def fits(measured: Measured) -> Mapping[str, Mapping[int, Affine] | Absent]:
    """Name of the group -> block -> the fit of that block's launch; or why there is none."""
    values = per_launch(measured)
    return {name: _fit(measured, members, values) for name, members in groups(measured).items()}


def _fit(measured: Measured, members: list[Cell], values: Mapping[str, pl.DataFrame]) -> Mapping[int, Affine] | Absent:
    known = [cell for cell in members if values[cell.name].height]
    if members[0].ranks == 1:
        return Absent(reason="not_applicable", detail="a group of one rank has no link")
    if not known:
        return missing(measured, members[0])
    if len(known) < ENOUGH_SIZES or known[-1].nbytes < LEAST_RANGE * known[0].nbytes:
        return Absent(
            reason="insufficient",
            detail=f"{count(len(known), 'sizes')} from {known[0].nbytes} to {known[-1].nbytes} bytes; a fixed part and a part per byte need "
            f"{ENOUGH_SIZES} sizes over a factor of {LEAST_RANGE:g} (--sizes 1K:16M)",
        )
    series: dict[int, list[tuple[int, float]]] = {}
    for cell in known:
        for block, value in values[cell.name].select("block", "value").iter_rows():
            series.setdefault(block, []).append((cell.nbytes, value))
    whole = {block: points for block, points in sorted(series.items()) if len(points) == len(known)}
    if not whole:
        return Absent(reason="insufficient", detail="no launch has a time at every size")
    return {block: affine_fit(*map(list, zip(*points, strict=True))) for block, points in whole.items()}


def over_groups(
    measured: Measured, of: Callable[[Cell, Affine], float], *, unit: str, name: str, needs: tuple[Part, ...]
) -> dict[str, Value]:
    """One estimate per group, from a number of each launch's fit; Absent where a part that it needs is hardly seen in a launch."""
    found: dict[str, Value] = {}
    members = groups(measured)
    for group, fitted in fits(measured).items():
        if isinstance(fitted, Absent):
            found[group] = fitted
            continue
        cell = members[group][0]
        if (unseen := _unseen(members[group], fitted, needs)) is not None:
            found[group] = unseen
            continue
        made = positive(
            [of(cell, one) for one in fitted.values()],
            measured.confidence,
            unit=unit,
            name=name,
            n_trials=len(fitted) * len(members[group]),
            aggregate=f"fit of T(S) = a + b S by relative errors over {count(len(members[group]), 'sizes')} in each launch; {HOW}",
        )
        _, _, rest = made.signature.partition("|")
        found[group] = replace(
            made, signature=f"{name}|model:hockney-ring|rank:{ranks_of(measured)}|ranks:{cell.ranks}{groups_of(cell)}|{rest}"
        )
    return found


def _unseen(members: list[Cell], fitted: Mapping[int, Affine], needs: tuple[Part, ...]) -> Absent | None:
    """A part that hardly shows has a value of any order of magnitude, and its reciprocal too."""
    first, last = members[0].nbytes, members[-1].nbytes
    shares = {
        "fixed": min(one.fixed / one.at(first) for one in fitted.values()),
        "growing": min(one.per_unit * last / one.at(last) for one in fitted.values()),
    }
    if "growing" in needs and shares["growing"] < LEAST_SEEN:
        return Absent(
            reason="insufficient",
            detail=f"in some launch the time does not grow with the size up to {last} bytes: ask for larger sizes, "
            "or leave the machine to the experiment",
        )
    if "fixed" in needs and shares["fixed"] < LEAST_SEEN:
        return Absent(
            reason="insufficient",
            detail=f"in some launch even {first} bytes take no time that is fixed: ask for smaller sizes, or leave the "
            "machine to the experiment",
        )
    return None


def link(cell: Cell, fitted: Affine) -> tuple[float, float]:
    """(alpha, beta) of one link."""
    return bandwidth.alpha_beta(cell.op, cell.ranks, fitted)
