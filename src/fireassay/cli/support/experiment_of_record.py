"""How does a record stand wherever an experiment's file does?  Advice then keeps every condition but the one that it changes.

assay run 77ab01 --workers 1,2 --launches 10
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

FILES = frozenset({".toml", ".py"})  # suffixes of what is never a record's name


def use_record(arguments: argparse.Namespace) -> bool:
    """Replace a record's name by its experiment's file, and note the folder of its script; whether there was one."""
    name = arguments.experiment
    if name is None or Path(name).suffix in FILES or Path(name).is_file():
        return False
    from fireassay.errors import RecordError
    from fireassay.record.lookup import resolve
    from fireassay.record.manifest import read_manifest

    with suppress(RecordError):  # then it is taken for a file, and the message is about both
        path = resolve(name, arguments.root)
        manifest = read_manifest(path)
        arguments.experiment = str(path / "experiment.toml")
        arguments.script_folder = _folder(manifest)
        return True
    return False


def _folder(manifest: dict[str, object]) -> Path:
    """The folder of the script as recorded, if it still exists; else the working directory."""
    environment = manifest.get("environment")
    before = environment.get("before") if isinstance(environment, dict) else None
    script = before.get("script") if isinstance(before, dict) else None
    recorded = Path(str(script.get("folder"))) if isinstance(script, dict) and script.get("folder") else Path()
    return recorded if recorded.is_dir() else Path()


def secrets_from_here(experiment: Experiment, *, of_record: bool) -> Experiment:
    """A record holds no secret: those of its experiment come from this environment.

    Raises:
        EnvironmentLacks: one is not set here.
    """
    from fireassay.runners.experiment.script import with_secrets

    return with_secrets(experiment) if of_record else experiment
