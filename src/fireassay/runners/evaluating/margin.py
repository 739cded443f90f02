"""Can a score lose as much as the margin allows?  If not, quality is held whatever is answered."""

from __future__ import annotations

from fireassay.errors import refuse
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.spec.experiment import Experiment


def check(experiment: Experiment, metric: TextMetric) -> None:
    """Check the margin against the score that decides.

    Raises:
        SpecError: the margin is as wide as the score's whole scale.
    """
    lowest, highest = metric.scale
    if experiment.quality is None or experiment.quality.margin < highest - lowest:
        return
    allowed = f"less than {highest - lowest:g}: {metric.title} goes from {lowest:g} to {highest:g}"
    fix = f"Quality would be held whatever is answered. A loss of two points is {(highest - lowest) / 50:g}."
    raise refuse("quality.margin", f"{experiment.quality.margin:g}", allowed, fix, source="the evaluation")
