"""Has the script changed since the record began, and are the redacted secrets available?"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fireassay.errors import EnvironmentLacks, Problem, refuse_any
from fireassay.record.sealing.plan_signature import plan_signature
from fireassay.record.secrets.redact import REDACTED
from fireassay.spec.experiment import Experiment


def script_path(experiment: Experiment, folder: Path) -> Path:
    """The script's path; `~` is expanded. A command without a slash is searched on the PATH."""
    if experiment.workload.runner == "command" and "/" not in experiment.workload.script:
        return Path(shutil.which(experiment.workload.script) or folder / experiment.workload.script).absolute()
    return (folder / Path(experiment.workload.script).expanduser()).resolve()


def script_identity(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """What `resume` needs to locate the script and to detect changes."""
    script = script_path(experiment, folder)
    digest = hashlib.sha256(script.read_bytes()).hexdigest() if script.is_file() else None
    return {"folder": str(folder), "path": str(script), "sha256": digest}


def refuse_changes(experiment: Experiment, manifest: Mapping[str, Any], before: Mapping[str, Any], folder: Path) -> None:
    remedy = "Measure the new state as a new experiment: assay run. To continue anyway: assay resume --force."
    problems = []
    if plan_signature(experiment) != manifest["plan_signature"]:
        found = "changes since the record began"
        problems.append(Problem("experiment.toml", found, "the unchanged experiment", remedy))
    then = before.get("script")
    if then is not None and script_identity(experiment, folder)["sha256"] != then["sha256"]:
        found, allowed = f"{then['path']}, changed since the record began", "the unchanged script, so that all launches measure the same"
        problems.append(Problem("workload.script", found, allowed, remedy))
    refuse_any(problems, "the record to resume")


def with_secrets(experiment: Experiment) -> Experiment:
    """The experiment with redacted variables restored from this process's environment."""
    environment = dict(experiment.workload.environment)
    redacted = [name for name, value in environment.items() if REDACTED in value]
    if missing := [name for name in redacted if name not in os.environ]:
        raise EnvironmentLacks(f"the record has no secret value for {', '.join(missing)}. Set it in the environment and resume again.")
    environment |= {name: os.environ[name] for name in redacted}
    return experiment.model_copy(update={"workload": experiment.workload.model_copy(update={"environment": environment})})
