"""`assay import`: what did another load generator measure, and what can be made of it?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay import catalog
from fireassay.cli.support.verb import Verb, add_root
from fireassay.printable import json_text, say

if TYPE_CHECKING:
    from fireassay.runners.foreign.support.base import Imported

TOOLS = catalog.names("runners.foreign")
DESCRIPTION = f"""\
Read results of another load generator and write them as a sealed record: shown by every report, audited, and compared
only where the conditions allow. What the file does not say stays unknown; nothing is made up.

    assay import result.json                    vLLM, --save-result with --save-detailed
    assay import experiments/mine               genai-bench: a run's JSON, or the whole folder
    assay import profile_export.jsonl           AIPerf
    assay import benchmarks.json --name before  guidellm
    assay import mlperf_log_detail.txt          MLPerf LoadGen: totals only
    assay import all_reduce_perf.json           nccl-tests: -J FILE, or what it printed

The tool is told from the file; --tool names it otherwise: {", ".join((*TOOLS, "nccl_tests"))}.
A folder is read as one: runs with equal settings become launches of one record, others become records of their own.
Then look with `assay report`, `assay audit` and `assay compare`; `assay verify` checks the seal."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="the file that the tool wrote, or a folder of such files")
    parser.add_argument("--tool", metavar="NAME", default="", help="the tool that wrote it (default: told from the file)")
    parser.add_argument("--name", metavar="NAME", default="", help="the record's name (default: the tool's and the file's)")
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of sentences")


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.clock import SystemClock
    from fireassay.record.arrow_import import without_pandas
    from fireassay.runners.foreign.support.importing import import_results

    without_pandas()
    records = import_results(
        arguments.file, arguments.root, clock=SystemClock(), tool=arguments.tool.replace("-", "_"), name=arguments.name
    )
    say(json_text(_json(records)) if arguments.json else "\n".join(line for record in records for line in _told(record)))
    return 0


def _told(record: Imported) -> list[str]:
    """What was imported and what is missing, in sentences."""
    from fireassay.estimates.format import count
    from fireassay.printable import one_line

    failure = "failed" if record.unit == "requests" else "with wrong data"
    known = f"{count(record.requests, record.unit)} ({record.failed:,} {failure})"
    contents = known if record.has_requests else "totals only, no requests"
    where = ", ".join(record.configurations[:6]) + (" ..." if len(record.configurations) > 6 else "")
    lines = [f"imported from {record.title}: {contents} in {count(record.launches, 'launches')} of {where}"]
    lines += [f"the file contradicts itself: {words}" for words in record.doubts]
    lines += [f"not said: {words}" for words in record.missing]
    return [*(one_line(line) for line in lines), f"record: {record.path}"]


def _json(imported: tuple[Imported, ...]) -> str:
    import json
    from dataclasses import asdict

    records: list[dict[str, Any]] = [{**asdict(record), "path": str(record.path)} for record in imported]
    return json.dumps({"records": records}, indent=2, ensure_ascii=False)


VERB = Verb(
    name="import",
    group="records",
    summary="make a record of results of genai-bench, vLLM, AIPerf, guidellm, MLPerf LoadGen or nccl-tests",
    description=DESCRIPTION,
    add_arguments=_add_arguments,
    run=_run,
)
