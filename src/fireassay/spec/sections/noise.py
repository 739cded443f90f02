"""Which disturbances of the machine are too many?

The section [noise].
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fireassay.spec.flags.flag import flag
from fireassay.spec.model import Model


class Noise(Model):
    """How disturbances by other programs and by the machine itself are watched."""

    sentinel_s: float = Field(
        0.05,
        ge=0.0,
        le=10.0,
        description="Seconds of fixed work that the coordinator times before and after each launch, to see whether the "
        "machine itself got slower. 0: no sentinel.",
    )
    repeat: Annotated[int, flag("--repeat", "N", "how often a launch that was disturbed is made again ({default})", run=70)] = Field(
        0,
        ge=0,
        le=100,
        description="How often a launch that was disturbed is made again. The disturbed one stays in the record under the "
        "status contaminated. 0: it is flagged and counted all the same.",
    )
    most_foreign: float = Field(0.10, gt=0.0, le=1.0, description="Share of the processors that other programs may use during a launch.")
    most_steal: float = Field(0.01, gt=0.0, le=1.0, description="Share of the processors that the hypervisor may take during a launch.")
    most_throttled: float = Field(0.005, gt=0.0, le=1.0, description="Share of a launch for which a quota may stop its processes.")
    most_pressure: float = Field(
        0.05, gt=0.0, le=1.0, description="Share of a launch in which tasks may wait for input or output or for memory (PSI, some)."
    )
    most_gpu_throttled: float = Field(0.01, gt=0.0, le=1.0, description="Share of a launch in which a GPU may be slowed for heat or power.")
    most_gpu_clock_lost: float = Field(
        0.25, gt=0.0, le=1.0, description="How far a GPU's median clock during a launch may lie below that of the other launches, a share."
    )
    sentinel_deviations: float = Field(
        3.0,
        gt=0.0,
        le=100.0,
        description="A sentinel above the experiment's median by more than this many robust standard deviations "
        "(1.4826 MAD), and by more than 5 %, marks its launch as disturbed.",
    )
