"""How are statements about several configurations grouped?  One sentence with a list of configurations, instead of one sentence each.

Nothing is dropped: whatever differs between configurations (the numbers of a finding) stays, under one heading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fireassay.estimates.format import count
from fireassay.reports.view import Column, FindingRow, GateRow, MetricRow, View
from fireassay.reports.words import WHOLE
from fireassay.verdict.types import Status


@dataclass(frozen=True, kw_only=True)
class Told:
    """A sentence and the configurations for which it holds, in words."""

    where: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class FindingGroup:
    """Findings of one rule with one remedy."""

    rule: str
    severity: str
    remedy: str
    told: tuple[Told, ...]


@dataclass(frozen=True, kw_only=True)
class GateGroup:
    """The results of one gate with the same status."""

    gate: str
    status: Status
    word: str
    told: tuple[Told, ...]


def findings(view: View) -> tuple[FindingGroup, ...]:
    """The findings in their order, each rule once per severity and remedy."""
    groups: dict[tuple[str, str, str], dict[str, list[FindingRow]]] = {}
    for row in view.findings:
        groups.setdefault((row.severity, row.rule, row.remedy), {}).setdefault(row.evidence, []).append(row)
    return tuple(
        FindingGroup(
            rule=rule,
            severity=severity,
            remedy=remedy,
            told=tuple(
                Told(where=places(view, [row.configuration or WHOLE for row in rows]), sentence=evidence)
                for evidence, rows in by_evidence.items()
            ),
        )
        for (severity, rule, remedy), by_evidence in groups.items()
    )


def gates(view: View) -> tuple[GateGroup, ...]:
    """The gates in their order, each once per status."""
    groups: dict[tuple[str, Status, str], dict[str, list[GateRow]]] = {}
    for row in view.gates:
        groups.setdefault((row.gate, row.status, row.word), {}).setdefault(row.sentence, []).append(row)
    return tuple(
        GateGroup(
            gate=gate,
            status=status,
            word=word,
            told=tuple(
                Told(where=places(view, [row.configuration for row in rows]), sentence=sentence) for sentence, rows in by_sentence.items()
            ),
        )
        for (gate, status, word), by_sentence in groups.items()
    )


def costs(view: View) -> tuple[str, ...]:
    """The cost of the instrument, or for a load of its client; equal costs of several configurations once."""
    by_text: dict[str, list[str]] = {}
    for label, shown in view.overhead:
        by_text.setdefault(shown.full, []).append(label)
    keys = {column.label: column.key for column in view.columns}
    return tuple(
        f"{places(view, [keys[label] for label in labels]) if all(label in keys for label in labels) else ', '.join(labels)} {text}"
        for text, labels in by_text.items()
    )


def absences(view: View, rows: Iterable[MetricRow]) -> tuple[str, ...]:
    """Why numbers are missing: one line for all metrics missing at the same configurations for the same reason.

    If reasons differ only in their numbers, the first serves as an example.
    """
    merged: dict[tuple[str, str, str], list[str]] = {}
    examples: dict[tuple[str, str, str], str] = {}
    for row in rows:
        for text, notes in _missing(row).items():
            where = places(view, [key for keys in notes.values() for key in keys])
            note, keys = next(iter(notes.items()))
            several = (text, where, "" if len(notes) > 1 else note)
            merged.setdefault(several, []).append(row.title)
            examples.setdefault(several, note if len(notes) == 1 else f"{row.title}, {view.label(keys[0])}: {note}")
    return tuple(
        f"{'; '.join(titles)}, {text} ({where}){': ' if note else ', for example '}{examples[text, where, note]}"
        for (text, where, note), titles in merged.items()
    )


def _missing(row: MetricRow) -> dict[str, dict[str, list[str]]]:
    """Text shown instead of a number -> reason -> configurations."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for key, shown in row.cells.items():
        if not shown.measured:
            reasons.setdefault(shown.text, {}).setdefault(shown.note, []).append(key)
    return reasons


def places(view: View, keys: Sequence[str]) -> str:
    """Configurations in a few words: "all 6 configurations", "a: 4, 8 req/s; b: 16 req/s", or their labels."""
    columns = [column for column in view.columns if column.key in keys]
    others = [view.label(key) for key in keys if all(key != column.key for column in columns)]
    if columns and len(columns) == len(view.columns) > 2:
        return "; ".join((*others, f"all {count(len(columns), 'configurations')}"))
    groups: dict[str, list[Column]] = {}
    for column in columns:
        groups.setdefault(column.group, []).append(column)
    by_loads: dict[str, list[str]] = {}  # loads -> engines and scenarios with these loads
    for group, members in groups.items():
        by_loads.setdefault(_loads(members), []).append(group)
    everywhere = len(groups) == len(view.groups) > 2
    return "; ".join((*others, *(_at(loads, members, everywhere and len(by_loads) == 1) for loads, members in by_loads.items())))


def _at(loads: str, groups: Sequence[str], everywhere: bool) -> str:
    if everywhere:
        return f"each at {loads}"
    named = " and ".join(group for group in groups if group)
    return f"{named}: {loads}" if named else loads


def _loads(columns: Sequence[Column]) -> str:
    """The loads of a group: "4, 8 req/s", "2 and 4 workers"; else the labels."""
    if not columns[0].brief:
        plain = all(column.label == count(column.workers, "workers") for column in columns)
        if len(columns) > 1 and plain:
            *most, largest = (f"{column.workers:,}" for column in columns)
            return f"{', '.join(most)} and {largest} workers"
        return ", ".join(column.label for column in columns)
    *rest, last = (column.brief for column in columns)
    return ", ".join((*(brief.partition(" ")[0] for brief in rest), last))
