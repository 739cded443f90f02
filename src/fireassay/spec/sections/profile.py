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
    """One profiled launch per worker count: some steps are skipped, some warm up the profiler, and at most three are kept."""

    levels: Annotated[tuple[Annotated[int, Field(ge=1, le=100_000)], ...], BeforeValidator(listed)] = Field(
        (), description="Worker counts that get a profiled launch. Default: every level."
    )
    wait: Annotated[int, flag("--wait", "N", "steps before profiling ({default})", profile=130)] = Field(
        5, ge=0, le=1_000_000, description="Steps before profiling."
    )
    warm_up: Annotated[int, flag("--warm-up", "N", "profiler warm-up steps after those ({default})", profile=140)] = Field(
        2, ge=0, le=100, description="Steps after those in which the profiler runs but nothing is kept: its first events are slow."
    )
    active: Annotated[int, flag("--active", "N", "profiled steps that are kept, at most 3 ({default})", profile=150)] = Field(
        3, ge=1, le=MOST_STEPS, description="Profiled steps that are kept, at most three: traces are large."
    )
    memory: Annotated[bool, flag("--no-memory", "", "do not trace allocations: smaller traces", profile=160)] = Field(
        True, description="Whether allocations are traced too."
    )
    tool: Annotated[Literal["torch", "nsys"], flag("--tool", "NAME", "torch (torch.profiler) or nsys (Nsight Systems)", profile=170)] = (
        Field(
            "torch",
            description="torch: torch.profiler, whose traces Perfetto and TensorBoard read. nsys: NVIDIA Nsight Systems, if installed.",
        )
    )
    only: bool = Field(False, description="No timed launches: `assay profile`.")

    @property
    def steps(self) -> int:
        """Steps a script needs for a complete profile."""
        return self.wait + self.warm_up + self.active
