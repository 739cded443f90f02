"""How are a few steps profiled?

The section [profile]: launches of their own that are never timed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from fireassay.spec.flags.flag import flag
from fireassay.spec.model import Model, listed

MOST_STEPS = 3  # profiled: a longer trace takes gigabytes


class Profile(Model):
    """One profiled launch for each worker count: some steps are waited, some warm the profiler up, and at most three are kept."""

    levels: Annotated[tuple[Annotated[int, Field(ge=1, le=100_000)], ...], BeforeValidator(listed)] = Field(
        (), description="Worker counts that get a profiled launch. Default: every level."
    )
    wait: Annotated[int, flag("--wait", "N", "steps before anything is profiled ({default})", profile=130)] = Field(
        5, ge=0, le=1_000_000, description="Steps before anything is profiled."
    )
    warm_up: Annotated[int, flag("--warm-up", "N", "steps then that warm the profiler up ({default})", profile=140)] = Field(
        2, ge=0, le=100, description="Steps then in which the profiler runs and nothing is kept: its first events are slow."
    )
    active: Annotated[int, flag("--active", "N", "steps then that are kept, at most 3 ({default})", profile=150)] = Field(
        3, ge=1, le=MOST_STEPS, description="Steps then that are kept, at most three: traces are large."
    )
    memory: Annotated[bool, flag("--no-memory", "", "do not follow allocations: smaller traces", profile=160)] = Field(
        True, description="Whether allocations are followed too."
    )
    tool: Annotated[Literal["torch", "nsys"], flag("--tool", "NAME", "torch (torch.profiler) or nsys (Nsight Systems)", profile=170)] = (
        Field(
            "torch",
            description="torch: torch.profiler, whose traces Perfetto and TensorBoard read. nsys: NVIDIA Nsight Systems, where it is "
            "installed.",
        )
    )
    only: bool = Field(False, description="Make no timed launch at all: `assay profile`.")

    @property
    def steps(self) -> int:
        """Steps a script needs for a complete profile."""
        return self.wait + self.warm_up + self.active
