"""What did a judge say of each answer, and why?  A pure fold of the table `replies`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fireassay.frames.record_data import RecordData

THING = ["task", "item", "repetition", "side", "against", "key"]


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """One of one answer, or of a pair in one order."""

    task: str
    item: str
    repetition: int
    side: str  # of a pair the one shown first
    against: str | None  # the one shown second; None: judged alone
    value: float | None  # the rating, or of a pair 1: the first won, 0.5: tie, 0: it lost; None: NO_ANSWER
    reason: str  # the judge's own words, at most 300 characters; empty: it gave none

    @property
    def words(self) -> str:
        """ "b: 4, clear and right"; of a pair "b before a: first, it is shorter"."""
        who = f"{self.side} before {self.against}" if self.against is not None else self.side
        if self.value is None:
            return f"{who}: NO_ANSWER"
        said = {1.0: "first", 0.0: "second"}.get(self.value, "tie") if self.against is not None else f"{self.value:g}"
        return f"{who}: {said}, {self.reason}" if self.reason else f"{who}: {said}"


def judgements(measured: RecordData) -> tuple[Judgement, ...]:
    """All of them, by task and item, each once: the launch during which it was asked need not be one that counts."""
    return measured.once("judgements", _judgements)


def _judgements(measured: RecordData) -> tuple[Judgement, ...]:
    rows = measured.table("replies").sort(*THING, "launch").unique(THING, keep="first", maintain_order=True)
    return tuple(
        Judgement(
            task=row["task"],
            item=row["item"],
            repetition=row["repetition"],
            side=row["side"],
            against=row["against"],
            value=row["value"],
            reason=row["reason"],
        )
        for row in rows.iter_rows(named=True)
    )


def said_of(measured: RecordData, configuration: str) -> Mapping[tuple[str, str], str]:
    """(task, item) -> what the judge said of the first answer of a configuration; of pairs both orders, nothing of the first side."""
    sides = {one.name: one.target for one in measured.varied}
    side, base = sides.get(configuration, ""), sides.get(measured.base, "")

    def fold(data: RecordData) -> Mapping[tuple[str, str], str]:
        found: dict[tuple[str, str], dict[tuple[str, str | None], str]] = {}
        for one in judgements(data):
            judged = one.side if one.against is None or one.side != base else one.against
            if judged == side and one.repetition == 0:
                found.setdefault((one.task, one.item), {}).setdefault((one.side, one.against), one.words)
        return {key: "\n".join(words.values()) for key, words in found.items()}

    return measured.once(f"said of {configuration}", fold)
