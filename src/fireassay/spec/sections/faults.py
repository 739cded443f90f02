"""What is broken on purpose, and when?

The section [[faults]].  `Fault` has the keys of every fault.  Keys of one kind are declared in the kind's own file
(`fireassay/faults`), by a model that extends it; the catalog finds the kinds when the first fault is read.  A fault that was read has
the keys of all kinds, as in a stored experiment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, SerializeAsAny, create_model
from pydantic.fields import FieldInfo

from fireassay import catalog
from fireassay.errors import EnvironmentLacks
from fireassay.spec.model import Model, Positive, PositiveSeconds, Seconds, WorkerCounts

DEFAULT_KIND = "kill"


class Fault(Model):
    """Faults to inject, in separate launches that are never timed."""

    kind: str = Field(DEFAULT_KIND, description="The fault: the name of a file in fireassay/faults.")
    levels: WorkerCounts = Field((), description="Worker counts that get one fault launch each. Default: the largest level.")
    after_checkpoints: int | None = Field(
        None,
        ge=0,
        le=1_000_000,
        description="Number of checkpoints that must have been saved before the fault may strike. Default: 1; if no earlier launch "
        "was seen to save one, the fault strikes in the middle of the steps.",
    )
    within_steps: int = Field(
        10, ge=1, le=1_000_000_000, description="The fault strikes at a random step, at most this many steps after that checkpoint."
    )
    at_step: int | None = Field(
        None,
        ge=0,
        le=1_000_000_000,
        description="Training: strike after exactly this step instead; 0: before the first. The two keys above are then ignored.",
    )
    times: int = Field(
        1,
        ge=1,
        le=1000,
        description="Training: number of strikes, one in each of the first incarnations of the workers, at the same step. For faults "
        "after which the workers are restarted.",
    )
    during: Literal["", "checkpoint"] = Field(
        "", description='Training: "checkpoint" strikes while a checkpoint is being saved, the one after after_checkpoints.'
    )
    rank: int | None = Field(None, ge=0, description="Training: the rank that is hit. Default: drawn at random.")
    signal: Literal["KILL", "TERM", "ABRT", "SEGV"] = Field("KILL", description="The signal sent, for kinds that send one.")
    at_s: Seconds = Field(10.0, description="Serving: seconds after the measured part of the load began at which the fault strikes.")
    for_s: Seconds = Field(
        5.0,
        description="Seconds until it is undone, for reversible kinds (a killed replica is then restarted; a killed worker is "
        "restarted by its engine at once).",
    )
    load_s: PositiveSeconds | None = Field(
        None,
        description="Serving: duration of the measured part of its launch, seconds. Default: 20 s beyond the "
        "fault's end, or serving.arrivals.duration_s if that is longer.",
    )
    load: Positive | None = Field(
        None, description="Serving: the load, one of serving.concurrency or serving.rate. Default: the middle one."
    )
    target: str = Field("", description="Serving: the engine that is hit. Default: each engine, in a separate launch.")
    replica: int | None = Field(None, ge=0, description="Serving: the replica that is hit, from 0. Default: drawn at random.")

    @classmethod
    def complete(cls) -> type[Self]:
        """The same model with the keys of every kind."""
        return _with_keys_of(kind_names()) if cls is Fault else cls  # type: ignore[return-value]


def kind_names() -> tuple[str, ...]:
    """The available kinds."""
    return (*catalog.names("faults"), *catalog.third_party("faults"))


def of_kind(name: str) -> dict[str, str]:
    """A raw fault with nothing but its kind."""
    return {"kind": name}


def kind_of(fault: Fault) -> Any:
    """The plug-in (`fireassay.faults.support.base.Fault`) of a fault, or None if there is no such kind."""
    return catalog.load("faults", fault.kind) if fault.kind in kind_names() else None


def own_keys(model: type[Fault]) -> dict[str, FieldInfo]:
    """The keys that a kind adds."""
    return {name: field for name, field in model.model_fields.items() if name not in Fault.model_fields}


@cache
def _with_keys_of(names: tuple[str, ...]) -> type[Fault]:
    """`Fault` with the keys of these kinds: those without needs first, then those that need processes, then a proxy."""
    kinds = sorted((catalog.load("faults", name) for name in names), key=lambda kind: (kind.needs, kind.name))
    declared: dict[str, dict[str, FieldInfo]] = {}
    for kind in kinds:
        for name, field in own_keys(kind.keys).items():
            declared.setdefault(name, {})[kind.name] = field
    fields: dict[str, Any] = {name: _one_of(name, by_kind) for name, by_kind in declared.items()}
    return create_model("Fault", __base__=Fault, __doc__=Fault.__doc__, __module__=__name__, **fields)


def _one_of(key: str, by_kind: Mapping[str, FieldInfo]) -> tuple[Any, FieldInfo]:
    """The type and field of a key declared by one or more kinds. Raises EnvironmentLacks: kinds disagree about its type or default."""
    field = copy(next(iter(by_kind.values())))
    for name, other in by_kind.items():
        if (other.annotation, other.metadata, other.default) != (field.annotation, field.metadata, field.default):
            raise EnvironmentLacks(f"the faults {next(iter(by_kind))} and {name} declare the key {key} differently; rename one of them")
    field.description = " ".join(_sentences(by_kind))
    return field.annotation, field


def _sentences(by_kind: Mapping[str, FieldInfo]) -> Iterator[str]:
    """Sentences on what a key means for which kinds."""
    meanings: dict[str, list[str]] = {}
    for name, field in by_kind.items():
        meanings.setdefault(field.description or "", []).append(name)
    for meaning, names in meanings.items():
        yield f"For kind{'s' if len(names) > 1 else ''} {_row(names)}: {meaning}"


def _row(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _of_any_kind(value: object) -> object:
    """Convert a table, or a fault with the keys of one kind, to a fault with the keys of all."""
    complete = Fault.complete()
    if isinstance(value, Fault) and not isinstance(value, complete):
        value = value.model_dump()
    return complete.model_validate(value) if isinstance(value, Mapping) else value


AnyFault = Annotated[SerializeAsAny[Fault], BeforeValidator(_of_any_kind)]
