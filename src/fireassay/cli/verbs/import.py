"""`assay import`: how do results of another load generator, harness, timing tool or profiler become records?"""

from __future__ import annotations

import argparse
import dataclasses
import json
from functools import partial
from pathlib import Path

from fireassay.cli.support.bar import bar
from fireassay.cli.support.output import Output, add_formats, emit, plain_stdout
from fireassay.cli.support.verb import Verb, add_root, loss
from fireassay.exit_codes import WITHOUT_NO_GAIN
from fireassay.importers.support.tools import EVERY
from fireassay.printable import json_text

DESCRIPTION = f"""\
Read results of another load generator, evaluation harness or timing tool and write them as a sealed record, which can be reported,
audited, and compared where the conditions allow. Facts that are not in the file stay unknown.

    assay import result.json                    vLLM, --save-result with --save-detailed
    assay import experiments/mine               genai-bench: a run's JSON, or the whole folder
    assay import profile_export.jsonl           AIPerf
    assay import benchmarks.json --name before  guidellm
    assay import mlperf_log_detail.txt          MLPerf LoadGen: totals only
    assay import out.jsonl                      sglang.bench_serving --output-details
    assay import agg_run.json                   InferenceX
    assay import reports-20260101-000000        inference-perf: its stages, or a file of requests
    assay import tiny_individual_responses.json llmperf, with the summary next to it
    assay import profile_export.json            perf_analyzer: --profile-export-file, or -f FILE.csv
    assay import profile_export_genai_perf.json GenAI-Perf: totals only
    assay import results/retinanet              MLPerf: result_*.txt of a training
    assay import all_reduce_perf.json           nccl-tests: -J FILE, or its printed output
    assay import osu_allreduce_np16.txt         OSU micro-benchmarks, as printed
    assay import results/my-model               lm-eval with --log_samples
    assay import logs/run.eval                  Inspect: a log, .eval or .json
    assay import benchmark_output/runs/a/mmlu   HELM: the folder of a run
    assay import runs/                          pytest-benchmark, pyperf, hyperfine, Google, asv
    assay import monday.log tuesday.log         Megatron-LM or torchtitan, as printed
    assay import final_summary.json             TraceML
    assay import rank*.pt.trace.json.gz         torch.profiler or any Chrome trace, one per rank
    assay import train.nsys-rep                 Nsight Systems, or its export as sqlite
    assay import before/ after/ --margin 0.02   two results: held, degraded or not shown

The tool is recognised from the file; --from overrides that: {", ".join(name.replace("_", "-") for name in EVERY)}.
Of a timing tool every process is a launch: a file of pytest-benchmark or Google Benchmark is one, two files are two.
Of a harness every path is a side of one record, the first is the reference, and all must have been asked the same items in the same way.
Its scores keep their names and values, and what it made of them is checked: a number that does not follow from the items is a finding.
Of a folder, runs with equal settings become launches of one record, others become separate records.
Continue with `assay report`, `assay audit` and `assay compare`; `assay verify` checks the seal."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="the tool's output file, or a folder of them")
    parser.add_argument(
        "--from", "--tool", dest="tool", metavar="NAME", default="", help="the tool that wrote it (default: recognised from the file)"
    )
    parser.add_argument("--name", metavar="NAME", default="", help="the record's name (default: from the names of tool and file)")
    harness = parser.add_argument_group("results of an evaluation harness")
    harness.add_argument(
        "--margin",
        metavar="M",
        type=loss,
        help="with two sides or more: largest loss of the first score that still counts as held; shows the verdict",
    )
    harness.add_argument("--metric", metavar="NAME", default="", help="the score that decides, by the harness's name (its first)")
    harness.add_argument(
        "--varying", action="append", default=[], metavar="NAME", help="what may differ between sides, as an error names it; repeatable"
    )
    harness.add_argument(
        "--most-failed",
        metavar="F",
        type=float,
        help="largest share of items without an answer, or with an empty one that was scored (0.01)",
    )
    add_formats(parser)
    add_root(parser, "the folder for the record (default: records)")


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.records.importing import imported_from
    from fireassay.importers.harnesses.support.importing import Wanted
    from fireassay.reports.pages.record_list import page

    names = ("name", "margin", "metric", "most_failed")
    wanted = Wanted(varying=tuple(arguments.varying), **{name: getattr(arguments, name) for name in names})
    with bar("importing") as advance:
        imported = imported_from(arguments.files, arguments.root, tool=arguments.tool, wanted=wanted, on_progress=advance)
    records = [{**dataclasses.asdict(record), "path": str(record.path)} for record in imported]
    document = partial(json.dumps, {"records": records}, indent=2, ensure_ascii=False)
    source = " and ".join(file.name or str(file) for file in arguments.files)
    if arguments.margin is not None and len(imported) == 1 and plain_stdout(arguments):
        from fireassay.cli.support.judged import judge_and_show

        return judge_and_show(imported[0].path, arguments)
    if imported[0].unit == "traces":  # the shares are the answer
        from fireassay.cli.support.judged import profile_of
        from fireassay.reports.pages.profile import page as shares

        emit(Output(name="import", page=lambda: shares(profile_of(imported[0].path)), document=lambda: json_text(document())), arguments)
        return 0
    emit(Output(name="import", page=partial(page, source, records), document=lambda: json_text(document())), arguments)
    return 0


VERB = Verb(
    name="import",
    group="records",
    call="fireassay.api.records.importing.imported_from",
    summary="make a record from results of another tool: a load generator, harness or timing tool",
    description=DESCRIPTION,
    add_arguments=_add_arguments,
    run=_run,
    exits={**WITHOUT_NO_GAIN, 0: "imported; with --margin: held"},
    tables=True,
)
