"""How do other programs read a verdict, as strict JSON of a stable, documented shape (`assay-report/1`)?

Numbers are raw, in the unit given next to them; texts for people are not part of the contract.  JSON has no infinity:
an end of an interval that the data do not bound is null, and then `bounded` is false.  A value that was not measured
is an object with `"measured": false` and a reason, and has no `value` key.  Keys may be added; none changes its meaning.
"""

from __future__ import annotations

from typing import Any, Final

from fireassay.estimates.estimate import Value
from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.reports.documents.pairs import PAIRS
from fireassay.reports.documents.serving import SERVING
from fireassay.reports.documents.values import VALUE, Document, Key, Keys, key_tables, lifted
from fireassay.reports.rows.types import Cell, Column, EnvironmentRow, LaunchRow, MetricRow
from fireassay.reports.view import View
from fireassay.spec.sections.collectives import Cell as CollectiveCell

CONFIGURATION: Final = ("configuration", "string", "key of the configuration")
RECORD: Final[Keys[View]] = (
    Key("id", "string", "the record's id", lambda view: view.record),
    Key("name", "string", "the experiment's name"),
    Key("created_utc", "string", "when the record was begun, ISO 8601", lambda view: view.created),
    Key("assay_version", "string", "the version that measured"),
    Key("state", "string", "`complete`, `interrupted` or `failed`"),
    Key("sealed", "boolean", "whether the record carries its seal"),
    Key(
        "seal",
        "string or null",
        "SHA-256 of the sealed manifest.json, for `assay verify --expect`; it identifies the judged record, not who made it",
        lambda view: view.seal or None,
    ),
)
VERDICT: Final[Keys[View]] = (
    Key("status", "string", "`PASS`, `NO_GAIN`, `FAIL`, `INCONCLUSIVE`, `INVALID` or `NOT_MEASURED`"),
    Key("sentence", "string", "the sentence that may be quoted"),
    Key("recommended", "string or null", "the recommended configuration; null where none qualifies"),
    Key("asked", "list of strings", "the requested dimensions (`verdict.only`); the others are listed below too", lambda view: view.wanted),
)
COLUMN: Final[Keys[tuple[Column, str]]] = (
    Key("configuration", "string", "its key everywhere in this document, for example `workers=2`", lambda item: item[0].key),
    Key("workers", "integer", "number of workers", lambda item: item[0].workers),
    Key("base", "boolean", "whether speedups are relative to this one", lambda item: item[0].key == item[1]),
)
DIMENSION: Final[Keys[tuple[str, str, Cell]]] = (
    Key(*CONFIGURATION, lambda item: item[0]),
    Key("dimension", "string", "`correctness`, `performance`, `cost` or `reliability`", lambda item: item[1]),
    Key("status", "string", "as in `verdict`", lambda item: item[2].status),
    Key("sentence", "string", "why", lambda item: item[2].sentence),
)
METRIC: Final[Keys[tuple[MetricRow, str, Value]]] = (
    Key("metric", "string", "name of the metric, as in the reference of metrics and in its family", lambda item: item[0].name),
    Key("configuration", "string", "key of the configuration, or `all` for the whole experiment", lambda item: item[1]),
    Key("title", "string", "its name for people", lambda item: item[0].title),
    Key("dimension", "string", "as in `dimensions`", lambda item: item[0].dimension),
    Key("unit", "string", "unit of `value`, `low` and `high`", lambda item: item[0].unit),
    Key("better", "string", "`higher`, `lower` or `neither`", lambda item: item[0].better),
    Key("formula", "string", "how it is defined", lambda item: item[0].formula),
    *lifted(VALUE, lambda item: item[2]),
)
GATE: Final[Keys[Any]] = (
    Key("gate", "string", "name of the gate"),
    Key("configuration", "string", "key of the configuration, or `all`"),
    Key("status", "string", "as in `verdict`"),
    Key("sentence", "string", "the evidence"),
)
FINDING: Final[Keys[Any]] = (
    Key("rule", "string", "name of the audit's rule"),
    Key("severity", "string", "`invalid`, `fail`, `warning` or `note`"),
    Key("configuration", "string or null", "key of the configuration; null for the whole record"),
    Key("evidence", "string", "what was seen, with numbers"),
    Key("remedy", "string", "what to do"),
)
RECOMMENDATION: Final[Keys[Any]] = (
    Key("goal", "string", "`recommended`, `cheapest`, `fastest`, ..."),
    Key("configuration", "string or null", "key of the configuration; null where none qualifies"),
    Key("sentence", "string", "why"),
)
LAUNCH: Final[Keys[LaunchRow]] = (
    Key("launch", "integer", "number of the launch", lambda row: row.number),
    Key(*CONFIGURATION),
    Key("workers", "integer", "number of workers"),
    Key("block", "integer", "block of the design"),
    Key("order", "integer", "position in the block"),
    Key("attempt", "integer", "0 for the first try"),
    Key("role", "string", "`timed` or `fault`"),
    Key("seed", "integer", "training seed"),
    Key("begin_utc", "string", "when it began, ISO 8601"),
    Key("status", "string", "`ok`, `failed`, `timeout`, `aborted` or `skipped`"),
    Key("reason", "string", "why it is not ok; empty if it is"),
    Key("exit_code", "integer or null", "null if it was killed or never started"),
    Key("restarts", "integer", "number of restarts of the workers"),
    Key("wall_s", "number", "seconds from start to the end of the last process"),
    Key("steps", "integer", "steps recorded"),
    Key("step_s", "number or null", "median steady step time, seconds"),
    Key("warmup_steps", "integer or null", "leading steps recognised as warm-up", lambda row: row.warmup),
)
ENVIRONMENT: Final[Keys[tuple[str, EnvironmentRow]]] = (
    Key("fact", "string", "dotted name", lambda item: item[1].key if item[1].key == item[0] else f"{item[0]}.{item[1].key}"),
    Key("before", "string", "before the experiment", lambda item: item[1].before),
    Key("after", "string", "after it", lambda item: item[1].after),
    Key("changed", "boolean", "whether the two differ", lambda item: item[1].changed),
)
CONDITION: Final[Keys[Any]] = (Key("name", "string", "the subject"), Key("text", "string", "in words"))
LAYER: Final[Keys[Any]] = (
    Key(*CONFIGURATION),
    Key("layer", "string", "`ledger`, `gradient`, `hashes` or `trajectory`"),
    Key("state", "string", "`pass`, `fail`, `not run`, or `advice` where the evidence decides nothing"),
    Key("sentence", "string", "the evidence, or what it would have needed"),
)
SPENT: Final[Keys[Any]] = (
    Key(*CONFIGURATION),
    Key("role", "string", "`timed` or `fault`: of these launches together"),
    Key("launches", "integer", "their number"),
    Key("rank_s", "number", "their workers x wall time, seconds"),
    Key("shares", "object", f"share of it in each category, which sum to 1: {', '.join(f'`{name}`' for name in CATEGORIES)}"),
)
COLLECTIVE: Final[Keys[CollectiveCell]] = (
    Key("configuration", "string", "key of `collective_time`, `algbw`, `busbw`, `collective_errors`", lambda cell: cell.name),
    Key("group", "string", "key of `alpha`, `beta`, `crossover_size`: all sizes together"),
    Key("op", "string", "operation"),
    Key("place", "string", "`in`: the result overwrites the input; `out`: it does not"),
    Key("workers", "integer", "ranks of the group"),
    Key("size", "integer", "requested bytes"),
    Key("bytes", "integer", "bytes sent, as nccl-tests counts them", lambda cell: cell.nbytes),
)
PROFILE: Final[Keys[Any]] = (
    Key("launch", "integer", "number of the launch, whose role is `profile`"),
    Key(*CONFIGURATION),
    Key("status", "string", "as in `launches`"),
    Key("reason", "string", "as in `launches`"),
    Key(
        "windows",
        "list of objects",
        "for each rank: `kept` steps, steps `seen`, the request (`asked`), the `file`, and what went wrong (`trouble`)",
    ),
    Key(
        "ranks",
        "list of objects",
        "for each trace: `steps`, `operators`, `kernels`, `classes`, `memory`; times in nanoseconds; `absent` says why not",
    ),
    Key("nsys", "list of objects", "for each capture of Nsight Systems: its `reports`"),
)
DOCUMENT: Final[Document[View]] = Document(
    verb="report",
    schema="assay-report/1",
    keys=(
        Key("record", "object", "the judged record", lambda view: view, RECORD),
        Key("verdict", "object", "the judgement of the whole record", lambda view: view, VERDICT),
        Key(
            "configurations",
            "list of objects",
            "the configurations, by ascending worker count",
            lambda view: [(column, view.base) for column in view.columns],
            COLUMN,
        ),
        Key(
            "dimensions",
            "list of objects",
            "one for each configuration and dimension",
            lambda view: [(row.column.key, dimension, cell) for row in view.vector for dimension, cell in row.cells.items()],
            DIMENSION,
        ),
        Key(
            "metrics",
            "list of objects",
            "one for each metric and configuration",
            lambda view: [(row, key, shown.value) for row in view.metrics for key, shown in row.cells.items()],
            METRIC,
        ),
        Key("gates", "list of objects", "one for each gate and configuration", shape=GATE),
        Key("findings", "list of objects", "the findings of the audits, the worst first", shape=FINDING),
        Key("recommendations", "list of objects", "the recommended configurations, one for each goal", shape=RECOMMENDATION),
        Key("launches", "list of objects", "every launch, including those that failed", shape=LAUNCH),
        Key(
            "environment",
            "list of objects",
            "facts about the machine before and after the experiment",
            lambda view: [(group.name, row) for group in view.environment for row in group.rows],
            ENVIRONMENT,
        ),
        Key("conditions", "list of objects", "the requested conditions, in words", shape=CONDITION),
        Key(
            "serving",
            "object",
            "only if the record is about serving: curves, timelines, failures, replicas, agreement",
            lambda view: (view, view.serving),
            SERVING,
            when=lambda view: view.serving is not None,
        ),
        Key(
            "layers",
            "list of objects",
            "only if it is a training on several workers: the four layers of its correctness, for each worker count",
            shape=LAYER,
            when=lambda view: bool(view.layers),
        ),
        Key(
            "spent",
            "list of objects",
            "only if a rank marks its steps: where the paid time of timed and of fault launches went",
            lambda view: view.spent,
            SPENT,
            when=lambda view: bool(view.spent),
        ),
        Key(
            "collectives",
            "list of objects",
            "only if the record times collectives: the meaning of the keys of its metrics",
            shape=COLLECTIVE,
            when=lambda view: bool(view.collectives),
        ),
        Key(
            "profiles",
            "list of objects",
            "only if launches were profiled: a summary of their traces",
            shape=PROFILE,
            when=lambda view: bool(view.profiles),
        ),
        Key(
            "pairs",
            "list of objects",
            "only if messages between pairs of ranks were timed: latency and bandwidth of each, and which ranks are close",
            shape=PAIRS,
            when=lambda view: bool(view.pairs),
        ),
    ),
)
render = DOCUMENT.render


def reference() -> str:
    """The page docs/reference/json.md, generated from DOCUMENT."""
    lines = [
        "# The JSON report",
        "",
        "<!-- generated by fireassay.reports.documents.record.reference(); do not edit -->",
        "",
        f"`assay report RECORD --json` writes one JSON object of the shape `{DOCUMENT.schema}`.",
        "",
        *(__doc__ or "").split("\n\n", 1)[1].strip().splitlines(),
        *key_tables(DOCUMENT.fields),
    ]
    return "\n".join(lines) + "\n"
