"""Records of answers that exist already, made through the runner, for tests of everything that judges them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fireassay.frames.record_data import RecordData, from_record
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping

Row = Mapping[str, Any]


def rows(answers: Sequence[str | None], reference: str = "yes", **more: Sequence[Any]) -> list[dict[str, Any]]:
    """One row for each answer, with ids, and further fields from lists."""
    extra = [{name: values[index] for name, values in more.items()} for index in range(len(answers))]
    return [{"id": index, "answer": answer, "reference": reference, **extra[index]} for index, answer in enumerate(answers)]


def scored(
    folder: Path,
    sides: Mapping[str, Sequence[Row]],
    *,
    margin: float | None = None,
    chance: float | None = None,
    most_flips: float | None = None,
    **evaluation: Any,
) -> RecordData:
    """The record of these files of answers, read back."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, side in sides.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in side))
    data: dict[str, Any] = {
        "name": "answers",
        "workload": {"runner": "answers", "work": "items"},
        "launches": {"per_configuration": 1},
        "noise": {"sentinel_s": 0.0},
        "evaluation": {
            "answers": [{"name": name, "path": f"{name}.jsonl"} for name in sides],
            "metrics": ["exact_match"],
            "fields": {"id": "id", **evaluation.pop("fields", {})},
            **evaluation,
        },
    }
    if margin is not None:
        limits = {"margin": margin, "chance": chance, "max_flip_rate": most_flips}
        data["quality"] = {"metric": "exact_match", **{name: value for name, value in limits.items() if value is not None}}
    return from_record(open_record(run(from_mapping(data), folder=folder, root=folder / "records")))
