"""Which columns do the tables have that any launch may fill?"""

from __future__ import annotations

from fireassay.record.declared.table import INCARNATION, LAUNCH, RANK, Column, Table

LAUNCHES = Table(
    "launches",
    "a launch",
    (
        LAUNCH,
        Column("slot", "int32", "place in the plan, from 0"),
        Column("attempt", "int32", "0 for the first try of this slot, then one more for every try after an interruption"),
        Column("configuration", "string", "name of the configuration, for example workers=2"),
        Column("workers", "int32", "number of worker processes"),
        Column("block", "int32", "block of the randomised complete block design"),
        Column("order", "int32", "place inside the block"),
        Column(
            "role",
            "string",
            "timed, communication (calibrates it), sweep (collectives alone), profile (a close look) or fault; only timed ones are timed",
        ),
        Column("seed", "int64", "training seed handed to the script; equal inside a block"),
        Column("begin_ns", "int64", "monotonic time just before the launcher was started"),
        Column("end_ns", "int64", "monotonic time when the last process of the launch was gone"),
        Column("begin_utc", "string", "wall clock at begin_ns, ISO 8601, UTC"),
        Column(
            "status",
            "string",
            "ok, failed, timeout, aborted (interrupted), skipped (never started) or contaminated (disturbed, and made again)",
        ),
        Column("reason", "string", "why the status is not ok; empty if it is ok"),
        Column("exit_code", "int32", "exit code of the engine; null if it was killed or never started", nullable=True),
        Column("restarts", "int32", "how often the engine restarted the workers"),
        Column("placement", "string", "JSON: hosts, processors and devices that the launch was given"),
    ),
    order=("launch",),
)
TRIALS = Table(
    "trials",
    "a timed call: a command's run, or some calls of a function",
    (
        LAUNCH,
        Column("trial", "int64", "number of the trial in its launch, from 0"),
        Column("begin_ns", "int64", "monotonic time just before the first call"),
        Column("end_ns", "int64", "monotonic time when the last call had ended"),
        Column("calls", "int64", "calls that were timed together; the time of one is (end_ns - begin_ns) / calls"),
        Column("warm_up", "int32", "1: made before the measuring, to warm caches; never counted"),
        Column("exit_code", "int32", "exit code of a command, -signal if a signal ended it; null for a function", nullable=True),
        Column("user_ns", "int64", "processor time in user mode of these calls, children included", nullable=True),
        Column("system_ns", "int64", "processor time in the kernel, likewise", nullable=True),
        Column("max_rss_bytes", "int64", "largest resident memory of the command or process", nullable=True),
        Column("involuntary_switches", "int64", "how often the scheduler took the processor away", nullable=True),
    ),
    order=("launch", "trial"),
)
EXAMPLES = Table(
    "examples",
    "a scored held-out example",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("metric", "string", "name of the score, for example accuracy"),
        Column("example", "string", "id of the example, the same in every launch"),
        Column("prediction", "string", "what the model answered", nullable=True),
        Column("target", "string", "what was right", nullable=True),
        Column("score", "float64", "score of this example"),
        Column(
            "cluster",
            "string",
            "what it shares with other examples (a passage, a user, a problem), so that they may be lost together; "
            "null: nothing is known to be shared",
            nullable=True,
        ),
    ),
    order=("launch", "rank", "incarnation", "metric", "example"),
)
CLOCKS = Table(
    "clocks",
    "a look at another host's clock: a question that left, and its answer",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("host", "string", "host that asked"),
        Column("peer", "string", "host that was asked: rank 0's"),
        Column("sent_ns", "int64", "when the question left, by the asking host's clock"),
        Column("heard_ns", "int64", "when it came, by the other's clock"),
        Column("answered_ns", "int64", "when the answer left, by the other's clock"),
        Column("received_ns", "int64", "when it was back, by the asking host's clock"),
        Column(
            "bound_ns",
            "int64",
            "by how much the offset ((heard - sent) + (answered - received)) / 2 can be off: half of the way there and back",
        ),
    ),
    order=("launch", "rank", "incarnation", "sent_ns"),
)
EVENTS = Table(
    "events",
    "something that happened",
    (
        LAUNCH,
        Column("ns", "int64", "monotonic time at which it began"),
        Column("duration_ns", "int64", "how long it took; null for a point in time", nullable=True),
        Column("host", "string", "host on which it happened"),
        Column("rank", "int32", "global rank; null for the coordinator", nullable=True),
        Column("incarnation", "int32", "incarnation of the worker; null for the coordinator", nullable=True),
        Column(
            "kind",
            "string",
            "worker_start, first_step, checkpoint_save, checkpoint_load, evaluation, useful_work, worker_end, fault, worker_gone, ...",
        ),
        Column("step", "int64", "step to which it belongs", nullable=True),
        Column("value", "float64", "a number that belongs to it", nullable=True),
        Column("detail", "string", "JSON with whatever else is known"),
    ),
    order=("launch", "ns", "rank", "incarnation", "kind"),
)
TELEMETRY = Table(
    "telemetry",
    "a counter reading",
    (
        LAUNCH,
        Column("ns", "int64", "monotonic time of the reading"),
        Column("host", "string", "host of the counter"),
        Column("device", "string", "device that the counter belongs to, for example cpu or package-0"),
        Column("counter", "string", "name of the counter, for example energy or steal"),
        Column("value", "float64", "the reading"),
        Column("unit", "string", "unit of the reading"),
        Column("method", "string", "counter, sampled, modelled, self or scraped (said by a server)"),
    ),
    order=("launch", "ns", "host", "device", "counter"),
)
