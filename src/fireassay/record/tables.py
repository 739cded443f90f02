"""Which tables does a record hold, and what does each column mean?

The single definition for the writer, the reader, the reference page and the migrations.  Columns: `fireassay.record.declared`.
Columns ending in `_ns` hold times or durations in monotonic nanoseconds of the host that wrote them.
Null means "not recorded", never zero.
"""

from __future__ import annotations

from fireassay.record import declared
from fireassay.record.declared import Table

FORMAT_VERSION = 9
# Format history, shown on the reference page; a new version needs a step in record/manifest.py
HISTORY: dict[int, str] = {
    9: "(assay 0.5.0) answers have judged; tables ratings, preferences, replies and images",
    8: "(assay 0.5.0, before its release) tables answers, scores and divergence; the experiment may have [evaluation]",
    7: "(assay 0.5.0, before its release) requests have chunk_uncertainty_ns",
    6: "(assay 0.5.0, before its release) examples and arrivals have cluster",
    5: "(assay 0.4.0) tables gradients, collectives, communication, inventory, waits and clocks",
    4: "(assay 0.3.0) requests have tokenize_ns and prefill_ns; the path of a request may be kernel",
    3: "(assay 0.3.0, before its release) tables arrivals, requests and token_counts; the manifest may hold schedules; the experiment may have [serving]",
    2: "(assay 0.2.0) table trials; launches may have the status contaminated; the manifest may hold looks and session",
    1: "(assay 0.1.0) first format: launches, steps, examples, samples, fingerprints, events, telemetry",
}


TABLES: dict[str, Table] = {
    table.name: table for table in vars(declared).values() if isinstance(table, Table)
}  # in the order of their declarations


def reference() -> str:
    """The reference page of the record format in Markdown: every table and column, and the history."""
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
`fireassay/record/tables.py`. The format version is **{version}**.

```text
records/<name>-<utc>-<id>/
  experiment.toml                            what was asked; secrets redacted
  manifest.json                              format version, state, environment before and after, digests
  SEAL                                       "<sha256 of manifest.json>  manifest.json"; a record is sealed if it exists
  tables/<table>/launch=0003/part-0.parquet  the measurements, zstd-compressed Parquet; the column `launch` counts:
                                             timings of another tool are one file per table
  logs/launch=0003.log                       what the launch printed; capped, secrets redacted
  images/launch=0003.zip                     of images that answered: small copies without metadata, as JPEG (table `images`)
  traces/launch=0003/                        of launches with the role profile: a trace of each rank, compressed, and summary.json
  reports/                                   derived; outside the seal, may be deleted
```

Until it is sealed, a record holds `streams/launch=0003/<table>.<writer>.arrows` instead of `tables/`: append-only
Arrow IPC streams, one per table and process, each readable up to the last batch that was written whole.

What a reader refuses, for a record may come from anybody: a symbolic link, a pipe or a device in the place of a file, a name that leads out of
the folder; a manifest above 24 MiB, an experiment above 1 MiB, a duplicate key, NaN, lists nested deeper than 64; a value that is missing
where the table needs one; pages in the encoding `DELTA_BYTE_ARRAY`, a compressed stream; and a table that would take more memory than 256 MiB, or
40 times its files if that is more (at most half of the machine's). `FIREASSAY_READ_MIB=8000` in the environment allows 8,000 MiB instead.

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
| `origin` | a mark by which the account that made the record knows it again in its folder; empty or absent: none (SECURITY.md) |
| `session` | only if made in turn with other records: `id`, the same in all; `arm` from 0; `arms`; `label`; `seed`; `alone`: rounds made apart |
| `looks` | only with `launches.precision` or `budget_s`: one entry per look at the intervals: `blocks`, `confidence`, `widths`, `enough`, `sentence`, `ended` |
| `looks_ended` | why no further rounds were made: precision, decided, at_most, budget or failed |
| `simulated` | only if `assay simulate` computed it: `what`, and every number of the cluster; its verdict is INVALID |
| `foreign` | only if imported: `tool`, `file`, `sha256`, `clock`, `times`, `meanings`, `unsaid`, `missing`, `reported` ... (docs/how-to/import.md) |
| `observed` | only of a job that assay did not start: `by` (attach or watch), `limits`: what an experiment has and this lacks; `hosts`, `job` |
| `schedules` | serving: per launch `sha256` of everything to be sent, `requests`: how many; `sent`: `requests`, `sum` of digests, clients with `others` |
| `sentinel` | `rounds` of the speed probe's fixed work: the same in all launches of the record |
| `nulls` | keys of experiment.toml that were set to nothing although their default is something (TOML has no null) |
| `sealed.files` | relative path -> `sha256`, `bytes` and, for tables, `rows` of every file under the seal |
| `sealed.salvaged` | one sentence per stream whose end could not be read when the record was sealed |

## Tables

Times in columns that end in `_ns` are monotonic nanoseconds of the host that wrote them; durations likewise.
A null says "not seen", never zero. A table without rows has no file.
"""
