"""What is kept of a judged record, so that listing and comparing records judge nothing twice?

Verdict, headline and every main metric with its interval, as strict JSON of known keys and types; anything else is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, get_args

from fireassay.estimates.estimate import Estimate
from fireassay.record.untrusted import strict_json
from fireassay.reports.page import Tone

if TYPE_CHECKING:
    from fireassay.frames.record_data import RecordData
    from fireassay.verdict.judge import Judgement

TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {"str": str, "int": int, "float": (int, float)}


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One main metric at one configuration."""

    metric: str
    title: str
    better: str
    configuration: str
    value: Estimate


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A complete record, judged."""

    seal: str
    name: str
    id: str
    created_utc: str
    kind: str
    status: str
    word: str  # of the status, for people
    tone: str
    headline: str
    sentence: str
    work: str  # name of an item, in the plural
    done: int  # launches
    planned: int
    measures: tuple[Measure, ...] = ()


def summarised(measured: RecordData, judgement: Judgement, *, done: int, planned: int) -> Summary:
    """The summary of a complete record."""
    from fireassay.reports.answering import TONES
    from fireassay.reports.words import STATUS_WORDS
    from fireassay.verdict.headline import headline

    manifest, status = measured.manifest, judgement.verdict.status
    return Summary(
        seal=measured.seal,
        name=str(manifest["name"]),
        id=str(manifest["id"]),
        created_utc=str(manifest["created_utc"]),
        kind=measured.kind.name,
        status=status,
        word=STATUS_WORDS[status],
        tone=TONES[status],
        headline=headline(measured, judgement),
        sentence=judgement.verdict.sentence,
        work=measured.experiment.workload.work,
        done=done,
        planned=planned,
        measures=_measures(judgement),
    )


def _measures(judgement: Judgement) -> tuple[Measure, ...]:
    return tuple(
        Measure(metric=name, title=metric.title, better=metric.better, configuration=configuration, value=value)
        for name, metric in judgement.metrics.items()
        if metric.primary
        for configuration, value in judgement.results.get(name, {}).items()
        if isinstance(value, Estimate) and math.isfinite(value.value)
    )


# ---- as JSON ---------------------------------------------------------------------------------------------------------


def to_json(summary: Summary) -> bytes:
    """The summary as JSON; an end of an interval that the data do not bound is null."""
    content = asdict(summary)
    for measure in content["measures"]:
        for end in ("low", "high"):
            if not math.isfinite(measure["value"][end]):
                measure["value"][end] = None
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def from_json(content: bytes) -> Summary:
    """The summary. Raises ValueError unless it has exactly the keys and types of one."""
    found = strict_json.json_of(content)
    if not isinstance(found, dict) or not isinstance(found.get("measures"), list):
        raise ValueError("it is not the summary of a record")
    if found.get("tone") not in get_args(Tone):
        raise ValueError("it has an unknown tone")
    return Summary(**_typed(Summary, found, "measures"), measures=tuple(map(_measure, found["measures"])))


def _measure(found: object) -> Measure:
    if not isinstance(found, dict) or not isinstance(found.get("value"), dict):
        raise ValueError("it holds a metric without a value")
    value: dict[str, Any] = found["value"]
    launches = value.get("launch_values")
    if not isinstance(launches, list) or not all(type(number) in (int, float) for number in launches):
        raise ValueError("it holds a metric without the values of its launches")
    ends = {"low": -math.inf, "high": math.inf}
    bounded = value | {end: infinite for end, infinite in ends.items() if value.get(end) is None}
    estimate = Estimate(**_typed(Estimate, bounded, "launch_values"), launch_values=tuple(map(float, launches)))
    return Measure(**_typed(Measure, found, "value"), value=estimate)


def _typed(cls: type[Any], found: Mapping[str, Any], besides: str) -> dict[str, Any]:
    """The fields of simple types, exactly as declared."""
    declared = {field.name: str(field.type) for field in fields(cls)}
    if found.keys() != declared.keys():
        raise ValueError(f"its keys are not those of a {cls.__name__.lower()}")
    simple = {name: value for name, value in found.items() if name != besides}
    for name, value in simple.items():
        if not isinstance(value, TYPES[declared[name]]) or isinstance(value, bool):
            raise ValueError(f"{name} is of the wrong type")
    return simple
