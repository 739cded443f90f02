"""How many answers went to the wrong asker?

cross_talk = answers that contain the nonce of another request of their launch, over all successful launches, those with
faults too (quality.md section 5, step S5).  One is enough to fail: the audit cross_talk does.  An exact count of what was
looked at; it cannot see a mix-up of requests without a nonce (serving.correctness.canaries is their share).
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import exact, no_launch
from assay.frames.record_data import Measured
from assay.frames.serving.answers import strangers
from assay.metrics.base import Metric, Results
from assay.units import COUNT


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The number per configuration."""
    canaries = measured.table("arrivals").filter(pl.col("kind") == "canary")
    launches = measured.table("launches").filter(pl.col("status") == "ok").select("launch", "configuration")
    wrong = strangers(measured.tables).join(launches, on="launch")
    texts = measured.table("requests").filter(pl.col("text").is_not_null()).select("launch").join(launches, on="launch")
    found: dict[str, Value] = {}
    for name in measured.configurations:
        own = launches.filter(pl.col("configuration") == name)
        seen = texts.filter(pl.col("configuration") == name)
        if own.height == 0:
            found[name] = no_launch(name)
        elif canaries.join(own, on="launch", how="semi").height == 0 or seen.height == 0:
            found[name] = NO_CANARIES
        else:
            number = wrong.filter(pl.col("configuration") == name).height
            found[name] = exact(
                float(number),
                unit=COUNT,
                name="cross_talk",
                n_launches=own.height,
                n_trials=seen.height,
                how=f"every answer of {own.height} launches was searched for the nonces of the others",
            )
    return found


NO_CANARIES = Absent(
    reason="not_measured",
    detail="no request carried a nonce, or answers were not kept; give serving.correctness.canaries and client.keep_text",
)


METRIC = Metric(
    name="cross_talk",
    title="Answers to the wrong asker",
    unit=COUNT,
    kind="count",
    better="lower",
    dimension="correctness",
    formula="answers with the nonce of another request",
    compute=compute,
    about=("serving",),
)
