"""Which columns do the tables have that any launch may fill?"""

from __future__ import annotations

from fireassay.record.declared.table import INCARNATION, LAUNCH, RANK, Column, Table

LAUNCHES = Table(
    "launches",
    "a launch",
    (
        LAUNCH,
        Column("slot", "int32", "position in the plan, from 0"),
        Column("attempt", "int32", "0 for the first try of this slot, then one more for every try after an interruption"),
        Column("configuration", "string", "name of the configuration, for example workers=2"),
        Column("workers", "int32", "number of worker processes"),
        Column("block", "int32", "block of the randomised complete block design"),
        Column("order", "int32", "position in the block"),
        Column(
            "role", "string", "timed, communication (calibrates it), sweep (collectives alone), profile or fault; only timed ones are timed"
        ),
        Column("seed", "int64", "training seed handed to the script; equal inside a block"),
        Column("begin_ns", "int64", "monotonic time just before the launcher was started"),
        Column("end_ns", "int64", "monotonic time when the last process of the launch had exited"),
        Column("begin_utc", "string", "wall clock at begin_ns, ISO 8601, UTC"),
        Column(
            "status",
            "string",
            "ok, failed, timeout, aborted (interrupted), skipped (never started) or contaminated (disturbed, and made again)",
        ),
        Column("reason", "string", "why the status is not ok; empty if it is ok"),
        Column("exit_code", "int32", "exit code of the engine; null if it was killed or never started", nullable=True),
        Column("restarts", "int32", "how often the engine restarted the workers"),
        Column("placement", "string", "JSON: hosts, processors and devices assigned to the launch"),
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
        Column("warm_up", "int32", "1: warm-up, before the measurement; never counted"),
        Column("exit_code", "int32", "exit code of a command, -signal if a signal ended it; null for a function", nullable=True),
        Column("user_ns", "int64", "processor time in user mode of these calls, children included", nullable=True),
        Column("system_ns", "int64", "processor time in the kernel, likewise", nullable=True),
        Column("max_rss_bytes", "int64", "largest resident memory of the command or process", nullable=True),
        Column("involuntary_switches", "int64", "number of involuntary context switches", nullable=True),
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
        Column("target", "string", "the reference answer", nullable=True),
        Column("score", "float64", "score of this example"),
        Column(
            "cluster",
            "string",
            "its cluster, whose members may be lost together (a passage, a user, a problem); null: none known",
            nullable=True,
        ),
    ),
    order=("launch", "rank", "incarnation", "metric", "example"),
)
CLOCKS = Table(
    "clocks",
    "a reading of another host's clock: a query and its answer",
    (
        LAUNCH,
        RANK,
        INCARNATION,
        Column("host", "string", "host that sent the query"),
        Column("peer", "string", "host that answered: that of rank 0"),
        Column("sent_ns", "int64", "when the query left, by the querying host's clock"),
        Column("heard_ns", "int64", "when it arrived, by the other host's clock"),
        Column("answered_ns", "int64", "when the answer left, by the other host's clock"),
        Column("received_ns", "int64", "when the answer arrived, by the querying host's clock"),
        Column(
            "bound_ns", "int64", "by how much the offset ((heard - sent) + (answered - received)) / 2 can be off: half of the round trip"
        ),
    ),
    order=("launch", "rank", "incarnation", "sent_ns"),
)
EVENTS = Table(
    "events",
    "an event",
    (
        LAUNCH,
        Column("ns", "int64", "monotonic time at which it began"),
        Column("duration_ns", "int64", "duration; null for a point in time", nullable=True),
        Column("host", "string", "host on which it occurred"),
        Column("rank", "int32", "global rank; null for the coordinator", nullable=True),
        Column("incarnation", "int32", "incarnation of the worker; null for the coordinator", nullable=True),
        Column(
            "kind",
            "string",
            "worker_start, first_step, checkpoint_save, checkpoint_load, evaluation, useful_work, worker_end, fault, worker_gone, ...",
        ),
        Column("step", "int64", "step to which it belongs", nullable=True),
        Column("value", "float64", "a number that belongs to it", nullable=True),
        Column("detail", "string", "JSON with further details"),
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
        Column("method", "string", "counter, sampled, modelled, self or scraped (reported by a server)"),
    ),
    order=("launch", "ns", "host", "device", "counter"),
)
