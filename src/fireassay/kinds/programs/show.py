"""Which numbers of a program are shown?  Those of a training, without the ones that need steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.kinds.training.show import answer as answer
from fireassay.kinds.training.show import charts as charts
from fireassay.kinds.training.show import page as page
from fireassay.metrics.carbon import CARBON
from fireassay.metrics.cost import COST, ENERGY
from fireassay.metrics.quality import QUALITY, QUALITY_DIFFERENCE
from fireassay.reports.build_view import KindView
from fireassay.reports.view import View
from fireassay.verdict.judge import Judgement

MISSED: Final = ("work_rate", COST.name, QUALITY.name, QUALITY_DIFFERENCE.name)  # listed as missing if they are


def _fields(view: View, measured: RecordData, judgement: Judgement) -> Mapping[str, Any]:
    """The metrics with a number, and those that a reader would miss."""

    def has_a_number(name: str) -> bool:
        return any(isinstance(value, Estimate) for value in judgement.results[name].values())

    missed = {
        *MISSED,
        *((CARBON.name,) if measured.experiment.carbon is not None else ()),
        *((ENERGY.name,) if "energy" not in measured.experiment.unasked else ()),
    }
    return {"metrics": tuple(row for row in view.metrics if row.name in missed or has_a_number(row.name))}


VIEW = KindView(fields=_fields)
