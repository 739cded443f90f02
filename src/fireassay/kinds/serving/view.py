"""What does the view of a load show in addition to that of every record?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Shown, show
from fireassay.frames.record_data import RecordData
from fireassay.kinds.serving import imported, words
from fireassay.metrics.serving.latency import SEND_LAG
from fireassay.reports.rows import serving as load
from fireassay.reports.rows.types import Column, View
from fireassay.reports.view import QUALITY, KindView
from fireassay.spec.plan import Configuration, targets_of
from fireassay.spec.sections.serving import Serving
from fireassay.verdict.judge import Judgement

if TYPE_CHECKING:
    from fireassay.verdict.comparison.a_or_b import AOrB


def _serving(measured: RecordData) -> Serving:
    assert measured.experiment.serving is not None
    return measured.experiment.serving


def _columns(measured: RecordData) -> tuple[Column, ...]:
    return tuple(_column(_serving(measured), configuration) for configuration in measured.varied)


def _column(serving: Serving, configuration: Configuration) -> Column:
    """A load is called "8 in flight" or "5 req/s", after its engine and scenario if there are several."""
    group, load = words.group_of(serving, configuration), words.load_of(serving, configuration)
    return Column(
        key=configuration.name,
        label=f"{group}, {load}" if group else load,
        workers=configuration.workers,
        engine=configuration.target,
        scenario=configuration.scenario,
        load=configuration.load,
        group=group,
        brief=load,
    )


def _conditions(measured: RecordData, _: str) -> Mapping[str, str]:
    return imported.conditions(words.conditions(measured), measured)


def _fields(view: View, measured: RecordData, judgement: Judgement) -> Mapping[str, Any]:
    known = replace(load.build(measured), rivals=_rivals(measured, judgement))
    requested = measured.experiment.quality is not None
    tallies = ((row, known.tallies.get(row.number)) for row in view.launches)
    return {
        "metrics": tuple(replace(row, primary=row.primary and (requested or row.name not in QUALITY)) for row in view.metrics),
        "launches": tuple(replace(row, due=tally.due, answered=tally.answered) if tally else row for row, tally in tallies),
        "overhead": _send_lag(view),
        "foreign": (*view.foreign, *imported.facts(measured, judgement.results)),
        "serving": known,
        "load_word": "concurrency" if _serving(measured).concurrency else "rate",
    }


def _rivals(measured: RecordData, judgement: Judgement) -> AOrB | None:
    """The comparison of two engines, imported only for such records."""
    if len(targets_of(_serving(measured))) != 2:
        return None
    from fireassay.verdict.comparison.a_or_b import a_or_b

    return a_or_b(measured, judgement)


def _send_lag(view: View) -> tuple[tuple[str, Shown], ...]:
    """A client's cost is late sending: shown for the worst load."""
    row = view.metric(SEND_LAG.name)
    cells = {} if row is None else row.cells
    known = [(shown.value.value, key) for key, shown in cells.items() if isinstance(shown.value, Estimate)]
    if not known:
        missing = Absent(reason="insufficient", detail="no load has enough requests for a p99 of their send lag")
        return (("send lag, p99", next(iter(cells.values())) if len(cells) == 1 else show(missing)),)
    worst = max(known)[1]
    return ((f"send lag, p99, at its worst ({view.label(worst)})", cells[worst]),)


VIEW = KindView(columns=_columns, conditions=_conditions, fields=_fields)
