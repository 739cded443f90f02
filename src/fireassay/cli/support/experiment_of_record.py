"""How does a record stand for the addresses of its load?  Advice then keeps every condition but the one that it changes.

assay load 5c07aa --concurrency 40,48,56
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment
    from fireassay.spec.flags.load import Recorded

ADDRESS = re.compile(r"://|=|:\d+$")  # in what is never a record's name


def recorded_load(words: Sequence[str], root: Path) -> Recorded | None:
    """The load of the record that a single address names; None if it is an address.

    Raises:
        SpecError: the record is no load, or another program sent it.
    """
    if len(words) != 1 or ADDRESS.search(words[0]):
        return None
    from fireassay.errors import RecordError
    from fireassay.record.lookup import resolve
    from fireassay.record.manifest import read_manifest
    from fireassay.spec.flags.load import Recorded
    from fireassay.spec.load import parse

    try:
        path = resolve(words[0], root)
        manifest = read_manifest(path)
    except RecordError:  # then it is taken for an address, and the message is about addresses
        return None
    data = parse(path / "experiment.toml")[0]
    _refuse_others(words[0], data, manifest)
    return Recorded(data=data, folder=folder_of(manifest))


def _refuse_others(name: str, data: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    from fireassay.errors import refuse

    allowed = "an address, or a record of a load that assay sent"
    if "serving" not in data:
        fix = f"Repeat it with assay run {name}."
        raise refuse("URL", f"{name}, a record without a load", allowed, fix, source="the flags")
    if manifest.get("foreign"):
        raise refuse("URL", f"{name}, whose load another program sent", allowed, source="the flags")


def folder_of(manifest: Mapping[str, object]) -> Path:
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
