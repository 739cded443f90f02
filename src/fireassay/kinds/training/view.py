"""What does the view of a training show in addition to that of every record?"""

from __future__ import annotations

from fireassay.reports.series.training import of_training
from fireassay.reports.view import KindView

VIEW = KindView(fields=lambda view, measured, judgement: {"series": of_training(view.series, measured, judgement.results)})
