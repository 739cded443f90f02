"""How are calls of a command or a function timed?

The section [timing].
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fireassay.spec.flags.flag import flag
from fireassay.spec.model import Model

ROUNDS = 10  # default number of launches


class Timing(Model):
    """How the runners command and function time calls. Other runners ignore it."""

    round_s: Annotated[float, flag("--round", "S", "minimum duration of a round in seconds ({default:g})", time=20)] = Field(
        0.5,
        gt=0.0,
        le=3600.0,
        description="Minimum duration of the counted calls of a launch, seconds. The first launch derives the number of trials from "
        "it; all later launches keep that number.",
    )
    trials: Annotated[int | None, flag("--trials", "N", "starts in each round (as many as fit into --round)", time=30)] = Field(
        None, ge=1, le=100_000, description="Counted trials in each launch. Default: as many as fit into round_s."
    )
    warm_up: Annotated[int, flag("--warm-up", "N", "warm-up starts before the counted ones of each round ({default})", time=40)] = Field(
        1, ge=0, le=10_000, description="Warm-up trials before the counted ones in each launch. Recorded, never counted."
    )
    ignore_failure: Annotated[bool, flag("--ignore-failure", "", "accept exit codes other than 0", time=90)] = Field(
        False, description="Whether a command may end with an exit code other than 0. Otherwise the first such exit ends the run."
    )
    keep_output: Annotated[bool, flag("--show-output", "", "keep what the commands print in the record, and show its end", time=100)] = (
        Field(False, description="Whether what a command prints goes into the log of its launch. Otherwise it is discarded.")
    )
