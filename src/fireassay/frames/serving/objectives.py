"""Do the requests have objectives, and can they be judged?

What share of the requests met their objectives, per load and launch?
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.spec.plan import Configuration
from fireassay.stats.models.capacity import Point

NO_OBJECTIVES = Absent(
    reason="not_measured",
    detail="the experiment has no objectives for its requests; add serving.objectives, for example ttft_s = 0.5 and tpot_s = 0.05",
)
NEED_CHUNKS = Absent(
    reason="not_applicable",
    detail="serving.objectives needs times of single tokens, but answers were not streamed (serving.stream = false)",
)


def no_objectives(measured: RecordData) -> Absent | None:
    """Why there are no objectives; None if there are."""
    serving = measured.experiment.serving
    if serving is None or not serving.objectives.any:
        return NO_OBJECTIVES
    objectives = serving.objectives
    chunked = (objectives.ttft_s, objectives.ttft_visible_s, objectives.tpot_s, objectives.itl_s)
    if not serving.stream and any(value is not None for value in chunked):
        return NEED_CHUNKS
    return uncounted(measured)


def uncounted(measured: RecordData) -> Absent | None:
    """Why a required time per token is unknown for some answer; None if it is known, or not required.

    An answer of one chunk has no time between tokens, however many it contains; one of several chunks could have any.
    """
    serving = measured.experiment.serving
    if serving is None or (serving.objectives.tpot_s is None and serving.objectives.itl_s is None):
        return None
    open_ = pl.col("counted") & pl.col("ok") & pl.col("tokens").is_null() & (pl.col("text_chunks") > 1)
    unknown = measured.served.requests.filter(open_).height
    if not unknown:
        return None
    return Absent(
        reason="not_measured",
        detail=f"serving.objectives needs a time per token, but the server sent no usage for {count(unknown, 'answers')}; "
        "set the model's tokenizer (serving.tokenizer)",
    )


def load_points(measured: RecordData, configurations: Sequence[Configuration]) -> list[Point]:
    """A point per launch: its load, and how many of its counted requests met every objective."""
    loads = {configuration.name: float(configuration.load) for configuration in configurations if configuration.load is not None}
    rows = measured.counted_requests.filter(pl.col("configuration").is_in(list(loads)))
    per_launch = rows.group_by("launch", "configuration", "block").agg(pl.col("met").sum(), pl.len().alias("total")).sort("launch")
    return [
        Point(load=loads[row["configuration"]], hits=float(row["met"]), total=float(row["total"]), block=row["block"])
        for row in per_launch.to_dicts()
    ]
