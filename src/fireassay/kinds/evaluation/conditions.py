"""What identifies an evaluation: which items, put how, extracted how, scored how?

Digests are of what was sent and read, never of what was intended: an equal name with other bytes is another task.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from fireassay.frames.evaluation.item_scores import identity as tasks
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.conditions.condition import Condition
from fireassay.verdict.conditions.declare import BEFORE, SPEC, identity

_identity = partial(identity, about=("evaluation",))
STORED: Final = f"{BEFORE} evaluation"


def _tasks(measured: RecordData, _: Results) -> Mapping[str, Any] | None:
    """ "gsm8k.prompts" -> digest, and so on; nested tables are flattened."""
    if measured.experiment.evaluation is None:
        return None
    return {f"{task}.{name}": _plain(value) for task, facts in tasks(measured).items() for name, value in facts.items() if name != "files"}


def _files(measured: RecordData, _: Results) -> Mapping[str, str] | None:
    return {f"{task}.{name}": str(digest) for task, facts in tasks(measured).items() for name, digest in facts.get("files", {}).items()}


def _plain(value: object) -> str | int | float | bool:
    return value if isinstance(value, str | int | float | bool) else json.dumps(value, sort_keys=True)


def _allowed(measured: RecordData, _: Results) -> float | None:
    evaluation = measured.experiment.evaluation
    return None if evaluation is None else evaluation.most_failed


CONDITIONS: Final[tuple[Condition, ...]] = (
    _identity("evaluation.tasks.*", _tasks, "other items, prompts, extraction or scoring give another score", STORED),
    _identity("evaluation.files.*", _files, "an equal name with other content is another task", f"{STORED}, SHA-256", absent="note"),
    _identity("evaluation.most_failed", _allowed, "it decides which records count", SPEC),
)
