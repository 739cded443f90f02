"""How does a record stand for an experiment to repeat?  Every condition is kept but those that the flags change.

assay load 5c07aa --concurrency 40,48,56
assay run 5c07aa --launches 9
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fireassay.errors import RecordError, refuse
from fireassay.record.lookup import resolve
from fireassay.record.manifest import read_manifest
from fireassay.record.reader import open_record
from fireassay.runners.experiment.script import with_secrets
from fireassay.spec.flags.experiment import Stored
from fireassay.spec.flags.load import Recorded
from fireassay.spec.load import parse, to_toml

ADDRESS: Final = re.compile(r"://|=|:\d+$")  # in what is never a record's name


def stored(text: str | None, root: Path) -> Stored | None:
    """The experiment of the record that the text names; None if it names a file, or no record."""
    if text is None or Path(text).is_file() or text.endswith((".toml", ".py")):
        return None
    try:
        path = resolve(text, root)
    except RecordError:
        return None  # reported as a missing file, which it is too
    record = open_record(path)
    return Stored(data=tomllib.loads(to_toml(with_secrets(record.experiment))), folder=folder_of(record.manifest))


def recorded_load(words: Sequence[str], root: Path) -> Recorded | None:
    """The load of the record that a single address names; None if it is an address.

    Raises:
        SpecError: the record is no load, or another program sent it.
    """
    if len(words) != 1 or ADDRESS.search(words[0]):
        return None
    try:
        path = resolve(words[0], root)
        manifest = read_manifest(path)
    except RecordError:  # then it is taken for an address, and the message is about addresses
        return None
    data = parse(path / "experiment.toml")[0]
    _refuse_others(words[0], data, manifest)
    return Recorded(data=data, folder=folder_of(manifest))


def _refuse_others(name: str, data: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    allowed = "an address, or a record of a load that assay sent"
    if "serving" not in data:
        raise refuse("URL", f"{name}, a record without a load", allowed, f"Repeat it with assay run {name}.", source="the flags")
    if manifest.get("foreign"):
        raise refuse("URL", f"{name}, whose load another program sent", allowed, source="the flags")


def folder_of(manifest: Mapping[str, object]) -> Path:
    """The folder of the script as recorded, if it still exists; else the working directory."""
    environment = manifest.get("environment")
    before = environment.get("before") if isinstance(environment, dict) else None
    script = before.get("script") if isinstance(before, dict) else None
    recorded = Path(str(script.get("folder"))) if isinstance(script, dict) and script.get("folder") else Path()
    return recorded if recorded.is_dir() else Path()
