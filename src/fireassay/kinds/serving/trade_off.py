"""How does the first screen state the throughput under a cap, or the latency at a floor?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, limit_text, show
from fireassay.reports.page import Line
from fireassay.reports.view import View
from fireassay.units import SECONDS
from fireassay.verdict.gates.trade_off import Picked, Question, answers

LABELS: Final = {"throughput": "under cap", "latency": "at floor"}


def of_view(view: View) -> tuple[Picked, ...]:
    """The answers, that of the recommended load first; none without a cap or a floor."""
    if view.measured.experiment.serving is None:
        return ()
    return tuple(sorted(answers(view.measured), key=lambda picked: picked.configuration != view.recommended))


def headline(view: View) -> str:
    """ "p99 e2e at 100 requests/s or more: 420 ms [400, 445] at 16 in flight"; "" without a cap or a floor, or where objectives say more."""
    found = of_view(view)
    return words(view, found[0]) if found and not view.load.limits else ""


def lines(view: View) -> Iterator[Line]:
    """The answers that are not in the headline."""
    said = 0 if view.load.limits else 1
    for picked in of_view(view)[said:]:
        yield Line(label=LABELS[picked.question.sought], text=words(view, picked))


def evidence(view: View) -> str:
    """How certain the winner is."""
    found = of_view(view)
    if not found or found[0].loads < 2:
        return ""
    first = found[0]
    among = "Picked among" if first.value is not None else "Over"
    return f"{among} {count(first.loads, 'loads')}: {100 * first.confidence:.4g} % intervals, which hold {100 * view.measured.confidence:.4g} % together."


def words(view: View, picked: Picked) -> str:
    """One answer in words."""
    group = _group(view, picked)
    question = picked.question
    if picked.value is not None:
        open_ = f"; {count(picked.undecided, 'loads')} undecided" if picked.undecided else ""
        return f"{group}{question.wanted_words} {_limit(question)}: {_shown(picked.value)} at {_load(view, picked.configuration)}{open_}"
    if picked.unknown:
        return f"{group}{question.wanted_words} {_limit(question)}: {picked.unknown}"
    if picked.nearest is None:
        return f"{group}{question.limited_words} was not measured"
    name, value = picked.nearest
    verb = "reaches" if question.side == "at least" else "keeps"
    where = f"{_shown(value)} at {_load(view, name)}"
    limit = (
        f"{_number(question)} {question.limited_words}"
        if question.side == "at least"
        else f"{question.limited_words} ≤ {_number(question)}"
    )
    if value.low <= question.limit <= value.high:
        return f"{group}undecided if a load {verb} {limit}: {where}"
    best = "at most" if question.side == "at least" else "at least"
    return f"{group}no load {verb} {limit}: {best} {where}"


def _limit(question: Question) -> str:
    if question.side == "at least":
        return f"at {_number(question)} {question.limited_words} or more"
    return f"with {question.limited_words} ≤ {_number(question)}"


def _number(question: Question) -> str:
    return given(question.limit) if question.side == "at least" else limit_text(question.limit, SECONDS)


def _shown(value: Estimate) -> str:
    shown = show(value)
    return shown.full.replace("/s", "") if value.unit == "1/s" else shown.full


def _load(view: View, name: str) -> str:
    return next((column.brief for column in view.columns if column.key == name), name)


def _group(view: View, picked: Picked) -> str:
    name = picked.configuration or (picked.nearest[0] if picked.nearest else "")
    group = next((column.group for column in view.columns if column.key == name), "")
    return f"{group}: " if group and len(view.groups) > 1 else ""
