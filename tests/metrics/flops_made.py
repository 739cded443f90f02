"""Records whose ranks said what their first step was: a step of 2 s after a first one of 9 s, with the devices that a test names."""

from __future__ import annotations

from typing import Any

from fireassay.spec.sections.costs import Flops
from tests.handmade import Handmade

H200 = "NVIDIA H200"


def part(flops: float, *, name: str = H200, precision: str = "bfloat16", device: str = "cuda:0", **more: Any) -> dict[str, Any]:
    return {"device": device, "name": name, "precision": precision, "flops": flops, **more}


def made(
    *parts: dict[str, Any],
    flops: Flops | None = None,
    workers: int = 1,
    says: int | None = None,
    blocks: int = 3,
    items: tuple[float | None, float | None] = (None, None),
    absent: str = "",
    **detail: Any,
) -> Handmade:
    """`items`: of the counted step, and of each later one; `says`: how many ranks told anything."""
    record = Handmade(levels=(workers,), blocks=blocks)
    record.experiment = record.experiment.model_copy(update={"flops": flops or Flops()})
    for block in range(blocks):
        number = record.launch(workers=workers, block=block)
        for rank in range(workers):
            record.steps(number, rank=rank, seconds=[9.0, 2.0, 2.0, 2.0, 2.0], items=items[1])
            if rank < (workers if says is None else says):
                told = {"convention": "counter", "by": list(parts), "items": items[0], "absent": absent, **detail}
                value = None if absent else sum(one["flops"] for one in parts)
                record.event(number, "flops", 9.0, rank=rank, incarnation=0, step=0, value=value, detail=told)
    return record
