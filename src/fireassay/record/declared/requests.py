"""Which columns do the tables of a serving load have?"""

from __future__ import annotations

from fireassay.record.declared.table import LAUNCH, Column, Table

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
