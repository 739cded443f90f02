"""How is the occasion of two measurements worded, and what does it leave open?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fireassay.estimates.format import count, percent
from fireassay.printable import shell_word
from fireassay.stats.comparing.between_records import LEAST_RECORDS
from fireassay.verdict.comparison.comparability import ALIASES
from fireassay.verdict.comparison.groups import Group
from fireassay.verdict.comparison.sessions import Found
from fireassay.verdict.comparison.types import Occasion

TWO_SESSIONS: Final = "between these two sessions"
SUSPECTED: Final = "the launches differ, but variation between the two sessions may explain it"
CODE: Final = frozenset(name for name, meant in ALIASES.items() if meant == ALIASES["code"])
_OCCASIONS: Final = {"history": TWO_SESSIONS, "assumed": TWO_SESSIONS, "alternating": "in alternating sittings"}


def occasion_of(found: Found, baseline: Group, side: Group, varying: Sequence[str]) -> Occasion:
    """When the two were measured, in words."""
    return Occasion(
        evidence=found.evidence,
        words=occasion(found),
        allowance=allowance(found),
        launches=found.launches,
        way_on=way_on(found, baseline, side, varying),
    )


def occasion(found: Found | None) -> str:
    """When both were measured, unless interleaved: "between these two sessions"; else ""."""
    return "" if found is None else _OCCASIONS.get(found.evidence, "")


def allowance(found: Found | None) -> str:
    """The allowance for sessions in the interval: "with 15 % assumed between sessions"; else ""."""
    if found is None or not found.apart:
        return ""
    if found.days is None:
        return f"with {percent(found.assumed, 12)} assumed between sessions"
    sessions = count(found.days.records, "other sessions")
    if found.difference.scale == "difference":
        return f"with the variation between {sessions}"
    return f"with the {percent(found.days.deviation, way='up')} variation between {sessions}"


def way_on(found: Found | None, baseline: Group, side: Group, varying: Sequence[str]) -> str:
    """What would decide; "" if both were interleaved."""
    if found is None or not found.apart:
        return ""
    history = f" or provide {LEAST_RECORDS} or more comparable sessions (--history)" if found.days is None else ""
    return f"to decide, interleave both ({_in_turn(baseline, side, varying)}){history}"


def _in_turn(baseline: Group, side: Group, varying: Sequence[str]) -> str:
    """How to measure both in one session."""
    measured = side.measured
    if measured.experiment.workload.runner == "command":
        return "assay time -- FIRST --- SECOND"
    if measured.foreign is not None:
        return "in one session of the program that measured them"
    if set(varying) <= CODE:  # both code versions run with the record's settings
        labels = (side.label, baseline.label)
        record, other = labels if not any(" " in label for label in labels) else ("RECORD", "BASELINE")
        return f"assay check {shell_word(record)} --against {shell_word(other)} --confirm always"
    return measured.kind.interleaving
