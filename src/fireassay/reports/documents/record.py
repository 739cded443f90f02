"""How do other programs read a verdict, as strict JSON of a stable, documented shape (`assay-report/1`)?

Numbers are raw, in the unit named beside them; texts for people are not part of the contract.  JSON knows no infinity:
an end of an interval that the data do not bound is null, and then `bounded` is false.  A value that was not measured
is an object with `"measured": false` and a reason, and has no `value` key.  Keys may be added; none changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.reports.documents import pairs as pairs_document
from fireassay.reports.documents import serving as serving_document
from fireassay.reports.documents.values import Row, encode, key_tables, value_object
from fireassay.reports.view import View

SCHEMA: Final = "assay-report/1"

FIELDS: Final[Mapping[str, tuple[Row, ...]]] = {
    "(top)": (
        ("schema", "string", f"always `{SCHEMA}`; another number is another shape"),
        ("record", "object", "which record was judged"),
        ("verdict", "object", "the judgement of the whole record"),
        ("configurations", "list of objects", "the configurations, by ascending worker count"),
        ("dimensions", "list of objects", "one for each configuration and dimension"),
        ("metrics", "list of objects", "one for each metric and configuration"),
        ("gates", "list of objects", "one for each gate and configuration"),
        ("findings", "list of objects", "what the audits found, the worst first"),
        ("recommendations", "list of objects", "the configurations picked, one for each goal"),
        ("launches", "list of objects", "every launch, also those that failed"),
        ("environment", "list of objects", "facts about the machine before and after the experiment"),
        ("conditions", "list of objects", "what was asked for, in words"),
        ("serving", "object", "only if the record is about serving: curves, timelines, failures, replicas, agreement"),
        ("collectives", "list of objects", "only if the record times collectives: what the keys of its metrics mean"),
        ("profiles", "list of objects", "only if launches were profiled: what their traces say"),
        (
            "layers",
            "list of objects",
            "only if it is a training on several workers: the four layers of its correctness, for each worker count",
        ),
        ("spent", "list of objects", "only if a rank marks its steps: where the paid time of timed and of fault launches went"),
        (
            "pairs",
            "list of objects",
            "only if messages between pairs of ranks were timed: latency and bandwidth of each, and who is near whom",
        ),
    ),
    "layers[]": (
        ("configuration", "string", "key of the configuration"),
        ("layer", "string", "`ledger`, `gradient`, `hashes` or `trajectory`"),
        ("state", "string", "`pass`, `fail`, `not run`, or `advice` where what was seen decides nothing"),
        ("sentence", "string", "what was seen, or what it would have needed"),
    ),
    "spent[]": (
        ("configuration", "string", "key of the configuration"),
        ("role", "string", "`timed` or `fault`: of these launches together"),
        ("launches", "integer", "how many they are"),
        ("rank_s", "number", "their workers x wall time, seconds"),
        ("shares", "object", f"share of it in each category, which sum to 1: {', '.join(f'`{name}`' for name in CATEGORIES)}"),
    ),
    "profiles[]": (
        ("launch", "integer", "number of the launch, whose role is `profile`"),
        ("configuration", "string", "key of the configuration"),
        ("status", "string", "as in `launches`"),
        ("reason", "string", "as in `launches`"),
        (
            "windows",
            "list of objects",
            "for each rank: `kept` steps, steps `seen`, what was `asked`, the `file`, and what went wrong (`trouble`)",
        ),
        (
            "ranks",
            "list of objects",
            "for each trace: `steps`, `operators`, `kernels`, `classes`, `memory`; times in nanoseconds; `absent` says why not",
        ),
        ("nsys", "list of objects", "for each capture of Nsight Systems: its `reports`"),
    ),
    "pairs[]": pairs_document.KEYS,
    "collectives[]": (
        ("configuration", "string", "key of `collective_time`, `algbw`, `busbw`, `collective_errors`"),
        ("group", "string", "key of `alpha`, `beta`, `crossover_size`: all sizes together"),
        ("op", "string", "operation"),
        ("place", "string", "`in`: the result lies where the input was; `out`: elsewhere"),
        ("workers", "integer", "ranks of the group"),
        ("size", "integer", "bytes that were asked for"),
        ("bytes", "integer", "bytes that were sent, as nccl-tests counts them"),
    ),
    "record": (
        ("id", "string", "the record's id"),
        ("name", "string", "the experiment's name"),
        ("created_utc", "string", "when the record was begun, ISO 8601"),
        ("assay_version", "string", "the version that measured"),
        ("state", "string", "`complete`, `interrupted` or `failed`"),
        ("sealed", "boolean", "whether the record carries its seal"),
        (
            "seal",
            "string or null",
            "SHA-256 of the sealed manifest.json, for `assay verify --expect`; it shows which record was judged, not who made it",
        ),
    ),
    "verdict": (
        ("status", "string", "`PASS`, `FAIL`, `INCONCLUSIVE`, `INVALID` or `NOT_MEASURED`"),
        ("sentence", "string", "the sentence that may be quoted"),
        ("recommended", "string or null", "the recommended configuration; null where none qualifies"),
        ("asked", "list of strings", "the dimensions that were asked about (`verdict.only`); the others are below all the same"),
    ),
    "configurations[]": (
        ("configuration", "string", "its key everywhere in this document, for example `workers=2`"),
        ("workers", "integer", "number of workers"),
        ("base", "boolean", "whether speedups are relative to this one"),
    ),
    "dimensions[]": (
        ("configuration", "string", "key of the configuration"),
        ("dimension", "string", "`correctness`, `performance`, `cost` or `reliability`"),
        ("status", "string", "as in `verdict`"),
        ("sentence", "string", "why"),
    ),
    "metrics[]": (
        ("metric", "string", "name of the metric, as in the reference of metrics and in the family that computes it"),
        ("configuration", "string", "key of the configuration, or `all` for the whole experiment"),
        ("title", "string", "its name for people"),
        ("dimension", "string", "as in `dimensions`"),
        ("unit", "string", "unit of `value`, `low` and `high`"),
        ("better", "string", "`higher`, `lower` or `neither`"),
        ("formula", "string", "how it is defined"),
        ("measured", "boolean", "false: no number; `reason` and `detail` say why"),
        ("value", "number or null", "only if measured; null if it is infinite"),
        ("low", "number or null", "only if measured; lower end of the interval, null where the data do not bound it"),
        ("high", "number or null", "only if measured; upper end of the interval, null where the data do not bound it"),
        ("bounded", "boolean", "only if measured; whether value, low and high are all finite"),
        ("confidence", "number", "only if measured; 0..1, 1 for a complete count"),
        ("n_launches", "integer", "only if measured; independent launches behind the value"),
        ("n_trials", "integer", "only if measured; repeated units inside those launches"),
        ("method", "string", "only if measured; how value and interval were made"),
        ("signature", "string", "only if measured; two values may be compared only if their signatures agree"),
        ("launch_values", "list of numbers", "only if measured; one for each launch or block, may be empty"),
        ("reason", "string", "only if not measured: `not_measured`, `insufficient`, `not_applicable`, `undefined` or `refused`"),
        ("detail", "string", "only if not measured; what is missing, and what to do to have it"),
    ),
    "gates[]": (
        ("gate", "string", "name of the gate"),
        ("configuration", "string", "key of the configuration, or `all`"),
        ("status", "string", "as in `verdict`"),
        ("sentence", "string", "the evidence"),
    ),
    "findings[]": (
        ("rule", "string", "name of the audit's rule"),
        ("severity", "string", "`invalid`, `fail`, `warning` or `note`"),
        ("configuration", "string or null", "key of the configuration; null for the whole record"),
        ("evidence", "string", "what was seen, with numbers"),
        ("remedy", "string", "what to do"),
    ),
    "recommendations[]": (
        ("goal", "string", "`recommended`, `cheapest`, `fastest`, ..."),
        ("configuration", "string or null", "key of the configuration; null where none qualifies"),
        ("sentence", "string", "why"),
    ),
    "launches[]": (
        ("launch", "integer", "number of the launch"),
        ("configuration", "string", "key of the configuration"),
        ("workers", "integer", "number of workers"),
        ("block", "integer", "block of the design"),
        ("order", "integer", "place inside the block"),
        ("attempt", "integer", "0 for the first try"),
        ("role", "string", "`timed` or `fault`"),
        ("seed", "integer", "training seed"),
        ("begin_utc", "string", "when it began, ISO 8601"),
        ("status", "string", "`ok`, `failed`, `timeout`, `aborted` or `skipped`"),
        ("reason", "string", "why it is not ok; empty if it is"),
        ("exit_code", "integer or null", "null if it was killed or never started"),
        ("restarts", "integer", "how often the workers were restarted"),
        ("wall_s", "number", "seconds from start to the end of the last process"),
        ("steps", "integer", "steps recorded"),
        ("step_s", "number or null", "median steady step time, seconds"),
        ("warmup_steps", "integer or null", "leading steps recognised as warm-up"),
    ),
    "environment[]": (
        ("fact", "string", "dotted name"),
        ("before", "string", "before the experiment"),
        ("after", "string", "after it"),
        ("changed", "boolean", "whether the two differ"),
    ),
    "conditions[]": (("name", "string", "what it is about"), ("text", "string", "in words")),
}


def document(view: View) -> dict[str, Any]:
    """The report as plain Python values, in the shape of FIELDS."""
    return {
        "schema": SCHEMA,
        "record": {
            "id": view.record,
            "name": view.name,
            "created_utc": view.created,
            "assay_version": view.assay_version,
            "state": view.state,
            "sealed": view.sealed,
            "seal": view.seal or None,
        },
        "verdict": {"status": view.status, "sentence": view.sentence, "recommended": view.recommended, "asked": list(view.wanted)},
        "configurations": [
            {"configuration": column.key, "workers": column.workers, "base": column.key == view.base} for column in view.columns
        ],
        "dimensions": [
            {"configuration": row.column.key, "dimension": dimension, "status": cell.status, "sentence": cell.sentence}
            for row in view.vector
            for dimension, cell in row.cells.items()
        ],
        "metrics": [
            {
                "metric": row.name,
                "configuration": key,
                "title": row.title,
                "dimension": row.dimension,
                "unit": row.unit,
                "better": row.better,
                "formula": row.formula,
                **value_object(shown.value),
            }
            for row in view.metrics
            for key, shown in row.cells.items()
        ],
        "gates": [
            {"gate": gate.gate, "configuration": gate.configuration, "status": gate.status, "sentence": gate.sentence}
            for gate in view.gates
        ],
        "findings": [
            {
                "rule": finding.rule,
                "severity": finding.severity,
                "configuration": finding.configuration,
                "evidence": finding.evidence,
                "remedy": finding.remedy,
            }
            for finding in view.findings
        ],
        "recommendations": [
            {"goal": pick.goal, "configuration": pick.configuration, "sentence": pick.sentence} for pick in view.recommendations
        ],
        "launches": _launches(view),
        "environment": [
            {
                "fact": group.name if row.key == group.name else f"{group.name}.{row.key}",
                "before": row.before,
                "after": row.after,
                "changed": row.changed,
            }
            for group in view.environment
            for row in group.rows
        ],
        "conditions": [{"name": fact.name, "text": fact.text} for fact in view.conditions],
        **({} if view.serving is None else {"serving": serving_document.serving(view, view.serving)}),
        **({"layers": _layers(view)} if view.layers else {}),
        **({"spent": _spent(view)} if view.series.spent else {}),
        **({"collectives": _collectives(view)} if view.collectives else {}),
        **({"profiles": [dict(profile) for profile in view.profiles]} if view.profiles else {}),
        **({"pairs": pairs_document.as_json(view.pairs, value_object)} if view.pairs else {}),
    }


def _layers(view: View) -> list[dict[str, Any]]:
    return [{"configuration": row.configuration, "layer": row.layer, "state": row.state, "sentence": row.sentence} for row in view.layers]


def _spent(view: View) -> list[dict[str, Any]]:
    return [
        {"configuration": bar.configuration, "role": bar.role, "launches": bar.launches, "rank_s": bar.rank_s, "shares": dict(bar.shares)}
        for bar in view.series.spent
    ]


def _collectives(view: View) -> list[dict[str, Any]]:
    return [
        {
            "configuration": cell.name,
            "group": cell.group,
            "op": cell.op,
            "place": cell.place,
            "workers": cell.workers,
            "size": cell.size,
            "bytes": cell.nbytes,
        }
        for cell in view.collectives
    ]


def _launches(view: View) -> list[dict[str, Any]]:
    return [
        {
            "launch": row.number,
            "configuration": row.configuration,
            "workers": row.workers,
            "block": row.block,
            "order": row.order,
            "attempt": row.attempt,
            "role": row.role,
            "seed": row.seed,
            "begin_utc": row.begin_utc,
            "status": row.status,
            "reason": row.reason,
            "exit_code": row.exit_code,
            "restarts": row.restarts,
            "wall_s": row.wall_s,
            "steps": row.steps,
            "step_s": row.step_s,
            "warmup_steps": row.warmup,
        }
        for row in view.launches
    ]


def render(view: View) -> str:
    """Render the document as strict, indented JSON."""
    return encode(document(view))


def reference() -> str:
    """The page docs/reference/json.md, generated from FIELDS."""
    lines = [
        "# The JSON report",
        "",
        "<!-- generated by fireassay.reports.documents.record.reference(); do not edit -->",
        "",
        f"`assay report RECORD --json` writes one JSON object of the shape `{SCHEMA}`.",
        "",
        *(__doc__ or "").split("\n\n", 1)[1].strip().splitlines(),
        *key_tables({**FIELDS, **serving_document.FIELDS}),
    ]
    return "\n".join(lines) + "\n"
