"""Records whose wall times follow a law of scaling, for the tests of the metrics that fit it."""

from __future__ import annotations

from fireassay.estimates.estimate import Value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import ALL, Metric
from fireassay.spec.experiment import Scaling
from tests.handmade import Handmade

LUCK = (0.998, 1.0, 1.002)  # of the launches of a block, by turns: what the blocks do not explain


def usl_record(
    levels: tuple[int, ...], *, alpha: float, beta: float, blocks: int = 3, luck: tuple[float, ...] = LUCK, mode: str = "strong"
) -> RecordData:
    """Wall times of 1000 s of work by the USL (per worker's work in weak scaling); block b is (1 + b) times as slow."""
    made = Handmade(levels=levels, blocks=blocks, scaling=Scaling.model_validate({"mode": mode}))
    for block in range(blocks):
        for place, n in enumerate(levels):
            speedup = n / (1 + alpha * (n - 1) + beta * n * (n - 1))
            work = 1000.0 * (n if mode == "weak" else 1)
            made.launch(workers=n, block=block, wall_s=(1 + block) * luck[(block + place) % len(luck)] * work / speedup)
    return made.measured()


def only(metric: Metric, measured: RecordData) -> Value:
    """The metric's one value of the whole experiment."""
    found = metric.compute(measured, {})
    assert list(found) == [ALL]
    return found[ALL]
