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
            "number of the call in its group on this rank, from 0, including unrecorded calls: a call has the same number on every rank",
        ),
        Column("step", "int64", "current training step; null outside a training", nullable=True),
        Column(
            "op", "string", "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, scatter, send, recv, barrier"
        ),
        Column("size", "int32", "ranks of the group"),
        Column(
            "bytes",
            "int64",
            "bytes as nccl-tests counts them: of the whole result (all_gather), of the whole input (reduce_scatter), else of the tensor",
        ),
        Column("dtype", "string", "element type"),
        Column(
            "phase",
            "string",
            "warm_up, timed or replay; kernel: its kernel in a profiled step; in a training the phase in which it was called, or empty",
        ),
        Column("in_place", "int32", "1: the result replaces the input", nullable=True),
        Column("begin_ns", "int64", "when this rank entered the call"),
        Column("end_ns", "int64", "when it was complete on this rank; null: completion not observed", nullable=True),
        Column("blocked_ns", "int64", "how long it blocked the rank's main thread; null: not observed", nullable=True),
        Column("wrong", "int64", "elements of the result that are wrong; null: not checked", nullable=True),
        Column("fault", "string", "what is wrong with them, if known", nullable=True),
        Column("method", "string", "how it was timed: host (completion seen by this process), cuda_event, kineto, simulated"),
    ),
    order=("launch", "rank", "incarnation", "group", "call"),
)
COMMUNICATION = Table(
    "communication",
    "the communication time of a step on a rank, by one measuring method",
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
        Column("total_ns", "int64", "time during which a collective was in flight", nullable=True),
        Column("exposed_ns", "int64", "time that it added to the step", nullable=True),
        Column("compute_ns", "int64", "time of the computation that could hide it: of the backward pass, or of its kernels", nullable=True),
        Column("bytes", "int64", "bytes passed to collectives", nullable=True),
    ),
    order=("launch", "rank", "incarnation", "step", "method"),
)
INVENTORY = Table(
    "inventory",
    "the collectives of one kind that torch's flight recorder lists for a step on a rank",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("step", "int64", "number of the step, from 0; only the last steps of a training, which the recorder still holds"),
        Column("group", "string", "process group: its name in the engine"),
        Column("op", "string", "as in collectives; gloo's reduce_scatter appears as the all_reduce that implements it"),
        Column("dtype", "string", "element type"),
        Column("size", "int32", "ranks of the group; null: not given by the recorder", nullable=True),
        Column("calls", "int64", "number of these collectives"),
        Column("bytes", "int64", "bytes of all of them, as nccl-tests counts them; null: element size unknown", nullable=True),
        Column(
            "total_ns", "int64", "sum of their durations; null: not recorded (only for NCCL, with TORCH_NCCL_ENABLE_TIMING)", nullable=True
        ),
    ),
    order=("launch", "rank", "incarnation", "step", "group", "op", "dtype"),
)
WAITS = Table(
    "waits",
    "time of a rank's main thread spent on communication in a phase of a step; a phase without a row: none, if the step was observed",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("step", "int64", "number of the step, from 0"),
        Column("phase", "string", "data, forward, backward, optimizer, or between: in no phase"),
        Column("asking_ns", "int64", "in calls that launch a collective, including comm hooks, without waiting for its result"),
        Column(
            "waiting_ns",
            "int64",
            "blocked until a collective completed, including the end of a backward pass after its last gradient; null: not observed",
            nullable=True,
        ),
    ),
    order=("launch", "rank", "incarnation", "step", "phase"),
)
