"""How does a verb that measures run its experiment, and show progress and verdict?"""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from fireassay.api import experiment_run
from fireassay.cli.support.judged import judge_and_show
from fireassay.cli.support.progress import display
from fireassay.spec.experiment import Experiment


def run_and_judge(
    experiment: Experiment,
    arguments: argparse.Namespace,
    *,
    folder: Path = Path(),
    root: Path | None = None,
    tables: bool = False,
    within: AbstractContextManager[None] | None = None,
) -> int:
    """Run an experiment with its progress shown, judge its record and show the verdict; returns the exit code.

    Args:
        folder: base of the workload's paths.
        root: parent of the record; default: --root.
        tables: with a provisional table after every block.
        within: a context of the run.
    """
    root = arguments.root if root is None else root
    with display(sys.stderr, quiet=arguments.quiet, tables=tables) as show, within or nullcontext():
        experiment = experiment_run.ranged(experiment, folder, root, show)
        path = experiment_run.run(experiment, folder=folder, root=root, on_progress=show)
    return judge_and_show(path, arguments)
