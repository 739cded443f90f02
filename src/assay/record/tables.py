"""Which tables does a record hold, and what does each column mean?

The one definition: the writer, the reader, the reference page and the migrations use it.
Times in columns that end in `_ns` are monotonic nanoseconds of the host that wrote them; durations likewise.
A null says "not seen", never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

FORMAT_VERSION = 7
# Format history: shown in the reference page; a new version needs its step in record/migrations.py
HISTORY: dict[int, str] = {
    7: "(assay 0.5.0) requests have chunk_uncertainty_ns",
    6: "(assay 0.5.0, before its release) examples and arrivals have cluster",
    5: "(assay 0.4.0) tables gradients, collectives, communication, inventory, waits and clocks",
    4: "(assay 0.3.0) requests have tokenize_ns and prefill_ns; the path of a request may be kernel",
    3: "(assay 0.3.0, before its release) tables arrivals, requests and token_counts; the manifest may hold schedules; the experiment may have [serving]",
    2: "(assay 0.2.0) table trials; launches may have the status contaminated; the manifest may hold looks and session",
    1: "(assay 0.1.0) first format: launches, steps, examples, samples, fingerprints, events, telemetry",
}


@dataclass(frozen=True)
class Column:
    """A column: its name, its Arrow type by name, and what it means."""

    name: str
    type: str  # "int64" "int32" "float64" "string" "list<int64>"
    meaning: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """A table: its name, what one row is, its columns, and the columns by which its rows are ordered."""

    name: str
    row: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns' names in order."""
        return tuple(column.name for column in self.columns)


_LAUNCH = Column("launch", "int32", "number of the launch in this record, from 0, in the order of starting")
_RANK = Column("rank", "int32", "global rank of the worker")
_INCARNATION = Column("incarnation", "int32", "0 for the first start of the workers, then one more at every restart")

LAUNCHES = Table(
    "launches",
    "a launch",
    (
        _LAUNCH,
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

STEPS = Table(
    "steps",
    "a training step on a rank",
    (
        _LAUNCH,
        _RANK,
        _INCARNATION,
        Column("step", "int64", "number of the step, from 0; a resumed run goes on from its checkpoint"),
        Column("begin_ns", "int64", "monotonic time at which the step began, before waiting for its data"),
        Column("end_ns", "int64", "monotonic time at which the next step could begin"),
        Column("data_ns", "int64", "waiting for the batch", nullable=True),
        Column("forward_ns", "int64", "forward pass and loss", nullable=True),
        Column("backward_ns", "int64", "backward pass, with whatever communication overlaps it", nullable=True),
        Column("optimizer_ns", "int64", "optimizer step", nullable=True),
        Column(
            "checkpoint_ns",
            "int64",
            "pauses inside this step: saving or loading a checkpoint, evaluating; readers subtract them",
            nullable=True,
        ),
        Column("exposed_comm_ns", "int64", "time that communication added to the step; null: not seen, or not watched", nullable=True),
        Column("items", "float64", "units of work done by this rank in this step", nullable=True),
        Column("method", "string", "how phases were timed: monotonic, cuda_event or simulated (computed, not measured)"),
    ),
    order=("launch", "rank", "incarnation", "step", "begin_ns"),
)

TRIALS = Table(
    "trials",
    "a timed call: a command's run, or some calls of a function",
    (
        _LAUNCH,
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
        _LAUNCH,
        _RANK,
        _INCARNATION,
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

SAMPLES = Table(
    "samples",
    "the training samples that a rank used in a step",
    (
        _LAUNCH,
        _RANK,
        _INCARNATION,
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
        _LAUNCH,
        _RANK,
        _INCARNATION,
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
    "a parameter's gradient in the first step, before clipping, or in a later one that was looked at, as the optimizer got it",
    (
        _LAUNCH,
        _RANK,
        _INCARNATION,
        Column("step", "int64", "number of the step, from 0"),
        Column("parameter", "string", "name of the parameter in the model, without what wrappers put before it"),
        Column("size", "int64", "its elements; 0 without a gradient"),
        Column("precision", "string", "what it was computed in: float64, float32, tf32, bfloat16, float16"),
        Column("norm", "float64", "Euclidean norm; null: the parameter had no gradient", nullable=True),
        Column(
            "sums",
            "list<float64>",
            "its elements, or if there are more than 251 that many sums of them with fixed signs (docs/decisions/0022); "
            "of later steps up to 16 evenly spaced elements (0042)",
        ),
        Column(
            "part", "int32", "the part of the parameter on this rank: equal numbers, equal elements; size, norm and sums are the part's"
        ),
        Column("parts", "int32", "parts that make up the parameter; 1: the rank holds all of it"),
        Column(
            "start",
            "int64",
            "hash of the parameter's elements before the first step, the sum of its parts' modulo 2^64; null: not taken",
            nullable=True,
        ),
    ),
    order=("launch", "rank", "incarnation", "step", "parameter"),
)

COLLECTIVES = Table(
    "collectives",
    "a collective call on a rank",
    (
        _LAUNCH,
        _RANK,
        _INCARNATION,
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
        _LAUNCH,
        _RANK,
        _INCARNATION,
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
        _LAUNCH,
        _RANK,
        _INCARNATION,
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
        _LAUNCH,
        _RANK,
        _INCARNATION,
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

CLOCKS = Table(
    "clocks",
    "a look at another host's clock: a question that left, and its answer",
    (
        _LAUNCH,
        _RANK,
        _INCARNATION,
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

ARRIVALS = Table(
    "arrivals",
    "a planned request of a launch, written before the load begins",
    (
        _LAUNCH,
        Column("request", "int64", "number of the request in the launch's schedule, from 0"),
        Column("phase", "string", "cold (one by one, after a server's start), warm_up, or main"),
        Column("kind", "string", "normal, canary, identity, rerun or needle"),
        Column("stream", "int32", "closed loop: which of the concurrent streams sends it", nullable=True),
        Column("session", "int64", "conversation to which it belongs", nullable=True),
        Column("turn", "int32", "place in its conversation, from 0", nullable=True),
        Column(
            "due_ns",
            "int64",
            "when it is due, after the load's begin; null: once the request that it follows has ended and the pause is over",
            nullable=True,
        ),
        Column("pause_ns", "int64", "pause before it, after the request that it follows"),
        Column("pause_kind", "string", "what the pause is: none, think, tool or retrieval"),
        Column("tokens_in", "int64", "prompt tokens that were asked for", nullable=True),
        Column("tokens_out", "int64", "output tokens that were asked for", nullable=True),
        Column("seed", "int64", "from which its text is made"),
        Column("replica", "int32", "the replica that it must go to; null: any", nullable=True),
        Column(
            "example",
            "string",
            "id of the prompt, the same wherever the same text is sent; null where every text is its own",
            nullable=True,
        ),
        Column("expected", "string", "what the answer must contain (a canary's nonce) or equal (a reference answer)", nullable=True),
        Column("cluster", "string", "what its prompt shares with others, as in examples (quality.cluster)", nullable=True),
    ),
    order=("launch", "request"),
)

REQUESTS = Table(
    "requests",
    "a request that was due, with its one outcome",
    (
        _LAUNCH,
        Column("request", "int64", "number of the request in the launch's schedule"),
        Column("client", "int32", "client process that sent it"),
        Column("phase", "string", "cold, warm_up or main"),
        Column("kind", "string", "normal, canary, identity, rerun or needle"),
        Column("stream", "int32", "closed loop: which of the concurrent streams sent it", nullable=True),
        Column("session", "int64", "conversation to which it belongs", nullable=True),
        Column("turn", "int32", "place in its conversation, from 0", nullable=True),
        Column("replica", "int32", "replica that it was sent to", nullable=True),
        Column(
            "transport",
            "string",
            "the path: compiled, kernel (assay's own), lean (at the read), library, process, foreign or empty (never sent)",
        ),
        Column("scheduled_ns", "int64", "when it was due"),
        Column("sent_ns", "int64", "just before its first byte was written; null: never sent", nullable=True),
        Column("connect_ns", "int64", "how long the new connection took, TLS included; null: one was kept alive", nullable=True),
        Column("first_byte_ns", "int64", "when the read that held the first byte of the answer came", nullable=True),
        Column("first_token_ns", "int64", "socket read that held the first text: content, reasoning or tool call", nullable=True),
        Column("first_visible_ns", "int64", "socket read that held the first text that is not reasoning", nullable=True),
        Column("last_token_ns", "int64", "socket read that held the last text", nullable=True),
        Column("done_ns", "int64", "when the answer had ended, well or not", nullable=True),
        Column(
            "status",
            "string",
            "ok, refused, 4xx, 5xx, reset, timeout, malformed, truncated, error (inside a 200), cancelled, unsent or lost (client died)",
        ),
        Column("http_status", "int32", "HTTP status code", nullable=True),
        Column(
            "error", "string", "what went wrong, in the server's words where it said any; redacted, at most 500 characters", nullable=True
        ),
        Column("finish_reason", "string", "why the answer ended, by the server: stop, length ...", nullable=True),
        Column("tokens_in", "int64", "prompt tokens by the server's usage", nullable=True),
        Column("tokens_out", "int64", "output tokens by the server's usage", nullable=True),
        Column("tokens_reasoning", "int64", "of these, reasoning tokens", nullable=True),
        Column("tokens_cached", "int64", "prompt tokens that came from the server's cache", nullable=True),
        Column("chunk_ns", "list<int64>", "per chunk: the socket read that completed it, after sent_ns"),
        Column(
            "chunk_kind",
            "list<int64>",
            "per chunk: 0 role, 1 content, 2 reasoning, 3 tool call, 4 finish reason, 5 usage, 6 end mark, 7 error, 8 other",
        ),
        Column("chunk_chars", "list<int64>", "per chunk: characters of text"),
        Column("bytes_out", "int64", "bytes of the request's body", nullable=True),
        Column("bytes_in", "int64", "bytes of the answer's body", nullable=True),
        Column("text", "string", "the answer's text; null if it was not kept or there is none", nullable=True),
        Column("reasoning", "string", "the answer's reasoning text, likewise", nullable=True),
        Column("logprobs", "list<float64>", "log probabilities of the answer's tokens, where they were asked for"),
        Column("tokenize_ns", "int64", "how long the prompt's tokens took, where the model is in this process", nullable=True),
        Column("prefill_ns", "int64", "likewise, from then until the first token of the answer was known", nullable=True),
        Column(
            "chunk_uncertainty_ns", "list<int64>", "per chunk: how much before its chunk_ns it may have been complete; empty: not known"
        ),
    ),
    order=("launch", "request"),
)

TOKEN_COUNTS = Table(
    "token_counts",
    "a request whose tokens were counted by the tokenizer, after the load",
    (
        _LAUNCH,
        Column("request", "int64", "number of the request in the launch's schedule"),
        Column("tokens_in", "int64", "prompt tokens of the text that was sent, chat template included", nullable=True),
        Column("tokens_out", "int64", "tokens of the answer's text, reasoning included", nullable=True),
        Column("chunk_tokens", "list<int64>", "per chunk that bears text: its tokens; empty if not counted"),
    ),
    order=("launch", "request"),
)

EVENTS = Table(
    "events",
    "something that happened",
    (
        _LAUNCH,
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
        _LAUNCH,
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

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        LAUNCHES,
        STEPS,
        TRIALS,
        EXAMPLES,
        SAMPLES,
        FINGERPRINTS,
        GRADIENTS,
        COLLECTIVES,
        COMMUNICATION,
        INVENTORY,
        WAITS,
        CLOCKS,
        ARRIVALS,
        REQUESTS,
        TOKEN_COUNTS,
        EVENTS,
        TELEMETRY,
    )
}


@cache
def arrow_schema(name: str) -> pyarrow.Schema:
    """The Arrow schema of a table."""
    import pyarrow as pa

    types = {
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "string": pa.string(),
        "list<int64>": pa.list_(pa.int64()),
        "list<float64>": pa.list_(pa.float64()),
    }
    return pa.schema([pa.field(c.name, types[c.type], nullable=c.nullable) for c in TABLES[name].columns])


def reference() -> str:
    """The reference page of the record's format, in Markdown: every table and column, and the history."""
    history = [f"* **{version}** {change}" for version, change in sorted(HISTORY.items(), reverse=True)]
    parts = [_REFERENCE_HEAD.format(version=FORMAT_VERSION), *(_section(table) for table in TABLES.values())]
    return "\n".join([*parts, "## Format history", "", *history, ""])


def _section(table: Table) -> str:
    head = f"### `{table.name}`\n\nOne row is {table.row}. Ordered by {', '.join(f'`{name}`' for name in table.order)}.\n"
    rows = [f"| `{c.name}` | {c.type}{', may be null' if c.nullable else ''} | {c.meaning} |" for c in table.columns]
    return "\n".join([head, "| column | type | meaning |", "|---|---|---|", *rows, ""])


_REFERENCE_HEAD = """\
# The record

A record is a folder with everything that was measured in one experiment. This page is generated from
`assay/record/tables.py`. The format version is **{version}**.

```text
records/<name>-<utc>-<id>/
  experiment.toml                            what was asked; secrets redacted
  manifest.json                              format version, state, environment before and after, digests
  SEAL                                       "<sha256 of manifest.json>  manifest.json"; a record is sealed if it exists
  tables/<table>/launch=0003/part-0.parquet  the measurements, zstd-compressed Parquet; `launch` is also a column
  logs/launch=0003.log                       what the launch printed; capped, secrets redacted
  traces/launch=0003/                        of launches with the role profile: a trace of each rank, compressed, and summary.json
  reports/                                   derived; outside the seal, may be deleted
```

Until it is sealed, a record holds `streams/launch=0003/<table>.<writer>.arrows` instead of `tables/`: append-only
Arrow IPC streams, one per table and process, each readable up to the last batch that was written whole.

What a reader refuses, for a record may come from anybody: a symbolic link, a pipe or a device in the place of a file, a name that leads out of
the folder; a manifest above 24 MiB, an experiment above 1 MiB, a key that stands twice, NaN, lists nested deeper than 64; a value that is missing
where the table needs one; pages in the encoding `DELTA_BYTE_ARRAY`, a compressed stream; and a table that would take more memory than 256 MiB, or
40 times its files if that is more (at most half of the machine's). `ASSAY_READ_MIB=8000` in the environment allows 8,000 MiB instead.

## manifest.json

| key | meaning |
|---|---|
| `format_version` | integer; a reader refuses versions above its own and migrates older ones |
| `assay_version` | the program that wrote the record |
| `id`, `name`, `created_utc` | six hexadecimal digits, the experiment's name, ISO 8601 in UTC |
| `state` | `running`, `complete`, `interrupted` or `failed`; without a seal, `running` with a dead coordinator reads as `interrupted` |
| `reason` | why the state is not complete; empty if it is |
| `plan_signature` | names the ordered launches that the experiment asked for |
| `coordinator` | `pid`, `create_time` (seconds since the epoch), `host`, `boot_id` of the process that writes the record |
| `environment` | `before` and `after`: the machine before the first and after the last launch |
| `session` | only if made in turn with other records: `id`, the same in all; `arm` from 0; `arms`; `label`; `seed`; `alone`: blocks made apart |
| `looks` | only with `launches.precision`: one entry per look at the intervals: `blocks`, `confidence`, `widths`, `enough`, `sentence` |
| `looks_ended` | why no further blocks were made: precision, at_most, budget or failed |
| `simulated` | only if `assay simulate` computed it: `what`, and every number of the cluster; its verdict is INVALID |
| `foreign` | only if imported: `tool`, `file`, `sha256`, `clock`, `times`, `meanings`, `unsaid`, `missing`, `reported` ... (docs/how-to/import.md) |
| `schedules` | serving: per launch, `sha256` of everything that was to be sent and `requests`, how many |
| `sentinel` | `rounds` of the sentinel's fixed work: the same in all launches of the record |
| `nulls` | keys of experiment.toml that were set to nothing although their default is something (TOML has no null) |
| `sealed.files` | relative path -> `sha256`, `bytes` and, for tables, `rows` of every file under the seal |
| `sealed.salvaged` | one sentence per stream whose end could not be read when the record was sealed |

## Tables

Times in columns that end in `_ns` are monotonic nanoseconds of the host that wrote them; durations likewise.
A null says "not seen", never zero. A table without rows has no file.
"""
