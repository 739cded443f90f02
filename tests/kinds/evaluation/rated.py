"""Records of ratings and of choices, made through the runner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from fireassay.frames.record_data import RecordData, from_record
from fireassay.record.reader import open_record
from fireassay.runners.experiment import run as running
from fireassay.spec.load import from_mapping
from tests.answered import machine


def record(folder: Path, text: str, sides: Sequence[str], form: str, margin: float | None = None, **ratings: Any) -> RecordData:
    """The record of a file of ratings."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ratings.csv").write_text(text)
    data: dict[str, Any] = {
        "name": "ratings",
        "workload": {"runner": "answers", "work": "items"},
        "launches": {"per_configuration": 1},
        "noise": {"sentinel_s": 0.0},
        "evaluation": {"answers": [{"name": side, "path": "ratings.csv"} for side in sides], "ratings": {"form": form, **ratings}},
    }
    if margin is not None:
        data["quality"] = {"metric": "win_rate" if form == "pairs" else "likert", "margin": margin}
    with patch.object(running, "capture", lambda *_, **__: machine()):
        return from_record(open_record(running.run(from_mapping(data), folder=folder, root=folder / "records")))


def likert(values: np.ndarray, names: Sequence[str] = ("a", "b")) -> str:
    """Long rows of values of shape [sides, items, raters]; NaN: not rated."""
    rows = [
        f"i{item},{names[side]},r{rater},{'' if np.isnan(value) else f'{value:g}'}\n"
        for (side, item, rater), value in np.ndenumerate(values)
    ]
    return "item,side,rater,rating\n" + "".join(rows)


def pairs(items: int, raters: int, choice: Callable[[int, int, bool], str]) -> str:
    """Rows of choices between a and b, of which each is shown first in turn; choice(item, rater, whether a is first)."""
    rows = []
    for rater in range(raters):
        for item in range(items):
            first = (item + rater) % 2 == 0
            shown = "a,b" if first else "b,a"
            rows.append(f"i{item},{shown},r{rater},{choice(item, rater, first)}\n")
    return "item,first,second,rater,choice\n" + "".join(rows)
