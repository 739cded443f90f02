"""Records of a shell script that is given its number of workers, and their judgements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fireassay.frames.record_data import from_record
from fireassay.record.reader import Record, open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping
from fireassay.verdict.judge import Judgement, judge

WRITES = 'echo "$1" > "$2/out"'


def made(folder: Path, script: str, *arguments: str, launches: int = 1, levels: tuple[int, ...] = (1, 2), **sections: Any) -> Record:
    """The record of a shell script that is given its number of workers."""
    job = folder / "job.sh"
    job.write_text(f"#!/bin/sh\nset -eu\n{script}\n")
    job.chmod(0o755)
    workload = {"runner": "program", "script": "./job.sh", "arguments": list(arguments), **sections.pop("workload", {})}
    asked = {
        "name": "job",
        "workload": workload,
        "factor": {"levels": list(levels)},
        "launches": {"per_configuration": launches},
        "noise": {"sentinel_s": 0.0},
        "limits": {"grace_s": 0.5},
        **sections,
    }
    return open_record(run(from_mapping(asked), root=folder / "records", folder=folder))


def judged(folder: Path, script: str, *arguments: str, launches: int = 3, **sections: Any) -> Judgement:
    return judge(from_record(made(folder, script, *arguments, launches=launches, **sections)))


def correctness(judgement: Judgement, workers: int = 2) -> tuple[str, str]:
    found = judgement.verdict.dimensions[f"workers={workers}"]["correctness"]
    return found.status, found.sentence
