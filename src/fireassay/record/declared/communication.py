"""Which columns do the communication tables have?"""

from __future__ import annotations

from fireassay.record.declared.table import INCARNATION, LAUNCH, RANK, Column, Table

COLLECTIVES = Table(
    "collectives",
    "a collective call on a rank",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("group", "string", "process group: its name in the engine, the same on every rank of it"),
        Column(
            "call",
            "int64",
            "number of the call in its group on this rank, from 0, also of those not noted: the same call has the same number on every rank",
        ),
        Column("step", "int64", "training step under way; null outside of a training", nullable=True),
        Column(
            "op", "string", "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, scatter, send, recv, barrier"
        ),
        Column("size", "int32", "ranks of the group"),
        Column(
            "bytes",
            "int64",
            "amount as nccl-tests counts it: of the whole result (all_gather), of the whole input (reduce_scatter), else of the tensor",
        ),
        Column("dtype", "string", "element type"),
        Column(
            "phase",
            "string",
            "warm_up, timed or replay; kernel: its kernel in a profiled step; in a training the phase in which it was called, or empty",
        ),
        Column("in_place", "int32", "1: the result lies where the input was", nullable=True),
        Column("begin_ns", "int64", "when this rank entered the call"),
        Column("end_ns", "int64", "when it was complete on this rank; null: never seen to be", nullable=True),
        Column("blocked_ns", "int64", "how long the rank's own thread stood still for it; null: not seen", nullable=True),
        Column("wrong", "int64", "elements of the result that are wrong; null: not checked", nullable=True),
        Column("fault", "string", "what is wrong with them, where that is known", nullable=True),
        Column("method", "string", "how it was timed: host (completion seen by this process), cuda_event, kineto, simulated"),
    ),
    order=("launch", "rank", "incarnation", "group", "call"),
)
COMMUNICATION = Table(
    "communication",
    "what a step's communication took on a rank, by one way of measuring it",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("step", "int64", "number of the step, from 0"),
        Column(
            "method",
            "string",
            "ddp_logging (the first ten steps, then every eighth), engine (after the last gradient), group (calls seen), "
            "kineto, unsynchronised (a step without), replay, simulated; unwatched: nobody looked, as in most steady steps of DistributedDataParallel",
        ),
        Column("total_ns", "int64", "time in which some collective was under way", nullable=True),
        Column("exposed_ns", "int64", "time by which it lengthened the step", nullable=True),
        Column("compute_ns", "int64", "time of the computing that could hide it: of the backward pass, or of its kernels", nullable=True),
        Column("bytes", "int64", "bytes that were sent into collectives", nullable=True),
    ),
    order=("launch", "rank", "incarnation", "step", "method"),
)
INVENTORY = Table(
    "inventory",
    "the collectives of one kind that torch's own flight recorder lists of a step on a rank",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("step", "int64", "number of the step, from 0; only of the last steps of a training, which the recorder still holds"),
        Column("group", "string", "process group: its name in the engine"),
        Column("op", "string", "as in collectives; gloo's reduce_scatter is the all_reduce that it is made of"),
        Column("dtype", "string", "element type"),
        Column("size", "int32", "ranks of the group; null: the recorder does not say", nullable=True),
        Column("calls", "int64", "how many of them"),
        Column("bytes", "int64", "of all of them, as nccl-tests counts them; null: of a type whose size is not known", nullable=True),
        Column(
            "total_ns",
            "int64",
            "sum of their durations; null: the recorder has none (only NCCL's, with TORCH_NCCL_ENABLE_TIMING)",
            nullable=True,
        ),
    ),
    order=("launch", "rank", "incarnation", "step", "group", "op", "dtype"),
)
WAITS = Table(
    "waits",
    "what communication took of a rank's own thread in a phase of a step; a phase without a row: nothing, if the step was watched",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("step", "int64", "number of the step, from 0"),
        Column("phase", "string", "data, forward, backward, optimizer, or between: in no phase"),
        Column("asking_ns", "int64", "in calls that ask for a collective, comm hooks included, without waiting for its result"),
        Column(
            "waiting_ns",
            "int64",
            "standing still until a collective was over, the end of a backward pass after its last gradient included; null: not seen",
            nullable=True,
        ),
    ),
    order=("launch", "rank", "incarnation", "step", "phase"),
)
