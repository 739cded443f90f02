"""When does a gate look at its pairs, and what decides after a suspicion?"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.api.gating import MAX_PAIRS, PAIRS, Looks, _disturbed, prepared
from fireassay.api.timing import experiment
from fireassay.spec.experiment import Experiment


class Clock:
    """Advances by a step at every look."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def asked(pairs: int | None = None) -> Experiment:
    return prepared(experiment("sleep", ["1"], runner="command", name="sleep", sections={}), 0.05, pairs)


def looked(
    monkeypatch: pytest.MonkeyPatch, states: dict[int, str], *, budget_s: float, pair_s: float, pairs: int | None = None
) -> list[tuple[int, str]]:
    """The looks of a gate whose pairs take so long, with the reason why each ended it."""
    clock = Clock()
    looks = Looks(experiment=asked(pairs), primary=None, budget_s=budget_s, now=clock)
    found: list[tuple[int, str]] = []
    for made in range(1, MAX_PAIRS + 1):
        clock.s += pair_s
        due = next(look for look in looks.due(looks.experiment) if look >= made)
        if made != due and made != looks.experiment.blocks:
            continue
        state = states.get(made, "inconclusive")
        monkeypatch.setattr(Looks, "_state", lambda *_, state=state: (state, state))
        look = looks.look([Path("a"), Path("b")], made)
        found.append((made, look.ended))
        if look.enough or made == looks.experiment.blocks:
            break
    return found


def test_looks_are_few_until_the_last_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    found = looked(monkeypatch, {}, budget_s=1e9, pair_s=1.0)
    assert found == [(6, ""), (12, ""), (18, ""), (27, ""), (41, ""), (60, "")]


def test_a_decision_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked(monkeypatch, {12: "pass"}, budget_s=1e9, pair_s=1.0) == [(6, ""), (12, "decided")]


def test_the_last_look_comes_when_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked(monkeypatch, {}, budget_s=20.0, pair_s=1.0) == [(6, ""), (12, ""), (18, "budget")]
    assert looked(monkeypatch, {}, budget_s=1.0, pair_s=1.0) == [(6, "budget")]


def test_a_fixed_number_of_pairs_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked(monkeypatch, {}, budget_s=1.0, pair_s=1.0, pairs=9) == [(9, "")]


def test_the_margin_is_also_the_smallest_effect_of_interest() -> None:
    found = asked()
    assert (found.comparison.equivalence, found.comparison.smallest_effect, found.blocks) == (0.05, 0.05, MAX_PAIRS)
    assert found.launches.per_configuration == PAIRS
    assert asked(9).blocks == 9


def test_both_sides_disturbed_alike_are_one_warning_with_the_larger_share() -> None:
    def side(*findings: tuple[str, str, str]) -> Any:
        made = [SimpleNamespace(rule=rule, severity=severity, evidence=words) for rule, severity, words in findings]
        return SimpleNamespace(judgement=SimpleNamespace(verdict=SimpleNamespace(findings=made)))

    base = side(("foreign_load", "warning", "other programs used up to 90.5 % of the processors; 3 launches"))
    change = side(
        ("foreign_load", "warning", "other programs used up to 12 % of the processors; 1 launch"),
        ("steal", "note", "taken"),
        ("drift", "warning", "slower"),
    )
    assert _disturbed((base, change)) == ("other programs used up to 90.5 % of the processors", "slower")
