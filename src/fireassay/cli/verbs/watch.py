"""`assay watch`: which rank of a running job is slow, in which phase, or where does it hang?"""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.settings import USED
from fireassay.cli.support.verb import Verb, add_root
from fireassay.errors import refuse
from fireassay.printable import Rewritten, json_text
from fireassay.spec.model import Unreadable, seconds

MOST_S = 86_400.0
NICE = 10


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    job = parser.add_mutually_exclusive_group(required=True)
    job.add_argument("--pid", type=int, metavar="N", help="the process of torchrun, or of one worker, on this machine")
    job.add_argument("--slurm-job", metavar="N", help="a running Slurm job, on all its nodes")
    parser.add_argument("--for", dest="duration", default="60s", metavar="TIME", help="how long: 60s, 10m (default: 60s)")
    parser.add_argument("--log", type=Path, metavar="FILE", help="the job's log (default: the file that rank 0 writes into)")
    parser.add_argument("--no-stacks", action="store_true", help="counters of the kernel only, no py-spy")
    parser.add_argument("--no-record", action="store_true", help="leave no record")
    add_root(parser, "where the record is made (default: records)")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    with suppress(OSError):
        os.nice(NICE)  # also while this imports
    from fireassay.api.jobs.watching import Wanted, watch
    from fireassay.reports.pages.watch import EXIT_OF, page

    duration = _duration(arguments.duration)
    wanted = Wanted(
        pid=arguments.pid,
        slurm_job=arguments.slurm_job or "",
        seconds=duration,
        stacks=not arguments.no_stacks,
        log=arguments.log,
        root=None if arguments.no_record else arguments.root,
    )
    line = Rewritten(sys.stderr)
    live = sys.stderr.isatty() and not USED.get().quiet
    with line.shown():
        document = watch(wanted, (lambda text: line.show(f"watching, {text}")) if live else None)
    which = f"--pid {arguments.pid}" if arguments.pid is not None else f"--slurm-job {arguments.slurm_job}"
    again = f"assay watch {which} --for {min(10 * duration, MOST_S):g}s"
    text = json_text(json.dumps(document, indent=2, ensure_ascii=False))
    emit(Output(name="watch", page=lambda: page(document, again), document=lambda: text), arguments)
    return EXIT_OF.get(str(document["finding"]), 4)


def _duration(text: str) -> float:
    try:
        value = seconds(text, MOST_S)
    except Unreadable:
        value = 0.0
    if not 0.0 < value <= MOST_S:
        raise refuse("--for", text, "a time above 0 and at most a day, such as 60s or 10m", "Write --for 60s.", source="the flags")
    return value


VERB = Verb(
    name="watch",
    group="instrument",
    call="fireassay.api.jobs.watching.watch",
    summary="look at a running job from outside: the slow rank, its phase, where it hangs",
    description="""Look at a running training from outside: which rank do the others wait for, in which phase, or where does it hang?

    assay watch --pid $(pgrep -of torchrun)
    assay watch --slurm-job 4711 --for 5m
    assay watch --pid 4711 --for 30s --json

Nothing is started in the job and nothing is changed. The kernel's counters say how long every worker runs and is blocked, py-spy (pip install
'fireassay[watch]') where its main thread is: at most 0.4 % of the processors are used for it. In a synchronous training all ranks have
equal step times; the slow one is the one that does not wait in the collective. It is named only if the others wait for it at least 10 % of
the time, beyond the error of the samples. Without py-spy no phase is known.
On a GPU a synchronising call may wait for kernels or for other ranks: phases are those of the Python thread.
A sealed record of what was seen is left below --root, marked as observed.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"job": ("--pid", "--slurm-job"), "watch": ("--for", "--log", "--no-stacks", "--no-record")},
    exits={0: "nothing found", 1: "slow rank, stall or hang", 4: "too little seen"},
)
