"""Was any training sample used more than once in an epoch?

samples_duplicated = uses beyond the first, most of any epoch (exact; quality.md section 4, layer A).
It sees only ids that the script reports, and cannot tell whether a reported sample was really trained on.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.estimates.over_launches import exact
from assay.frames.record_data import Measured
from assay.frames.training.parallelism import absent
from assay.frames.training.sample_ledger import epochs, no_ledger
from assay.metrics.base import Metric, Results
from assay.units import COUNT


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The worst epoch of each configuration."""
    found: dict[str, Value] = {}
    judged = epochs(measured)
    for name in measured.configurations:
        if (unfit := absent(measured, name, "samples")) is not None:
            found[name] = unfit
            continue
        own = [epoch for epoch in judged if epoch.configuration == name]
        found[name] = (
            no_ledger(measured, name)
            if not own
            else exact(
                float(max(epoch.duplicated for epoch in own)),
                unit=COUNT,
                name="samples_duplicated",
                n_launches=len({epoch.launch for epoch in own}),
                n_trials=sum(epoch.used for epoch in own),
                how=f"exact count over {len(own)} epochs and all ranks",
            )
        )
    return found


METRIC = Metric(
    name="samples_duplicated",
    title="Samples used twice per epoch",
    unit=COUNT,
    kind="count",
    better="lower",
    dimension="correctness",
    formula="uses beyond the first, most of any epoch",
    compute=compute,
)
