"""Was warm-up recognised, and did every launch reach a steady state?

Each launch's step times are classed flat, warm-up, slow-down or no steady state (methodology 3.5).  Warm-up is left
out of steady-state numbers and stays in the record.  Of a launch without a steady state the later half of its steps
stands for the rest: a stopgap, which this names.
"""

from __future__ import annotations

from collections import defaultdict

from assay.metrics.base import Results
from assay.metrics.format import count
from assay.metrics.measured import Measured
from assay.verdict.audits.base import Audit
from assay.verdict.types import Finding

SHARE_WORTH_NAMING = 0.5  # of a configuration's launches


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration and unwanted class; a note that says how much warm-up was left out."""
    kinds: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for launch, configuration in measured.timed.select("launch", "configuration").iter_rows():
        if launch in measured.steady:
            kinds[configuration][measured.steady[launch].kind].append(launch)
    found = []
    for configuration, launches in kinds.items():
        total = sum(len(members) for members in launches.values())
        for kind in ("no steady state", "slow-down"):
            if len(launches[kind]) > SHARE_WORTH_NAMING * total:
                found.append(_unsteady(measured, configuration, kind, launches[kind], total))
    return tuple(found) + _warm(measured)


def _unsteady(measured: Measured, configuration: str, kind: str, launches: list[int], total: int) -> Finding:
    detail = measured.steady[launches[0]].detail
    return Finding(
        rule=kind.replace(" ", "_").replace("-", "_"), severity="warning", configuration=configuration,
        evidence=f"{len(launches)} of {count(total, 'launches')} show {kind} in their step times ({detail})",
        remedy="run more steps per launch, and look at the step times over the launch for what changes",
    )  # fmt: skip


def _warm(measured: Measured) -> tuple[Finding, ...]:
    warm = [measured.steady[launch].warmup for launch in measured.timed["launch"] if launch in measured.steady]
    if not any(warm):
        return ()
    return (Finding(
        rule="warm_up", severity="note", configuration=None,
        evidence=f"up to {count(max(warm), 'steps')} at the beginning of a launch: warm-up, left out of steady-state numbers",
        remedy="nothing to do; they stay in the record",
    ),)  # fmt: skip


AUDIT = Audit(name="warm_up", question="Was warm-up recognised, and was a steady state reached?", examine=examine)
