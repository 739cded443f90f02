"""How is a condition of each class declared: identity, hardware, condition, context?"""

from __future__ import annotations

from fireassay.metrics.metric import EVERYTHING
from fireassay.verdict.conditions.condition import Absence, Condition, Read, Same, equal

SPEC = "experiment.toml"
BEFORE = "environment.before"
IMPORT = "manifest.json foreign"
EVENTS = "table events, kind engine"
PERCENT = "within 5 %"


def identity(
    name: str,
    read: Read,
    why: str,
    source: str,
    *,
    same: Same = equal,
    how: str = "exactly",
    absent: Absence = "differs",
    about: tuple[str, ...] = EVERYTHING,
) -> Condition:
    return Condition(name=name, kind="identity", read=read, why=why, source=source, same=same, how=how, absent=absent, about=about)


def hardware(
    name: str, read: Read, why: str, source: str, *, same: Same = equal, how: str = "exactly", about: tuple[str, ...] = EVERYTHING
) -> Condition:
    return Condition(name=name, kind="hardware", read=read, why=why, source=source, same=same, how=how, about=about)


def condition(
    name: str, read: Read, why: str, source: str, *, same: Same = equal, how: str = "exactly", about: tuple[str, ...] = EVERYTHING
) -> Condition:
    return Condition(name=name, kind="condition", read=read, why=why, source=source, same=same, how=how, about=about)


def context(name: str, read: Read, why: str, source: str, *, about: tuple[str, ...] = EVERYTHING) -> Condition:
    return Condition(name=name, kind="context", read=read, why=why, source=source, same=equal, how="recorded only", about=about)
