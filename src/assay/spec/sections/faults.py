"""What is broken on purpose, and when?  The section [[faults]]."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from assay.spec.model import LONGEST_S, Model, WorkerCounts


class Fault(Model):
    """What is broken on purpose, in launches of their own that are never timed."""

    kind: str = Field("kill", description="Which fault: the name of a file in assay/faults.")
    levels: WorkerCounts = Field((), description="Worker counts that get one fault launch each. Default: the largest level.")
    after_checkpoints: int | None = Field(
        None,
        ge=0,
        le=1_000_000,
        description="How many checkpoints must have been saved before the fault may strike. Default: 1; a training whose launches before saved "
        "none that was seen is struck in the middle of its steps.",
    )
    within_steps: int = Field(
        10, ge=1, le=1_000_000_000, description="The fault strikes at a random step, at most this many steps after that checkpoint."
    )
    at_step: int | None = Field(
        None,
        ge=0,
        le=1_000_000_000,
        description="Training: strikes after exactly this step instead; 0: before the first. The two keys above then have no meaning.",
    )
    times: int = Field(
        1,
        ge=1,
        le=1000,
        description="Training: how often it strikes: once in each of the first so many incarnations of the workers, in each at the same "
        "place. For faults after which the workers are started again.",
    )
    during: Literal["", "checkpoint"] = Field(
        "", description='Training: "checkpoint" strikes while a checkpoint is being saved, the one after after_checkpoints.'
    )
    rank: int | None = Field(None, ge=0, description="Training: which rank is hit. Default: drawn at random.")
    signal: Literal["KILL", "TERM", "ABRT", "SEGV"] = Field("KILL", description="The signal sent, for kinds that send one.")
    at_s: float = Field(
        10.0, ge=0.0, le=LONGEST_S, description="Serving: seconds after the measured part of the load began at which the fault strikes."
    )
    for_s: float = Field(
        5.0,
        ge=0.0,
        le=LONGEST_S,
        description="Seconds until it is undone, for kinds that can be (a killed replica is then started again; a killed worker by its "
        "engine, at once).",
    )
    load_s: float | None = Field(
        None,
        gt=0.0,
        le=LONGEST_S,
        description="Serving: how long the measured part of its launch lasts, seconds. Default: 20 s beyond the "
        "fault's end, or serving.arrivals.duration_s if that is longer.",
    )
    load: float | None = Field(
        None, gt=0.0, description="Serving: the load, one of serving.concurrency or serving.rate. Default: the one in the middle."
    )
    target: str = Field("", description="Serving: the engine that is hit. Default: every one, in launches of their own.")
    replica: int | None = Field(None, ge=0, description="Serving: which replica is hit, from 0. Default: drawn at random.")
    command: str = Field(
        "",
        description="For kind command: the line for the shell. {replica}, {port}, {pid} and {url} are replaced; in a training {rank} and {pid}.",
    )
    undo: str = Field("", description="For kind command: the line that undoes it, after for_s.")
    interface: str = Field("", description="For kind throttle: the network interface whose sending is held back, for example eth0.")
    rate_mbit: float = Field(
        10.0, gt=0.0, le=1_000_000.0, description="For kind throttle: what is left of its bandwidth, Mbit/s (1e6 bits)."
    )
    share: float = Field(
        0.1,
        gt=0.0,
        le=1.0,
        description="For kind slow: the share of a processor that is left. For reset and delay: of the connections hit.",
    )
    delay_s: float = Field(0.5, ge=0.0, le=LONGEST_S, description="For kind delay: seconds by which everything is held back.")
