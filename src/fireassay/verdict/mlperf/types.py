"""What is the result of a check against MLPerf's rules?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from fireassay.estimates.estimate import Value
from fireassay.printable import some

Status = Literal["pass", "fail", "excused", "unchecked"]
MAX_FOUND: Final = 60  # characters of a found value


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule, what it requires, what was found, and where."""

    rule: str
    required: str
    found: str
    status: Status
    where: str = ""  # file:line
    source: str = ""
    file: str = ""  # "": of all files together


@dataclass(frozen=True, kw_only=True)
class Score:
    """The result that MLPerf would list."""

    title: str
    text: str  # with its unit
    value: float
    unit: str
    estimate: Value | None = None  # with an interval, where runs are repeated


@dataclass(frozen=True, kw_only=True)
class MlperfCheck:
    """The logs of one benchmark, judged."""

    suite: Literal["training", "inference"]
    title: str
    round: str
    division: str
    benchmark: str
    scenario: str = ""
    files: int
    rules: tuple[Rule, ...]
    score: Score | None
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if no rule fails."""
        return not any(rule.status == "fail" for rule in self.rules)

    def of(self, status: Status) -> tuple[Rule, ...]:
        """The rules of a status."""
        return tuple(rule for rule in self.rules if rule.status == status)


def rule(name: str, ok: bool, required: str, found: object, where: str = "", source: str = "", file: str = "") -> Rule:
    """A rule that was checked."""
    return Rule(rule=name, required=required, found=shown(found), status="pass" if ok else "fail", where=where, source=source, file=file)


def unchecked(name: str, required: str, reason: str, source: str = "") -> Rule:
    """A rule that cannot be checked, and why."""
    return Rule(rule=name, required=required, found=reason, status="unchecked", source=source)


def shown(value: object) -> str:
    """A value from a log, in one short line."""
    text = " ".join(str(value).split())
    return text if len(text) <= MAX_FOUND else f"{text[: MAX_FOUND - 4]} ..."


def merged(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """One row for a rule that all files pass or that all excuse alike; each failure separately."""
    groups: dict[tuple[str, Status], list[Rule]] = {}
    for one in rules:
        groups.setdefault((one.rule, one.status), []).append(one)
    return tuple(row for (_, status), group in groups.items() for row in _rows(status, group))


def _rows(status: Status, group: list[Rule]) -> Iterator[Rule]:
    if status == "fail" or len(group) == 1:
        yield from group
        return
    values = list(dict.fromkeys(one.found for one in group))
    found = values[0] if len(values) == 1 else some(values)
    yield replace(group[0], found=f"{shown(found)} ({len(group)} files)", where="" if status == "pass" else group[0].where, file="")
