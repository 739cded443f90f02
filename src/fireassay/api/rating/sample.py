"""Which items of a record should people label, so that a judge can be held against them?  A random sample, always the same.

The items that every side answered, those with the smallest SHA-256 of seed and id.  A larger sample of the same seed holds a smaller one, so that labels
can be added.  Written as DIR/items.jsonl, as `items` reads it; what is there already is never replaced.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from fireassay.api.rating.items import NAMES
from fireassay.errors import refuse
from fireassay.frames.evaluation.item_scores import answers_of
from fireassay.frames.record_data import RecordData

WHERE: Final = "--record"


def write(measured: RecordData, folder: Path, items: int, seed: int) -> int:
    """Write the sample; returns how many items it has.

    Raises:
        SpecError: the record has no answers, several tasks with equal ids, or the folder has items already that are others.
    """
    sides = {configuration.target or configuration.name: _texts(measured, configuration.name) for configuration in measured.varied}
    common = set.intersection(*(set(texts) for texts in sides.values())) if sides else set()
    if not common:
        raise refuse(WHERE, "a record without an item that every side answered", "an evaluation with answers", source="the record")
    chosen = sorted(common, key=lambda name: sha256(f"{seed}:{name}".encode()).digest())[:items]
    prompts = {name: prompt for texts in sides.values() for name, (prompt, _) in texts.items() if prompt}
    lines = [
        json.dumps(
            {"item": name, "prompt": prompts.get(name, ""), "sides": {side: texts[name][1] for side, texts in sides.items()}},
            ensure_ascii=False,
        )
        for name in chosen
    ]
    _write(folder, "".join(f"{line}\n" for line in lines))
    return len(chosen)


def _texts(measured: RecordData, configuration: str) -> Mapping[str, tuple[str, str]]:
    """item -> its prompt and the first answer."""
    answers = answers_of(measured, configuration)
    if answers["task"].n_unique() > 1:
        allowed = "one task, whose ids are unique"
        raise refuse(WHERE, f"a record of {answers['task'].n_unique()} tasks", allowed, "Evaluate each alone.", source="the record")
    found: dict[str, tuple[str, str]] = {}
    for name, prompt, outcome, text in answers.sort("launch", "repetition").select("item", "prompt", "outcome", "text").iter_rows():
        if outcome == "ok" and text is not None:
            found.setdefault(name, (prompt or "", text))
    return found


def _write(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAMES[0]
    there = next((folder / name for name in NAMES if (folder / name).exists()), None)
    if there is None:
        path.write_text(text, encoding="utf-8")
        return
    kept = there.read_text(encoding="utf-8") if there == path else ""
    if text == kept:
        return
    if kept and text.startswith(kept):  # more of the same sample
        path.write_text(text, encoding="utf-8")
        return
    raise refuse("DIR", f"{there}, with other items", "a folder without items, or with a part of the same sample", "Name another folder.")
