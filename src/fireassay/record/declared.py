"""Which tables does a record hold, and what does each column mean?  Column order is that of the files; a change of format: `record/migrations.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column: its name, the name of its Arrow type, and its meaning."""

    name: str
    type: str  # "int64" "int32" "float64" "string" "list<int64>"
    meaning: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """A table: its name, what one row stands for, its columns, and the columns that order its rows."""

    name: str
    row: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(column.name for column in self.columns)


LAUNCH = Column("launch", "int32", "number of the launch in this record, from 0, in the order of starting")
RANK = Column("rank", "int32", "global rank of the worker")
INCARNATION = Column("incarnation", "int32", "0 for the first start of the workers, then one more at every restart")


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


ARRIVALS = Table(
    "arrivals",
    "a planned request of a launch, written before the load begins",
    (
        LAUNCH,
        Column("request", "int64", "number of the request in the launch's schedule, from 0"),
        Column("phase", "string", "cold (one by one, after a server's start), warm_up, or main"),
        Column("kind", "string", "normal, canary, identity, rerun or needle"),
        Column("stream", "int32", "closed loop: which of the concurrent streams sends it", nullable=True),
        Column("session", "int64", "conversation to which it belongs", nullable=True),
        Column("turn", "int32", "position in its conversation, from 0", nullable=True),
        Column(
            "due_ns",
            "int64",
            "when it is due, after the load's begin; null: once the request that it follows has ended and the pause is over",
            nullable=True,
        ),
        Column("pause_ns", "int64", "pause before it, after the request that it follows"),
        Column("pause_kind", "string", "kind of the pause: none, think, tool or retrieval"),
        Column("tokens_in", "int64", "requested prompt tokens", nullable=True),
        Column("tokens_out", "int64", "requested output tokens", nullable=True),
        Column("seed", "int64", "seed of its text"),
        Column("replica", "int32", "the replica that it must go to; null: any", nullable=True),
        Column(
            "example", "string", "id of the prompt, the same wherever the same text is sent; null if every text is unique", nullable=True
        ),
        Column("expected", "string", "what the answer must contain (a canary's nonce) or equal (a reference answer)", nullable=True),
        Column("cluster", "string", "cluster of its prompt, as in examples (quality.cluster)", nullable=True),
    ),
    order=("launch", "request"),
)
REQUESTS = Table(
    "requests",
    "a request that was due, with its one outcome",
    (
        LAUNCH,
        Column("request", "int64", "number of the request in the launch's schedule"),
        Column("client", "int32", "client process that sent it"),
        Column("phase", "string", "cold, warm_up or main"),
        Column("kind", "string", "normal, canary, identity, rerun or needle"),
        Column("stream", "int32", "closed loop: which of the concurrent streams sent it", nullable=True),
        Column("session", "int64", "conversation to which it belongs", nullable=True),
        Column("turn", "int32", "position in its conversation, from 0", nullable=True),
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
        Column("error", "string", "the error, in the server's words if it sent any; redacted, at most 500 characters", nullable=True),
        Column("finish_reason", "string", "why the answer ended, as reported by the server: stop, length ...", nullable=True),
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
        Column("text", "string", "the answer's text; null if there is none or it was not kept", nullable=True),
        Column("reasoning", "string", "the answer's reasoning text, likewise", nullable=True),
        Column("logprobs", "list<float64>", "log probabilities of the answer's tokens, if requested"),
        Column("tokenize_ns", "int64", "tokenisation time of the prompt, if the model runs in this process", nullable=True),
        Column("prefill_ns", "int64", "likewise, from then until the first token of the answer was known", nullable=True),
        Column("chunk_uncertainty_ns", "list<int64>", "per chunk: how much before its chunk_ns it may have been complete; empty: unknown"),
    ),
    order=("launch", "request"),
)
TOKEN_COUNTS = Table(
    "token_counts",
    "a request whose tokens were counted by the tokenizer, after the load",
    (
        LAUNCH,
        Column("request", "int64", "number of the request in the launch's schedule"),
        Column("tokens_in", "int64", "prompt tokens of the text that was sent, chat template included", nullable=True),
        Column("tokens_out", "int64", "tokens of the answer's text, reasoning included", nullable=True),
        Column("chunk_tokens", "list<int64>", "per chunk with text: its tokens; empty if not counted"),
    ),
    order=("launch", "request"),
)


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


TASK = Column("task", "string", "the task to which the item belongs")
ITEM = Column("item", "string", "id of the item in its task, the same in every launch")
REPETITION = Column("repetition", "int32", "which of the item's answers in this launch, from 0")

ANSWERS = Table(
    "answers",
    "an item that was asked, with its one outcome",
    (
        LAUNCH,
        TASK,
        ITEM,
        REPETITION,
        Column("request", "int64", "the request that asked it; null if the answers existed before", nullable=True),
        Column("cluster", "string", "its cluster, whose members may be lost together; null: none known", nullable=True),
        Column("groups", "string", "JSON: the subgroups to which it belongs, by name"),
        Column("weight", "float64", "its weight in a mean"),
        Column("prompt", "string", "what was asked, as it was sent; null if unknown", nullable=True),
        Column("references", "string", "JSON: the acceptable answers"),
        Column("outcome", "string", "ok, missing (no answer in the file), or how the request failed, as in requests.status"),
        Column("text", "string", "the whole answer; null if there is none", nullable=True),
        Column("finish_reason", "string", "why it ended, as reported: stop, length ...", nullable=True),
        Column("rule", "string", "the extractor's rule that found the answer; none: NO_ANSWER"),
        Column("begin", "int64", "where in the text the extracted answer begins, in characters"),
        Column("end", "int64", "where it ends"),
        Column("answer", "string", "the extracted answer, which is scored; null: NO_ANSWER, or no text", nullable=True),
        Column(
            "judged", "string", "how its program ended in the sandbox, and why: failed: AssertionError ...; null: no program", nullable=True
        ),
    ),
    order=("launch", "task", "item", "repetition"),
)
DIVERGENCE = Table(
    "divergence",
    "a token of a given text, scored by an engine and by the reference (teacher forcing)",
    (
        LAUNCH,
        Column("replica", "int32", "which of the engine's addresses, from 0"),
        Column("side", "string", "engine, or floor: the reference against itself, in another number format or asked again"),
        TASK,
        ITEM,
        Column("position", "int32", "the token's index in the item's given texts, from 0"),
        Column("logprob", "float64", "its log probability at the engine"),
        Column("reference_logprob", "float64", "its log probability at the reference"),
        Column("kl", "float64", "KL(reference || engine) of the next-token distributions here, nats; null: unknown", nullable=True),
        Column("basis", "string", "full: from whole distributions; top: from the most probable tokens, so that kl is a lower bound"),
        Column("same_top", "int32", "1 if both find the same token most probable, else 0"),
    ),
    order=("launch", "side", "replica", "task", "item", "position"),
)
SCORES = Table(
    "scores",
    "one score of an answered item",
    (
        LAUNCH,
        TASK,
        ITEM,
        REPETITION,
        Column("metric", "string", "name of the score"),
        Column("score", "float64", "score of this item alone; null: it has none", nullable=True),
        Column("statistics", "list<float64>", "what the score of many items is computed from; their meaning is the metric's"),
    ),
    order=("launch", "task", "metric", "item", "repetition"),
)
