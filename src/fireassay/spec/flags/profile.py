"""How do the flags of `assay profile` become an experiment?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fireassay.spec.flags import experiment as flags_of_runs
from fireassay.spec.flags.of_verb import KeyFlag, Stored, as_flag, experiment_of, flags_of, given, put_all

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from fireassay.spec.experiment import Experiment


def window_and_others() -> tuple[list[KeyFlag], list[KeyFlag]]:
    """The verb's flags: those of the window, and those that change the profiled launch."""
    window = [item for item in flags_of("profile") if item.path.startswith("profile.")]
    return window, [item for item in flags_of("profile") if item not in window]


def experiment_from(namespace: argparse.Namespace, stored: Stored | None = None) -> tuple[Experiment, Path]:
    """The experiment, of one worker unless the flags say otherwise, and its folder. Raises SpecError."""
    if namespace.key_workers is None and namespace.experiment is None:
        namespace.key_workers = "1"
    return flags_of_runs.experiment_from(namespace, window_and_others()[1], stored=stored)


def profiled(experiment: Experiment, folder: Path, namespace: argparse.Namespace) -> Experiment:
    """The experiment with profiled launches and no others. Raises SpecError: a flag of the window is wrong."""
    window, _ = window_and_others()
    data = {**experiment.model_dump(by_alias=True), "profile": {"only": True}, "faults": ()}
    problems = put_all(data, given(namespace, window))
    return experiment_of(data, problems, lambda problem: as_flag(problem, window), folder)
