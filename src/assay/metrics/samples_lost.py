"""Was every training sample used?

samples_lost = ids of the data set that no rank used, most of any complete epoch (exact; quality.md section 4, layer A).
Fewer than a batch, and as many as one worker leaves out of every whole epoch of full batches, are no loss: a loader drops what fills
no batch.
It sees only ids that the script reports, and cannot tell whether a reported sample was really trained on.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import exact
from assay.frames.ended_launches import not_to_its_end
from assay.frames.record_data import Measured
from assay.frames.training.parallelism import absent
from assay.frames.training.sample_ledger import NO_WHOLE_EPOCH, Epoch, epochs, no_ledger
from assay.metrics.base import Metric, Results
from assay.units import COUNT


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The worst complete epoch of each configuration."""
    found: dict[str, Value] = {}
    judged = epochs(measured)
    for name in measured.configurations:
        if (unfit := absent(measured, name, "samples")) is not None:
            found[name] = unfit
            continue
        every = [epoch for epoch in judged if epoch.configuration == name]
        own = [epoch for epoch in every if not epoch.cut_short]
        found[name] = (
            _nothing_whole(measured, name, every)
            if not own
            else exact(
                float(max(epoch.lost for epoch in own)),
                unit=COUNT,
                name="samples_lost",
                n_launches=len({epoch.launch for epoch in own}),
                n_trials=sum(epoch.used for epoch in own),
                how=f"exact count over {len(own)} complete epochs and all ranks{_dropped(own)}",
            )
        )
    return found


def _nothing_whole(measured: Measured, name: str, every: list[Epoch]) -> Absent:
    if not every:
        return no_ledger(measured, name)
    return not_to_its_end(measured, name, "no epoch is whole, so nothing can be said about lost samples") or NO_WHOLE_EPOCH


def _dropped(own: list[Epoch]) -> str:
    most = max(epoch.dropped for epoch in own)
    return f", beside {most} that fill no batch of one worker either" if most else ""


METRIC = Metric(
    name="samples_lost",
    title="Samples lost per epoch",
    unit=COUNT,
    kind="count",
    better="lower",
    dimension="correctness",
    formula="ids of the data set that no rank used, most of any complete epoch",
    compute=compute,
)
