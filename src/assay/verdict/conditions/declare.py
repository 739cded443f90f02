"""How is a condition of a record declared, by its class?"""

from __future__ import annotations

from typing import Final

from assay.frames.record_tables import Subject
from assay.metrics.base import EVERYTHING
from assay.verdict.conditions.condition import Absence, Condition, Read, Same, equal

_OF_LOADS = ("serving.", "engine.", "engines.", "target.", "foreign.", "client.")


def _about(name: str) -> tuple[Subject, ...]:
    return ("serving",) if name.startswith(_OF_LOADS) else EVERYTHING


def identity(
    name: str,
    read: Read,
    why: str,
    source: str,
    *,
    same: Same = equal,
    how: str = "exactly",
    absent: Absence = "differs",
    about: tuple[Subject, ...] | None = None,
) -> Condition:
    return Condition(
        name=name, kind="identity", read=read, why=why, source=source, same=same, how=how, absent=absent, about=about or _about(name)
    )


def hardware(name: str, read: Read, why: str, source: str, *, same: Same = equal, how: str = "exactly") -> Condition:
    return Condition(name=name, kind="hardware", read=read, why=why, source=source, same=same, how=how, about=_about(name))


def condition(name: str, read: Read, why: str, source: str, *, same: Same = equal, how: str = "exactly") -> Condition:
    return Condition(name=name, kind="condition", read=read, why=why, source=source, same=same, how=how, about=_about(name))


def context(name: str, read: Read, why: str, source: str) -> Condition:
    return Condition(name=name, kind="context", read=read, why=why, source=source, same=equal, how="recorded only", about=_about(name))


SPEC = "experiment.toml"


BEFORE = "environment.before"


IMPORT = "manifest.json foreign"


EVENTS = "table events, kind engine"


COLLECTIVES: Final[tuple[Subject, ...]] = ("collectives",)


MEMORY: Final = 0.05  # relative distance of two sizes that are one machine: kernels reserve some of it


PERCENT = "within 5 %"
