"""`assay import`: how do results of another load generator become records?"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from fireassay import catalog
from fireassay.cli.support.bar import bar
from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import Verb, add_root
from fireassay.printable import json_text

TOOLS = catalog.names("runners.foreign")
DESCRIPTION = f"""\
Read results of another load generator and write them as a sealed record, which can be reported, audited, and compared
where the conditions allow. Facts that are not in the file stay unknown.

    assay import result.json                    vLLM, --save-result with --save-detailed
    assay import experiments/mine               genai-bench: a run's JSON, or the whole folder
    assay import profile_export.jsonl           AIPerf
    assay import benchmarks.json --name before  guidellm
    assay import mlperf_log_detail.txt          MLPerf LoadGen: totals only
    assay import all_reduce_perf.json           nccl-tests: -J FILE, or its printed output

The tool is recognised from the file; --tool overrides that: {", ".join((*TOOLS, "nccl_tests"))}.
Of a folder, runs with equal settings become launches of one record, others become separate records.
Continue with `assay report`, `assay audit` and `assay compare`; `assay verify` checks the seal."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="the tool's output file, or a folder of them")
    parser.add_argument("--tool", metavar="NAME", default="", help="the tool that wrote it (default: recognised from the file)")
    parser.add_argument("--name", metavar="NAME", default="", help="the record's name (default: from the names of tool and file)")
    add_formats(parser)
    add_root(parser, "the folder for the record (default: records)")


def _run(arguments: argparse.Namespace) -> int:
    import dataclasses
    import json

    from fireassay.clock import SystemClock
    from fireassay.record.arrow_import import without_pandas
    from fireassay.reports.pages.import_result import page
    from fireassay.runners.foreign.support.importing import import_results

    without_pandas()
    tool = arguments.tool.replace("-", "_")
    with bar("importing") as advance:
        imported = import_results(arguments.file, arguments.root, clock=SystemClock(), tool=tool, name=arguments.name, on_progress=advance)
    records = [{**dataclasses.asdict(record), "path": str(record.path)} for record in imported]
    document = partial(json.dumps, {"records": records}, indent=2, ensure_ascii=False)
    emit(Output(name="import", page=partial(page, arguments.file.name, records), document=lambda: json_text(document())), arguments)
    return 0


VERB = Verb(
    name="import",
    group="records",
    summary="make a record from results of genai-bench, vLLM, AIPerf, guidellm, MLPerf LoadGen or nccl-tests",
    description=DESCRIPTION,
    add_arguments=_add_arguments,
    run=_run,
    exits={0: "imported"},
)
