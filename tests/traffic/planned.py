"""Schedules for tests: `planned` builds one from a few words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fireassay.spec.plan import Configuration
from fireassay.spec.sections.serving import Serving
from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.schedule import TYPES, Schedule

S = 1_000_000_000


def planned(
    process: str,
    *,
    load: float | None = None,
    seed: int = 1,
    replicas: int = 1,
    base: Path = Path("/nowhere"),
    scenario: str = "D(100,50)",
    prompts: dict[str, Any] | None = None,
    correctness: dict[str, Any] | None = None,
    **keys: Any,
) -> Schedule:
    """The schedule of a launch without cold requests and warm-up, unless they are asked for."""
    streams = process == "closed" or (process == "users" and isinstance(load, int))
    loads = {} if load is None else {"concurrency": [load]} if streams else {"rate": [load]}
    serving = Serving.model_validate(
        {
            **loads,
            "prompts": prompts or {},
            "correctness": correctness or {},
            "arrivals": {"process": process, "warm_up_s": 0.0, "cold": 0, **keys},
        }
    )
    configuration = Configuration(name="it", workers=replicas, scenario=scenario, load=load)
    return make.build(serving, configuration, seed, replicas, base)


def equal(one: Schedule, other: Schedule) -> bool:
    """Whether both would send the same."""
    same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in TYPES)
    known = dict(one.expected) == dict(other.expected) and dict(one.blocks) == dict(other.blocks)
    return same and known and one.together == other.together
