"""Was anything asked of the requests?  Shared by the metrics that need objectives."""

from __future__ import annotations

from assay.metrics.estimate import Absent
from assay.metrics.measured import Measured

NO_OBJECTIVES = Absent(
    reason="not_measured",
    detail="the experiment asks nothing of its requests; add serving.objectives, for example ttft_s = 0.5 and tpot_s = 0.05",
)
NEED_CHUNKS = Absent(
    reason="not_applicable",
    detail="serving.objectives asks for times of single tokens, and answers were not streamed (serving.stream = false)",
)


def no_objectives(measured: Measured) -> Absent | None:
    """Why there is nothing to meet; None where there is."""
    serving = measured.experiment.serving
    if serving is None or not serving.objectives.any:
        return NO_OBJECTIVES
    asked = serving.objectives
    chunked = (asked.ttft_s, asked.ttft_visible_s, asked.tpot_s, asked.itl_s)
    return NEED_CHUNKS if not serving.stream and any(value is not None for value in chunked) else None
