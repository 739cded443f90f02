"""Which values have the flags of `assay simulate`, and the arguments of `fireassay.simulate`, that are not given?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

DEFAULTS: Final[Mapping[str, Any]] = {
    "workers": "",
    "step_time": "",
    "serial": 0.0,
    "alpha": "20us",
    "gbps": 10.0,
    "gradient": 1e8,
    "buckets": 1,
    "overlap": 0.0,
    "jitter": 0.02,
    "noise": 0.01,
    "stragglers": 0.0,
    "slowdown": None,
    "weak": False,
    "steps": 20,
    "launches": 5,
    "seed": 20260101,
    "name": "simulated",
}
