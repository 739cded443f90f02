"""What remains of a suspicion after both codes were measured again, interleaved?

Every doubtful row takes the state that the fresh launches give it, with both sentences; the other rows stay. An improvement found
interleaved where a regression was suspected is no regression. Cannot tell: why the earlier session looked different.
"""

from __future__ import annotations

from dataclasses import replace

from fireassay.verdict.checking.types import Check, CheckRow, Confirmation, RowState, concluded


def confirm(first: Check, again: Check, *, everything_in_doubt: bool = False) -> Check:
    """The first check, with every doubtful row replaced by the result of interleaved launches (`again`).

    `everything_in_doubt`: include rows that were inconclusive without a suspicion.
    """

    def doubtful(row: CheckRow) -> bool:
        open_ = everything_in_doubt and row.decides and row.state == "inconclusive" and row.value is not None
        return row.in_doubt or open_

    fresh = {(row.metric, row.configuration): row for row in again.rows}
    rows = tuple(_confirmed(row, fresh.get((row.metric, row.configuration)), again) if doubtful(row) else row for row in first.rows)
    pairs = [(row, fresh.get((row.metric, row.configuration))) for row in first.rows if doubtful(row)]
    states = [_state_again(new) for _, new in pairs]
    outcome: Confirmation = "confirmed" if "regression" in states else "undecided" if "inconclusive" in states else "refuted"
    return concluded(replace(first, rows=rows, confirmation=outcome))


def unconfirmed(first: Check, why: str) -> Check:
    """The first check, with the reason why no interleaved launches were made."""
    return concluded(replace(first, confirmation="unconfirmed", notes=(*first.notes, f"not confirmed: {why}")))


def _state_again(row: CheckRow | None) -> RowState:
    """The state after interleaved launches; an improvement instead of the suspected regression is a pass."""
    if row is None or row.state in ("listed", "nothing_measured"):
        return "inconclusive"
    return "pass" if row.state == "improvement" else row.state


def _confirmed(row: CheckRow, fresh: CheckRow | None, again: Check) -> CheckRow:
    state = _state_again(fresh)
    words = {
        "regression": "confirmed by fresh interleaved launches",
        "pass": "not confirmed: fresh interleaved launches exclude a regression beyond the margin",
        "inconclusive": "neither confirmed nor refuted by fresh interleaved launches",
    }
    seen = f" ({fresh.sentence})" if fresh is not None else f" ({again.sentence})"
    if fresh is None:
        return replace(row, state=state, suspected=False, sentence=f"{row.sentence}; {words[state]}{seen}")
    return replace(fresh, state=state, suspected=False, sentence=f"{words[state]}{seen}; suspected because {row.sentence}")
