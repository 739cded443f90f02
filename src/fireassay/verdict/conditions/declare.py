"""How is a condition of each class declared: identity, hardware, condition, context?

Its name is the key that it is read from, unless it says otherwise: of the experiment for identity and context, else of the environment.
"""

from __future__ import annotations

from typing import Any

from fireassay.verdict.conditions import environment, facts
from fireassay.verdict.conditions.condition import Condition, Read, absolute, relative

SPEC = "experiment.toml"
BEFORE = "environment.before"
IMPORT = "manifest.json foreign"
EVENTS = "table events, kind engine"


def identity(name: str, why: str, read: Read | None = None, source: str = SPEC, **options: Any) -> Condition:
    read = read or facts.of(*name.split("."))
    return Condition(name=name, kind="identity", why=why, read=read, source=source, **options)


def hardware(name: str, why: str, read: Read | None = None, source: str = BEFORE, **options: Any) -> Condition:
    read = read or environment.of(*name.split("."))
    return Condition(name=name, kind="hardware", why=why, read=read, source=source, **options)


def condition(name: str, why: str, read: Read | None = None, source: str = BEFORE, **options: Any) -> Condition:
    read = read or environment.of(*name.split("."))
    return Condition(name=name, kind="condition", why=why, read=read, source=source, **options)


def context(name: str, why: str, read: Read | None = None, source: str = SPEC, **options: Any) -> Condition:
    read = read or facts.of(*name.split("."))
    return Condition(name=name, kind="context", why=why, read=read, source=source, how="recorded only", **options)


def within(share: float) -> dict[str, Any]:
    """Options of sizes that agree within a share of the larger."""
    return {"same": relative(share), "how": f"within {100.0 * share:g} %"}


def apart(most: float) -> dict[str, Any]:
    """Options of numbers that agree if they differ by at most this much."""
    return {"same": absolute(most), "how": f"within {most:g}"}
