"""What is kept of a gate, and how did the gated number develop from commit to commit on each machine?

One JSON object a line (`assay-history/1`), which a stranger may have written: numbers must be finite, texts short.  Values of two machines
are never in one series: where a hardware condition of the catalogue differs, by its own tolerance, another series begins.  So it does where
the workload differs.  A gate that is not comparable, or measured nothing, is kept and belongs to no series.
Cannot tell a machine whose conditions agree from the same one; the digest identifies the record, and only the record proves the numbers.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from fireassay.errors import RecordError
from fireassay.estimates.estimate import Bounded, Estimate
from fireassay.estimates.format import count
from fireassay.metrics.metric import Better
from fireassay.printable import some
from fireassay.record.untrusted.paths import json_of
from fireassay.stats.comparing.between_records import level
from fireassay.stats.comparing.comparison import Scale
from fireassay.verdict.checking.history import History, Point, tested
from fireassay.verdict.checking.types import Check
from fireassay.verdict.comparison.groups import launch_values
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.conditions.catalogue import COMMON
from fireassay.verdict.conditions.environment import seen

SCHEMA: Final = "assay-history/1"
DIGEST: Final = 12  # digits
MAX_TEXT: Final = 500
MAX_VALUES: Final = 1000  # of launches
NO_EVIDENCE: Final = ("NOT COMPARABLE", "NOTHING MEASURED")
Text = Annotated[str, Field(max_length=MAX_TEXT)]
Hexadecimal = Annotated[str, Field(pattern="^[0-9a-f]{0,64}$")]
Reading = Annotated[str, Field(max_length=MAX_TEXT)] | int | float | bool | list[str | int | float] | None
HARDWARE: Final = tuple(one for one in COMMON if one.kind == "hardware")


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One line: a verdict, the number of the change that it is about with its interval, and where it comes from. None: no number, or no bound."""

    created_utc: Text
    verdict: Text  # PASS, FAIL, INCONCLUSIVE, IMPROVEMENT, or one of `NO_EVIDENCE`
    sentence: Text
    name: Text  # of the experiment
    workload: Hexadecimal  # digest of what was run
    metric: Text
    title: Text
    unit: Text
    better: Better
    configuration: Text
    value: float | None
    low: float | None
    high: float | None
    confidence: float | None
    launch_values: Annotated[tuple[float, ...], Field(max_length=MAX_VALUES)] = ()
    change: float | None = None  # against the base: a ratio, or a difference where values may be 0
    change_low: float | None = None
    change_high: float | None = None
    base: Hexadecimal  # commits; empty if not known
    commit: Hexadecimal
    digest: Hexadecimal  # of the change's record, SHA-256
    base_digest: Hexadecimal
    machine: Annotated[dict[Text, Reading], Field(max_length=MAX_VALUES)]  # condition -> reading

    @property
    def decides(self) -> bool:
        """Whether the gate could decide anything."""
        return self.verdict.partition(",")[0] not in NO_EVIDENCE


# ---- one line --------------------------------------------------------------------------------------------------------


def kept(check: Check, word: str, sentence: str, base: Side, change: Side) -> Kept:
    """What is kept of a gate; `word`, `sentence`: its verdict as shown."""
    row = next((row for row in check.rows if row.primary), None)
    value = row.value if row is not None and isinstance(row.value, Estimate) else None
    difference = row.difference if row is not None else None
    measured = change.measured
    workload = measured.experiment.workload
    what = [workload.runner, workload.script, *workload.arguments, workload.steps]
    return Kept(
        created_utc=str(measured.manifest.get("created_utc", "")),
        verdict=word,
        sentence=sentence[:MAX_TEXT],
        name=measured.experiment.name.removesuffix("-change"),
        workload=hashlib.sha256(json.dumps(what).encode()).hexdigest()[:DIGEST],
        metric=row.metric if row is not None else "",
        title=row.title if row is not None else "",
        unit=value.unit if value is not None else "",
        better=row.better if row is not None else "neither",
        configuration=row.configuration if row is not None else "",
        value=_finite(value, "value"),
        low=_finite(value, "low"),
        high=_finite(value, "high"),
        confidence=value.confidence if value is not None else None,
        launch_values=launch_values(value)[:MAX_VALUES] if value is not None else (),
        change=_finite(difference, "value"),
        change_low=_finite(difference, "low"),
        change_high=_finite(difference, "high"),
        base=str(seen(base.measured, "workload", "git", "commit") or ""),
        commit=str(seen(measured, "workload", "git", "commit") or ""),
        digest=measured.seal,
        base_digest=base.measured.seal,
        machine={field: value for one in HARDWARE for field, value in one.fields(measured, change.judgement.results).items()},
    )


def _finite(bounded: Bounded | None, name: Literal["value", "low", "high"]) -> float | None:
    number: float = getattr(bounded, name, math.nan)
    return number if math.isfinite(number) else None


LINE: Final = TypeAdapter(Kept)


def line(one: Kept) -> str:
    """The line of a file, without its end."""
    return json.dumps({"schema": SCHEMA, **asdict(one)}, allow_nan=False)


def read(text: bytes, where: str) -> list[Kept]:
    """The lines of a file. Raises RecordError: one is not as above; the message names it."""
    found = []
    for number, one in enumerate(text.splitlines(), start=1):
        if not one.strip():
            continue
        try:
            fields = json_of(one)
            if not isinstance(fields, dict) or fields.pop("schema", None) != SCHEMA:
                raise ValueError(f"it is no object with schema {SCHEMA}")
            found.append(LINE.validate_python(fields))
        except ValueError as error:
            raise RecordError(
                f"{where}, line {number} is not of a kept gate: {_why(error)}. Remove the line, or keep the history elsewhere."
            ) from None
    return found


def _why(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:3])


# ---- the series ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Trend:
    """The series of a history, and what of it is in none."""

    histories: tuple[History, ...]
    notes: tuple[str, ...]


def trend(lines: Sequence[Kept]) -> Trend:
    """A series per workload, metric, configuration and machine, each in the order of time; a record that was kept twice counts once."""
    ordered = sorted({one.digest or id(one): one for one in lines}.values(), key=lambda one: one.created_utc)
    admissible = [one for one in ordered if one.decides and one.value is not None and one.launch_values]
    machines: list[Kept] = []  # the first gate of each
    series: dict[tuple[str, str, str, str, str, int], list[Kept]] = {}
    for one in admissible:
        at = next((number for number, first in enumerate(machines) if not differing(first, one)), len(machines))
        if at == len(machines):
            machines.append(one)
        series.setdefault((one.name, one.workload, one.metric, one.unit, one.configuration, at), []).append(one)
    workloads = Counter(name for name, _ in {key[:2] for key in series})
    found = [_history(own, _title(own[0], key[-1], machines, workloads[key[0]])) for key, own in series.items()]
    return Trend(histories=tested(found), notes=tuple(_notes(len(ordered) - len(admissible), machines)))


def differing(a: Kept, b: Kept) -> list[str]:
    """The hardware conditions in which two machines differ; one that either did not record is no difference."""
    return [
        field
        for field in a.machine.keys() & b.machine.keys()
        for one in HARDWARE
        if (field.startswith(one.family) if one.family else field == one.name) and not one.same(a.machine[field], b.machine[field])
    ]


def _title(first: Kept, at: int, machines: Sequence[Kept], workloads: int) -> str:
    workload = f", workload {first.workload}" if workloads > 1 else ""
    return f"{first.name}{workload}, {first.title.lower()}, machine {at + 1} ({_machine(machines[at])})"


def _history(lines: Sequence[Kept], title: str) -> History:
    first = lines[0]
    scale: Scale = "ratio" if min(min(one.launch_values) for one in lines) > 0.0 else "difference"
    return History(
        metric=first.metric,
        title=title,
        unit=first.unit,
        better=first.better,
        configuration=first.configuration,
        scale=scale,
        points=tuple(
            Point(label=_label(one), created_utc=one.created_utc, value=_estimate(one), level=level(one.launch_values, scale))
            for one in lines
        ),
    )


def _label(one: Kept) -> str:
    return f"{one.commit[:10] or 'no commit'} {one.verdict}, sha256 {one.digest[:DIGEST]}"


def _machine(one: Kept) -> str:
    processors = one.machine.get("cpu.usable")
    models = one.machine.get("gpu.models")
    words = (*(models if isinstance(models, list) else ()), one.machine.get("cpu.model"), f"{processors} processors" if processors else "")
    return ", ".join(str(word) for word in words if word) or "not described"


def _estimate(one: Kept) -> Estimate:
    assert one.value is not None
    return Estimate(
        value=one.value,
        low=-math.inf if one.low is None else one.low,
        high=math.inf if one.high is None else one.high,
        unit=one.unit,
        confidence=one.confidence or 0.95,
        n_launches=len(one.launch_values),
        n_trials=len(one.launch_values),
        method="as kept",
        signature="",
        launch_values=one.launch_values,
    )


def _notes(left: int, machines: Sequence[Kept]) -> Iterator[str]:
    if left:
        yield f"{count(left, 'gates')} without an admissible number: in no series"
    for number, (before, after) in enumerate(pairwise(machines), start=2):
        fields = sorted(differing(before, after))
        yield f"machine {number} differs from machine {number - 1} in {some(fields)}: their values are not compared"
