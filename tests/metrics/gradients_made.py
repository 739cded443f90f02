"""Launches with gradients written down by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tests.handmade import Handmade

Named = Mapping[str, Sequence[float]]


def add(
    made: Handmade,
    gradients: Sequence[Named],
    *,
    block: int = 0,
    start: str = "start",
    ids: Sequence[int] | None = range(8),
    items: float = 8.0,
    precision: str = "float64",
    step: int = 0,
) -> int:
    """A launch with one rank per mapping; its ids and items are shared out evenly."""
    workers = len(gradients)
    number = made.launch(workers=workers, block=block)
    for rank, named in enumerate(gradients):
        made.steps(number, rank=rank, seconds=[1.0], items=items / workers)
        if start:
            made.fingerprint(number, "parameter_hash", start, rank=rank)
        if ids is not None:
            made.samples(number, list(ids)[rank::workers], rank=rank)
        for name, values in named.items():
            norm = float(np.linalg.norm(values)) if len(values) else None
            made.rows["gradients"].append(
                (number, rank, 0, step, name, len(values), precision if len(values) else "", norm, list(values), 0, 1, None)
            )
    return number
