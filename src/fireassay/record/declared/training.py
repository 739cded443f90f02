"""Which columns do the tables of training steps have?"""

from __future__ import annotations

from fireassay.record.declared.table import INCARNATION, LAUNCH, RANK, Column, Table

STEPS = Table(
    "steps",
    "a training step on a rank",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("step", "int64", "number of the step, from 0; a resumed run goes on from its checkpoint"),
        Column("begin_ns", "int64", "monotonic time at which the step began, before waiting for its data"),
        Column("end_ns", "int64", "monotonic time at which the next step could begin"),
        Column("data_ns", "int64", "waiting for the batch", nullable=True),
        Column("forward_ns", "int64", "forward pass and loss", nullable=True),
        Column("backward_ns", "int64", "backward pass, including overlapping communication", nullable=True),
        Column("optimizer_ns", "int64", "optimizer step", nullable=True),
        Column(
            "checkpoint_ns",
            "int64",
            "pauses inside this step: saving or loading a checkpoint, evaluating; readers subtract them",
            nullable=True,
        ),
        Column("exposed_comm_ns", "int64", "time that communication added to the step; null: not observed", nullable=True),
        Column("items", "float64", "units of work done by this rank in this step", nullable=True),
        Column("method", "string", "how phases were timed: monotonic, cuda_event or simulated (computed, not measured)"),
    ),
    order=("launch", "rank", "incarnation", "step", "begin_ns"),
)
SAMPLES = Table(
    "samples",
    "the training samples that a rank used in a step",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("epoch", "int64", "number of the epoch, from 0"),
        Column("step", "int64", "number of the step, from 0"),
        Column("ids", "list<int64>", "ids of the samples"),
    ),
    order=("launch", "rank", "incarnation", "epoch", "step"),
)
FINGERPRINTS = Table(
    "fingerprints",
    "a numeric fingerprint of the training state",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("step", "int64", "steps finished when it was taken: 0 is before the first step"),
        Column(
            "what",
            "string",
            "loss, denominator, grad_norm, parameter_hash, parameter_hashes, buffer_hash, optimizer_hash, random_hash, learning_rate, "
            "dataset_size, mode, optimizer_settings, clip_norm, clip_limit, batch_statistics, buffers_broadcast ...",
        ),
        Column("value", "float64", "the value, where it is a number", nullable=True),
        Column("text", "string", "the value, where it is a hash", nullable=True),
    ),
    order=("launch", "rank", "incarnation", "step", "what"),
)
GRADIENTS = Table(
    "gradients",
    "a parameter's gradient in the first step, before clipping, or in a later sampled one, as passed to the optimizer",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("step", "int64", "number of the step, from 0"),
        Column("parameter", "string", "name of the parameter in the model, without prefixes of wrappers"),
        Column("size", "int64", "number of its elements; 0 without a gradient"),
        Column("precision", "string", "precision of the computation: float64, float32, tf32, bfloat16, float16"),
        Column("norm", "float64", "Euclidean norm; null: the parameter had no gradient", nullable=True),
        Column(
            "sums",
            "list<float64>",
            "its elements, or if there are more than 251, that many sums of them with fixed signs (docs/decisions/0022); "
            "of later steps up to 16 evenly spaced elements (0042)",
        ),
        Column(
            "part", "int32", "the part of the parameter on this rank: equal numbers, equal elements; size, norm and sums are the part's"
        ),
        Column("parts", "int32", "number of parts of the parameter; 1: the rank holds all of it"),
        Column(
            "start",
            "int64",
            "hash of the parameter's elements before the first step, the sum of its parts' modulo 2^64; null: not taken",
            nullable=True,
        ),
    ),
    order=("launch", "rank", "incarnation", "step", "parameter"),
)
