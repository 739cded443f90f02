"""How much of the step is communication that no computing hides?

comm_exposed against the step, by whatever method measured it (it stands with the number).  What is waiting for a slower rank is told by
`stragglers`; no network makes it faster.  Cannot tell what contention for processors costs beside.
"""

from __future__ import annotations

from assay.metrics.base import Results
from assay.metrics.estimate import Estimate
from assay.metrics.measured import Measured
from assay.verdict.audits.base import Audit
from assay.verdict.bottlenecks import finding
from assay.verdict.types import Finding

KNOB = (
    "the size of DDP's buckets (bucket_cap_mb), accumulation with no_sync, compression of gradients, more work per worker, or a faster "
    "network; `assay tune` tries them out, `assay comm` says what the network can do"
)


def examine(measured: Measured, results: Results) -> tuple[Finding, ...]:
    """A note per worker count with much exposed communication."""
    return tuple(
        one
        for name in measured.configurations
        for one in finding(
            measured,
            results,
            name,
            part="comm_exposed",
            rule="bottleneck_communication",
            what=_what(results, name),
            knob=KNOB,
        )
    )


def _what(results: Results, name: str) -> str:
    """With what is known of it: how much is hidden, and how much of all of it is waiting for others, which no network makes faster."""
    hidden, total, wait = (results.get(metric, {}).get(name) for metric in ("overlap", "comm_total", "comm_wait"))
    told = [f"{hidden.value:.0%} of all communication is hidden"] if isinstance(hidden, Estimate) else []
    if isinstance(total, Estimate) and isinstance(wait, Estimate) and total.value > 0.0:
        told.append(f"{min(1.0, wait.value / total.value):.0%} of it is waiting for slower ranks")
    words = f" ({', '.join(told)})" if told else ""
    return f"exposed communication{words}"


AUDIT = Audit(
    name="bottleneck_communication", title="communication that nothing hides",
    question="Could a better overlap or a faster network make the steps shorter?", examine=examine, about=("training",),
)  # fmt: skip
