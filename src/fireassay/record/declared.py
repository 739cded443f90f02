"""Which tables does a record hold, and what does each column mean?  Columns stand in the order of the files.

A column is "name type", with a question mark where it may be null.  A change of format: `record/manifest.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


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

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def _table(name: str, row: str, order: str, columns: Mapping[str, str]) -> Table:
    """A table from its columns: "name type" or "name type?" -> meaning."""
    declared = ((*key.split(), meaning) for key, meaning in columns.items())
    made = tuple(Column(name, kind.removesuffix("?"), meaning, kind.endswith("?")) for name, kind, meaning in declared)
    return Table(name, row, made, tuple(order.split()))


LAUNCH = {"launch int32": "number of the launch in this record, from 0, in the order of starting"}
WORKER = {
    **LAUNCH,
    "rank int32": "global rank of the worker",
    "incarnation int32": "0 for the first start of the workers, then one more at every restart",
}
ANSWER = {
    **LAUNCH,
    "task string": "the task to which the item belongs",
    "item string": "id of the item in its task, the same in every launch",
    "repetition int32": "which of the item's answers in this launch, from 0",
}

LAUNCHES = _table(
    "launches",
    "a launch",
    "launch",
    {
        **LAUNCH,
        "slot int32": "position in the plan, from 0",
        "attempt int32": "0 for the first try of this slot, then one more for every try after an interruption",
        "configuration string": "name of the configuration, for example workers=2",
        "workers int32": "number of worker processes",
        "block int32": "round of the randomised complete block design",
        "order int32": "position in the round",
        "role string": "timed, communication (calibrates it), sweep (collectives alone), profile or fault; only timed ones are timed",
        "seed int64": "training seed handed to the script; equal inside a round",
        "begin_ns int64": "monotonic time just before the launcher was started",
        "end_ns int64": "monotonic time when the last process of the launch had exited",
        "begin_utc string": "wall clock at begin_ns, ISO 8601, UTC",
        "status string": "ok, failed, timeout, aborted (interrupted), skipped (never started) or contaminated (disturbed, and made again)",
        "reason string": "why the status is not ok; empty if it is ok",
        "exit_code int32?": "exit code of the engine; null if it was killed or never started",
        "restarts int32": "how often the engine restarted the workers",
        "placement string": "JSON: hosts, processors and devices assigned to the launch",
    },
)
STEPS = _table(
    "steps",
    "a training step on a rank",
    "launch rank incarnation step begin_ns",
    {
        **WORKER,
        "step int64": "number of the step, from 0; a resumed run goes on from its checkpoint",
        "begin_ns int64": "monotonic time at which the step began, before waiting for its data",
        "end_ns int64": "monotonic time at which the next step could begin",
        "data_ns int64?": "waiting for the batch",
        "forward_ns int64?": "forward pass and loss",
        "backward_ns int64?": "backward pass, including overlapping communication",
        "optimizer_ns int64?": "optimizer step",
        "checkpoint_ns int64?": "pauses inside this step: saving or loading a checkpoint, evaluating; readers subtract them",
        "exposed_comm_ns int64?": "time that communication added to the step; null: not observed",
        "items float64?": "units of work done by this rank in this step",
        "method string": "how phases were timed: monotonic, cuda_event or simulated (computed, not measured)",
    },
)
TRIALS = _table(
    "trials",
    "a timed call: a command's run, or some calls of a function",
    "launch trial",
    {
        **LAUNCH,
        "trial int64": "number of the trial in its launch, from 0",
        "begin_ns int64": "monotonic time just before the first call",
        "end_ns int64": "monotonic time when the last call had ended",
        "calls int64": "calls that were timed together; the time of one is (end_ns - begin_ns) / calls",
        "warm_up int32": "1: warm-up, before the measurement; never counted",
        "exit_code int32?": "exit code of a command, -signal if a signal ended it; null for a function",
        "user_ns int64?": "processor time in user mode of these calls, children included",
        "system_ns int64?": "processor time in the kernel, likewise",
        "max_rss_bytes int64?": "largest resident memory of the command or process",
        "involuntary_switches int64?": "number of involuntary context switches",
    },
)
EXAMPLES = _table(
    "examples",
    "a scored held-out example",
    "launch rank incarnation metric example",
    {
        **WORKER,
        "metric string": "name of the score, for example accuracy",
        "example string": "id of the example, the same in every launch",
        "prediction string?": "what the model answered",
        "target string?": "the reference answer",
        "score float64": "score of this example",
        "cluster string?": "its cluster, whose members may be lost together (a passage, a user, a problem); null: none known",
    },
)
SAMPLES = _table(
    "samples",
    "the training samples that a rank used in a step",
    "launch rank incarnation epoch step",
    {
        **WORKER,
        "epoch int64": "number of the epoch, from 0",
        "step int64": "number of the step, from 0",
        "ids list<int64>": "ids of the samples",
    },
)
FINGERPRINTS = _table(
    "fingerprints",
    "a numeric fingerprint of the training state",
    "launch rank incarnation step what",
    {
        **WORKER,
        "step int64": "steps finished when it was taken: 0 is before the first step",
        "what string": "loss, denominator, grad_norm, parameter_hash, parameter_hashes, buffer_hash, optimizer_hash, random_hash, "
        "learning_rate, dataset_size, mode, optimizer_settings, clip_norm, clip_limit, clip_largest, clip_value, clip_scale, "
        "batch_statistics, buffers_broadcast, batch_contents, input_contents, input_change, without_optimizer, old_gradients, backward_passes ...",
        "value float64?": "the value, where it is a number",
        "text string?": "the value, where it is a hash or JSON",
    },
)
GRADIENTS = _table(
    "gradients",
    "a parameter's gradient in the first step, before clipping, or in a later sampled one, as passed to the optimizer",
    "launch rank incarnation step parameter",
    {
        **WORKER,
        "step int64": "number of the step, from 0",
        "parameter string": "name of the parameter in the model, without prefixes of wrappers",
        "size int64": "number of its elements; 0 without a gradient",
        "precision string": "precision of the computation: float64, float32, tf32, bfloat16, float16",
        "norm float64?": "Euclidean norm; null: the parameter had no gradient",
        "sums list<float64>": "its elements, or if there are more than 251, that many sums of them with fixed signs (docs/decisions/0022); "
        "of later steps up to 16 evenly spaced elements (0042)",
        "part int32": "the part of the parameter on this rank: equal numbers, equal elements; size, norm and sums are the part's",
        "parts int32": "number of parts of the parameter; 1: the rank holds all of it",
        "start int64?": "hash of the parameter's elements before the first step, the sum of its parts' modulo 2^64; null: not taken",
    },
)
COLLECTIVES = _table(
    "collectives",
    "a collective call on a rank",
    "launch rank incarnation group call",
    {
        **WORKER,
        "group string": "process group: its name in the engine, the same on every rank of it",
        "call int64": "number of the call in its group on this rank, from 0, including unrecorded calls: a call has the same number on every rank",
        "step int64?": "current training step; null outside a training",
        "op string": "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, scatter, send, recv, barrier",
        "size int32": "ranks of the group",
        "bytes int64": "bytes as nccl-tests counts them: of the whole result (all_gather), of the whole input (reduce_scatter), else of the tensor",
        "dtype string": "element type",
        "phase string": "warm_up, timed or replay; kernel: its kernel in a profiled step; in a training the phase in which it was called, or empty",
        "in_place int32?": "1: the result replaces the input",
        "begin_ns int64": "when this rank entered the call",
        "end_ns int64?": "when it was complete on this rank; null: completion not observed",
        "blocked_ns int64?": "how long it blocked the rank's main thread; null: not observed",
        "wrong int64?": "elements of the result that are wrong; null: not checked",
        "fault string?": "what is wrong with them, if known",
        "method string": "how it was timed: host (completion seen by this process), cuda_event, kineto, simulated",
    },
)
COMMUNICATION = _table(
    "communication",
    "the communication time of a step on a rank, by one measuring method",
    "launch rank incarnation step method",
    {
        **WORKER,
        "step int64": "number of the step, from 0",
        "method string": "ddp_logging (the first ten steps, then every eighth), engine (after the last gradient), group (calls seen), "
        "kineto, unsynchronised (a step without), replay, simulated; unwatched: nobody looked, as in most steady steps of DistributedDataParallel",
        "total_ns int64?": "time during which a collective was in flight",
        "exposed_ns int64?": "time that it added to the step",
        "compute_ns int64?": "time of the computation that could hide it: of the backward pass, or of its kernels",
        "bytes int64?": "bytes passed to collectives",
    },
)
INVENTORY = _table(
    "inventory",
    "the collectives of one kind that torch's flight recorder lists for a step on a rank",
    "launch rank incarnation step group op dtype",
    {
        **WORKER,
        "step int64": "number of the step, from 0; only the last steps of a training, which the recorder still holds",
        "group string": "process group: its name in the engine",
        "op string": "as in collectives; gloo's reduce_scatter appears as the all_reduce that implements it",
        "dtype string": "element type",
        "size int32?": "ranks of the group; null: not given by the recorder",
        "calls int64": "number of these collectives",
        "bytes int64?": "bytes of all of them, as nccl-tests counts them; null: element size unknown",
        "total_ns int64?": "sum of their durations; null: not recorded (only for NCCL, with TORCH_NCCL_ENABLE_TIMING)",
    },
)
WAITS = _table(
    "waits",
    "time of a rank's main thread spent on communication in a phase of a step; a phase without a row: none, if the step was observed",
    "launch rank incarnation step phase",
    {
        **WORKER,
        "step int64": "number of the step, from 0",
        "phase string": "data, forward, backward, optimizer, or between: in no phase",
        "asking_ns int64": "in calls that launch a collective, including comm hooks, without waiting for its result",
        "waiting_ns int64?": "blocked until a collective completed, including the end of a backward pass after its last gradient; null: not observed",
    },
)
CLOCKS = _table(
    "clocks",
    "a reading of another host's clock: a query and its answer",
    "launch rank incarnation sent_ns",
    {
        **WORKER,
        "host string": "host that sent the query; for a load the coordinator's",
        "peer string": "host that answered: that of rank 0; for a load that of clients",
        "sent_ns int64": "when the query left, by the querying host's clock",
        "heard_ns int64": "when it arrived, by the other host's clock",
        "answered_ns int64": "when the answer left, by the other host's clock",
        "received_ns int64": "when the answer arrived, by the querying host's clock",
        "bound_ns int64": "by how much the offset ((heard - sent) + (answered - received)) / 2 can be off: half of the round trip",
    },
)
ARRIVALS = _table(
    "arrivals",
    "a planned request of a launch, written before the load begins",
    "launch request",
    {
        **LAUNCH,
        "request int64": "number of the request in the launch's schedule, from 0",
        "phase string": "cold (one by one, after a server's start), warm_up, or main",
        "kind string": "normal, canary, identity, rerun or needle",
        "stream int32?": "closed loop: which of the concurrent streams sends it",
        "session int64?": "conversation to which it belongs",
        "turn int32?": "position in its conversation, from 0",
        "due_ns int64?": "when it is due, after the load's begin; null: once the request that it follows has ended and the pause is over",
        "pause_ns int64": "pause before it, after the request that it follows",
        "pause_kind string": "kind of the pause: none, think, tool or retrieval",
        "tokens_in int64?": "requested prompt tokens",
        "tokens_out int64?": "requested output tokens",
        "seed int64": "seed of its text",
        "replica int32?": "the replica that it must go to; null: any",
        "example string?": "id of the prompt, the same wherever the same text is sent; null if every text is unique",
        "expected string?": "what the answer must contain (a canary's nonce) or equal (a reference answer)",
        "cluster string?": "cluster of its prompt, as in examples (quality.cluster)",
    },
)
REQUESTS = _table(
    "requests",
    "a request that was due, with its one outcome",
    "launch request",
    {
        **LAUNCH,
        "request int64": "number of the request in the launch's schedule",
        "client int32": "client process that sent it",
        "phase string": "cold, warm_up or main",
        "kind string": "normal, canary, identity, rerun or needle",
        "stream int32?": "closed loop: which of the concurrent streams sent it",
        "session int64?": "conversation to which it belongs",
        "turn int32?": "position in its conversation, from 0",
        "replica int32?": "replica that it was sent to",
        "transport string": "the path: compiled, kernel (assay's own), lean (at the read), library, process, foreign or empty (never sent)",
        "scheduled_ns int64": "when it was due",
        "sent_ns int64?": "just before its first byte was written; null: never sent",
        "connect_ns int64?": "how long the new connection took, TLS included; null: one was kept alive",
        "first_byte_ns int64?": "when the read that held the first byte of the answer came",
        "first_token_ns int64?": "socket read that held the first text: content, reasoning or tool call",
        "first_visible_ns int64?": "socket read that held the first text that is not reasoning",
        "last_token_ns int64?": "socket read that held the last text",
        "done_ns int64?": "when the answer had ended, well or not",
        "status string": "ok, refused, 4xx, 5xx, reset, timeout, malformed, truncated, error (inside a 200), cancelled, unsent or lost (client died)",
        "http_status int32?": "HTTP status code",
        "error string?": "the error, in the server's words if it sent any; redacted, at most 500 characters",
        "finish_reason string?": "why the answer ended, as reported by the server: stop, length ...",
        "tokens_in int64?": "prompt tokens by the server's usage",
        "tokens_out int64?": "output tokens by the server's usage",
        "tokens_reasoning int64?": "of these, reasoning tokens",
        "tokens_cached int64?": "prompt tokens that came from the server's cache",
        "chunk_ns list<int64>": "per chunk: the socket read that completed it, after sent_ns",
        "chunk_kind list<int64>": "per chunk: 0 role, 1 content, 2 reasoning, 3 tool call, 4 finish reason, 5 usage, 6 end mark, 7 error, 8 other",
        "chunk_chars list<int64>": "per chunk: characters of text",
        "bytes_out int64?": "bytes of the request's body",
        "bytes_in int64?": "bytes of the answer's body",
        "text string?": "the answer's text; null if there is none or it was not kept",
        "reasoning string?": "the answer's reasoning text, likewise",
        "logprobs list<float64>": "log probabilities of the answer's tokens, if requested",
        "tokenize_ns int64?": "tokenisation time of the prompt, if the model runs in this process",
        "prefill_ns int64?": "likewise, from then until the first token of the answer was known",
        "chunk_uncertainty_ns list<int64>": "per chunk: how much before its chunk_ns it may have been complete; empty: unknown",
    },
)
TOKEN_COUNTS = _table(
    "token_counts",
    "a request whose tokens were counted by the tokenizer, after the load",
    "launch request",
    {
        **LAUNCH,
        "request int64": "number of the request in the launch's schedule",
        "tokens_in int64?": "prompt tokens of the text that was sent, chat template included",
        "tokens_out int64?": "tokens of the answer's text, reasoning included",
        "chunk_tokens list<int64>": "per chunk with text: its tokens; empty if not counted",
    },
)
ANSWERS = _table(
    "answers",
    "an item that was asked, with its one outcome",
    "launch task item repetition",
    {
        **ANSWER,
        "request int64?": "the request that asked it; null if the answers existed before",
        "cluster string?": "its cluster, whose members may be lost together; null: none known",
        "groups string": "JSON: the subgroups to which it belongs, by name",
        "weight float64": "its weight in a mean",
        "prompt string?": "what was asked, as it was sent; null if unknown",
        "references string": "JSON: the acceptable answers",
        "outcome string": "ok, missing (no answer in the file), or how the request failed, as in requests.status",
        "text string?": "the whole answer; null if there is none",
        "finish_reason string?": "why it ended, as reported: stop, length ...",
        "rule string": "the extractor's rule that found the answer; none: NO_ANSWER",
        "begin int64": "where in the text the extracted answer begins, in characters",
        "end int64": "where it ends",
        "answer string?": "the extracted answer, which is scored; null: NO_ANSWER, or no text",
        "judged string?": "how its program ended in the sandbox, and why: failed: AssertionError ...; null: no program",
    },
)
SCORES = _table(
    "scores",
    "one score of an answered item",
    "launch task metric item repetition",
    {
        **ANSWER,
        "metric string": "name of the score",
        "score float64?": "score of this item alone; null: it has none",
        "statistics list<float64>": "what the score of many items is computed from; their meaning is the metric's",
    },
)
RATED = {
    "rater string": "code of who rated: a person's code, or a judge's name; never a person's name",
    "kind string": "person, or judge (a model)",
    "outcome string": "ok, or why there is none: NO_ANSWER (nothing was said, or it could not be read), failed (a judge was not reached)",
    "position int32?": "its place among all of them, from 0, in the order in which they were given; null: unknown",
    "gold int32": "1 if it belongs to the labels that judges are held against, else 0",
    "seconds float64?": "how long it took; null: unknown",
    "usd float64?": "what it cost; null: unknown",
}
RATINGS = _table(
    "ratings",
    "a rating of one answer by one rater",
    "launch task item repetition",
    {
        **ANSWER,
        **RATED,
        "rating float64?": "the number that was given: the scale's, or of a choice 1 won, 0.5 tie, 0 lost; null: none",
        "against string?": "the other side of a choice; null: rated alone",
    },
)
PREFERENCES = _table(
    "preferences",
    "a choice between two sides by one rater; its launch is that of the side shown first",
    "launch task item repetition",
    {
        **ANSWER,
        **RATED,
        "first string": "the side that was shown first (left)",
        "second string": "the side that was shown second (right)",
        "shown int32": "1 if first was shown first, 0 if the order says nothing",
        "choice string?": "first, second or tie; null: none was made",
    },
)
REPLIES = _table(
    "replies",
    "a judge's reply on one answer, or on a pair in one order, as it came; its launch is of the side, or during which files were judged",
    "launch task item repetition side",
    {
        **ANSWER,
        "side string": "the side that was judged; of a pair the one shown first",
        "against string?": "the side shown second; null: judged alone",
        "key string": "digest of the request: the model, its settings and every message; `assay resume` does not ask it again",
        "text string": "the whole reply, at most 200,001 characters",
        "finish_reason string?": "why it ended, as reported: stop, length ...",
        "tokens_in int64?": "prompt tokens by the server's usage",
        "tokens_out int64?": "output tokens, likewise",
        "seconds float64": "how long it took",
        "value float64?": "the rating that it holds, or of a pair 1: the first won, 0.5: tie, 0: it lost; null: NO_ANSWER",
        "reason string": "the judge's own words for it, at most 300 characters; empty: it gave none",
    },
)
IMAGES = _table(
    "images",
    "the image that answers an item",
    "launch task item repetition",
    {
        **ANSWER,
        "name string": "its path as the file of answers has it; of a data URL its type and length",
        "sha256 string": "SHA-256 of the image's file, in hexadecimal",
        "format string?": "PNG, JPEG, WEBP, GIF or BMP; null: it could not be decoded",
        "bytes int64": "bytes of the file",
        "width int32?": "pixels, upright; null: it could not be decoded",
        "height int32?": "likewise",
        "thumbnail string?": "its small copy in images/launch=0003.zip, drawn anew; null: none",
    },
)
DIVERGENCE = _table(
    "divergence",
    "a token of a given text, scored by an engine and by the reference (teacher forcing)",
    "launch side replica task item position",
    {
        **LAUNCH,
        "replica int32": "which of the engine's addresses, from 0",
        "side string": "engine, or floor: the reference against itself, in another number format or asked again",
        "task string": "the task to which the item belongs",
        "item string": "id of the item in its task, the same in every launch",
        "position int32": "the token's index in the item's given texts, from 0",
        "logprob float64": "its log probability at the engine",
        "reference_logprob float64": "its log probability at the reference",
        "kl float64?": "KL(reference || engine) of the next-token distributions here, nats; null: unknown",
        "basis string": "full: from whole distributions; top: from the most probable tokens, so that kl is a lower bound",
        "same_top int32": "1 if both find the same token most probable, else 0",
    },
)
EVENTS = _table(
    "events",
    "an event",
    "launch ns rank incarnation kind",
    {
        **LAUNCH,
        "ns int64": "monotonic time at which it began",
        "duration_ns int64?": "duration; null for a point in time",
        "host string": "host on which it occurred",
        "rank int32?": "global rank; null for the coordinator",
        "incarnation int32?": "incarnation of the worker; null for the coordinator",
        "kind string": "worker_start, first_step, checkpoint_save, checkpoint_load, evaluation, score, useful_work, worker_end, fault, worker_gone, ...",
        "step int64?": "step to which it belongs",
        "value float64?": "a number that belongs to it",
        "detail string": "JSON with further details",
    },
)
TELEMETRY = _table(
    "telemetry",
    "a counter reading",
    "launch ns host device counter",
    {
        **LAUNCH,
        "ns int64": "monotonic time of the reading",
        "host string": "host of the counter",
        "device string": "device that the counter belongs to, for example cpu or package-0",
        "counter string": "name of the counter, for example energy or steal",
        "value float64": "the reading",
        "unit string": "unit of the reading",
        "method string": "counter, sampled, modelled, self or scraped (reported by a server)",
    },
)
