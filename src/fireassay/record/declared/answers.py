"""Which columns do the tables of an evaluation have?"""

from __future__ import annotations

from fireassay.record.declared.table import LAUNCH, Column, Table

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
