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

    round_s: Annotated[float, flag("--round", "S", "seconds that a round lasts at least ({default:g})", time=20)] = Field(
        0.5,
        gt=0.0,
        le=3600.0,
        description="Seconds of counted calls that one launch should last at least. In the first launch it gives the number "
        "of trials, which all later launches keep.",
    )
    trials: Annotated[int | None, flag("--trials", "N", "starts in each round (as many as --round takes)", time=30)] = Field(
        None, ge=1, le=100_000, description="Counted trials in each launch. Default: as many as round_s takes."
    )
    warm_up: Annotated[int, flag("--warm-up", "N", "starts before the counted ones of each round ({default})", time=40)] = Field(
        1, ge=0, le=10_000, description="Trials before the counted ones in each launch. They are kept, and never counted."
    )
    ignore_failure: Annotated[bool, flag("--ignore-failure", "", "accept exit codes other than 0", time=90)] = Field(
        False, description="Whether a command may end with an exit code other than 0. Otherwise the first one ends the run."
    )
    keep_output: Annotated[bool, flag("--show-output", "", "keep what the commands print in the record, and show its end", time=100)] = (
        Field(
            False,
            description="Whether what a command prints goes into the log of its launch. Otherwise it goes nowhere, as fast as can be.",
        )
    )
