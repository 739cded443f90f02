"""What identifies an evaluation: which items, put how, extracted how, scored how?

Digests are of what was sent and read, never of what was intended: an equal name with other items is another task, and the same items in
other bytes (order of keys, line ends) are the same.  How many requests are in flight changes no request, so it is no condition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from fireassay.frames.evaluation.item_scores import identity as tasks
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.conditions.condition import Condition
from fireassay.verdict.conditions.declare import BEFORE, SPEC, context, identity

_identity = partial(identity, about=("evaluation",))
STORED: Final = f"{BEFORE} evaluation"


def _tasks(measured: RecordData, _: Results) -> Mapping[str, Any] | None:
    """ "gsm8k.prompts" -> digest, "gsm8k.metrics.rouge_l.stem" -> "no", and so on: every part is a field."""
    if measured.experiment.evaluation is None:
        return None
    return {
        f"{task}.{name}": value
        for task, facts in tasks(measured).items()
        for fact, found in facts.items()
        if fact != "files"
        for name, value in (_scores(found) if fact == "metrics" else _flat(fact, found))
    }


def _scores(signatures: object) -> Iterator[tuple[str, Any]]:
    """The scores, the deciding one first, and the parts of their signatures."""
    if not isinstance(signatures, Mapping):
        yield "metrics", _plain(signatures)
        return
    yield "metrics", ", ".join(signatures)
    for name, signature in signatures.items():
        yield from ((f"metrics.{name}.{part}", value) for part, value in _parts(str(signature)).items())


def _parts(signature: str) -> Mapping[str, str]:
    """ "metric:rouge_l|impl:rouge-score@0.1.2|stem:no" -> {"impl": "rouge-score@0.1.2", "stem": "no"}."""
    parts: dict[str, str] = {}
    for part in signature.split("|"):
        name, _, value = part.partition(":")
        if name != "metric":
            parts[name] = f"{parts[name]}|{value}" if name in parts else value
    return parts or {"signature": signature}


def _flat(name: str, value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    else:
        yield name, "none" if value is None else _plain(value)


def _files(measured: RecordData, _: Results) -> Mapping[str, str] | None:
    return {f"{task}.{name}": str(digest) for task, facts in tasks(measured).items() for name, digest in facts.get("files", {}).items()}


def _stop_sent(measured: RecordData, _: Results) -> Mapping[str, str] | None:
    evaluation = measured.before.get("evaluation")
    sent = evaluation.get("stop_sent") if isinstance(evaluation, Mapping) else None
    return {name: json.dumps(stops, ensure_ascii=False) for name, stops in sent.items()} if isinstance(sent, Mapping) else None


def _replies(measured: RecordData, _: Results) -> str | None:
    """The digest of what the judge replied."""
    noted = measured.before.get("judge")
    return str(noted.get("replies")) if isinstance(noted, Mapping) and noted.get("replies") else None


def _plain(value: object) -> str | int | float | bool:
    return value if isinstance(value, str | int | float | bool) else json.dumps(value, sort_keys=True)


def _seed(measured: RecordData, _: Results) -> int | str | None:
    """The seed of the requests, which engines only read where they sample."""
    serving = measured.experiment.serving
    if measured.experiment.evaluation is None or serving is None:
        return None
    return measured.experiment.launches.seed if serving.temperature > 0.0 else "greedy"


def _allowed(measured: RecordData, _: Results) -> float | None:
    evaluation = measured.experiment.evaluation
    return None if evaluation is None else evaluation.most_failed


def _own(measured: RecordData, _: Results) -> bool | None:
    evaluation = measured.experiment.evaluation
    return None if evaluation is None else evaluation.own_references


def _steps(measured: RecordData, _: Results) -> str | None:
    """What a step is, and how an engine gets it; the numbers that are compared are configurations, or change no answer."""
    evaluation = measured.experiment.evaluation
    if evaluation is None:
        return None
    steps = evaluation.steps
    if not steps.levels or steps.what == "samples":  # one sample is the default
        return "none"
    return f"{steps.what}, up to {steps.most}: {steps.again}" if steps.what == "turns" else f"{steps.what}: {steps.field}"


CONDITIONS: Final[tuple[Condition, ...]] = (
    _identity("evaluation.tasks.*", "other items, prompts, extraction or scoring give another score", _tasks, STORED),
    context(
        "evaluation.files.*",
        "other bytes may hold the same items in another form, and other answers: the items are compared by their own digests",
        _files,
        f"{STORED}, SHA-256",
        about=("evaluation",),
    ),
    context(
        "evaluation.stop_sent.*",
        "an engine that stops there saves tokens and time; answers are cut there in any case, so no score moves",
        _stop_sent,
        STORED,
        about=("evaluation",),
    ),
    context(
        "evaluation.judge.replies",
        "a judge may say something else of the same answers on another day; who judges, and by what, is in the signature of its score",
        _replies,
        f"{BEFORE} judge, SHA-256",
        about=("evaluation",),
    ),
    _identity(
        "evaluation.seed", "another seed draws other answers", _seed, f"{SPEC}; only where the temperature is above 0", absent="note"
    ),
    _identity("evaluation.steps", "an answer after more turns, or with another budget, is another answer", _steps),
    _identity("evaluation.own_references", "agreement with a side is no score of right answers", _own),
    _identity("evaluation.most_failed", "it decides which records count", _allowed),
)
