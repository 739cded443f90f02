"""How are calls of a command or a function timed?  The section [timing]."""

from __future__ import annotations

from pydantic import Field

from assay.spec.model import Model


class Timing(Model):
    """How the runners command and function time calls. Other runners ignore it."""

    round_s: float = Field(
        0.5,
        gt=0.0,
        le=3600.0,
        description="Seconds of counted calls that one launch should last at least. In the first launch it gives the number "
        "of trials, which all later launches keep.",
    )
    trials: int | None = Field(None, ge=1, le=100_000, description="Counted trials in each launch. Default: as many as round_s takes.")
    warm_up: int = Field(1, ge=0, le=10_000, description="Trials before the counted ones in each launch. They are kept, and never counted.")
    ignore_failure: bool = Field(
        False, description="Whether a command may end with an exit code other than 0. Otherwise the first one ends the run."
    )
    keep_output: bool = Field(
        False, description="Whether what a command prints goes into the log of its launch. Otherwise it goes nowhere, as fast as can be."
    )
