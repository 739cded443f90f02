"""Which disturbances of the machine are too large?

The section [noise].
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fireassay.spec.flags.flag import flag
from fireassay.spec.model import Model, Share


class Noise(Model):
    """Detection of disturbances by other programs and by the machine itself."""

    sentinel_s: float = Field(
        0.05,
        ge=0.0,
        le=10.0,
        description="Seconds of fixed work that the coordinator times before and after each launch, to detect a slower machine. 0: "
        "no sentinel.",
    )
    repeat: Annotated[int, flag("--repeat", "N", "maximum repetitions of a disturbed launch ({default})", run=70)] = Field(
        0,
        ge=0,
        le=100,
        description="Maximum number of repetitions of a disturbed launch. The disturbed one stays in the record with status "
        "contaminated. 0: it is flagged but still counted.",
    )
    most_foreign: Share = Field(0.10, description="Share of the processors that other programs may use during a launch.")
    most_steal: Share = Field(0.01, description="Share of the processors that the hypervisor may take during a launch.")
    most_throttled: Share = Field(0.005, description="Share of a launch for which a quota may stop its processes.")
    most_pressure: Share = Field(
        0.05, description="Share of a launch in which tasks may wait for input or output or for memory (PSI, some)."
    )
    most_gpu_throttled: Share = Field(0.01, description="Share of a launch in which a GPU may be slowed for heat or power.")
    most_gpu_clock_lost: Share = Field(
        0.25, description="Share by which a GPU's median clock during a launch may lie below that of the other launches."
    )
    sentinel_deviations: float = Field(
        3.0,
        gt=0.0,
        le=100.0,
        description="A sentinel above the experiment's median by more than this many robust standard deviations "
        "(1.4826 MAD), and by more than 5 %, marks its launch as disturbed.",
    )
