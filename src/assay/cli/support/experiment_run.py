"""How do a program and the command line run an experiment?  As the runner does it, with judging at hand.

This is `assay.run`: the runner alone cannot tell whether an interval is narrow enough (`launches.precision`) or a launch
disturbed (`noise.repeat`); here it is handed what can.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.clock import Clock
    from assay.runners.experiment.progress import RunProgress
    from assay.spec.experiment import Experiment


def run(
    experiment: Experiment,
    *,
    folder: Path | None = None,
    root: Path = Path("records"),
    on_progress: Callable[[RunProgress], None] | None = None,
    clock: Clock | None = None,
) -> Path:
    """Execute an experiment and return the path of its sealed record.

    Args:
        experiment: what to run.
        folder: where the workload's script is looked for; default: the working directory.
        root: where the record folder is made.
        on_progress: called several times a second with the state of things.
        clock: default: the system's.

    Raises:
        SpecError, EnvironmentLacks: it cannot be started; no record was made.
        WorkloadError: no launch succeeded; the record says why.
        Interrupted: stopped by a signal; `resume` goes on.
        RecordError: the record could not be written any more; what was written stays readable.
    """
    from assay.cli.support.interim_analysis import advice
    from assay.runners.experiment import run as base

    return base.run(experiment, folder=folder, root=root, on_progress=on_progress, clock=clock, advice=advice())


def resume(
    path: Path, *, force: bool = False, on_progress: Callable[[RunProgress], None] | None = None, clock: Clock | None = None
) -> Path:
    """Go on with an interrupted record; see `assay.runners.experiment.run.resume`."""
    from assay.cli.support.interim_analysis import advice
    from assay.runners.experiment import run as base

    return base.resume(path, force=force, on_progress=on_progress, clock=clock, advice=advice())
