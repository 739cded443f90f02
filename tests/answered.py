"""Records of answers that exist already, made through the runner, for tests of everything that judges them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl

from fireassay.frames.record_data import RecordData, from_record
from fireassay.record.environment import capture
from fireassay.record.reader import open_record
from fireassay.runners.experiment import run as running
from fireassay.spec.experiment import Quality
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
    with patch.object(running, "capture", lambda *_, **__: machine()):
        return from_record(open_record(running.run(from_mapping(data), folder=folder, root=folder / "records")))


def with_margin(measured: RecordData, margin: float) -> RecordData:
    """The same answers under another margin, which is no condition of how they were scored."""
    quality = Quality(metric="exact_match", margin=margin)
    return replace(measured, experiment=measured.experiment.model_copy(update={"quality": quality}))


@cache
def machine() -> dict[str, Any]:
    """This machine, looked at once, without its hundreds of packages."""
    seen = capture()
    del seen["software"]["packages"]
    return seen


def choices(folder: Path, sides: Mapping[str, Sequence[tuple[float, bool]]], **more: Any) -> RecordData:
    """A record of items of two choices: with which confidence each was chosen, and whether it is right."""
    texts = {name: rows([f"{side} {index}" for index in range(len(items))], **more) for side, (name, items) in enumerate(sides.items())}
    measured = scored(folder, texts, fields={"cluster": "cluster"} if "cluster" in more else {})
    of_text = {str(row["answer"]): item for name, items in sides.items() for row, item in zip(texts[name], items, strict=True)}
    answers = measured.table("answers")
    found = [of_text[text] for text in answers["text"]]
    columns = {"text": [_logprobs(sure) for sure, _ in found], "references": [json.dumps(["0" if right else "1"]) for _, right in found]}
    changed = answers.with_columns(pl.Series(name, values) for name, values in columns.items())
    before = {**measured.before, "evaluation": {"tasks": {"answers": {"method": "loglikelihood", "metrics": {"exact_match": ""}}}}}
    manifest = {**measured.manifest, "environment": {**measured.manifest["environment"], "before": before}}
    return replace(measured, manifest=manifest, tables={**measured.tables, "answers": changed})


def _logprobs(sure: float) -> str:
    """An answer by log probabilities, the first choice chosen."""
    entry = {"tokens": 1, "characters": 1, "bytes": 1, "scored_bytes": 1, "request": 0}
    return json.dumps([{"logprob": math.log(share), **entry} for share in (sure, 1.0 - sure)])
