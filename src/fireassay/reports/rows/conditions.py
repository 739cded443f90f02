"""Under which requested conditions do the numbers of a record hold, in words?"""

from __future__ import annotations

from typing import Any

from fireassay.estimates.format import count, given, percent
from fireassay.frames.ended_launches import ended_words
from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Experiment
from fireassay.verdict.phrases import launch_words


def requested(measured: RecordData, base: str) -> dict[str, str]:
    """The conditions without which no number of a launched workload may be quoted; `base`: label of the base configuration."""
    experiment, manifest = measured.experiment, measured.manifest
    launches, quality, prices = experiment.launches, experiment.quality, experiment.prices
    return {
        "Workload": " ".join((experiment.workload.script, *experiment.workload.arguments)),
        **({"Requested dimensions": f"{experiment.verdict.words} only"} if experiment.verdict.words else {}),
        "Configurations": ", ".join(str(level) for level in measured.levels) + " workers",
        "Scaling": f"{measured.mode}{' by the recorded work' if experiment.scaling.mode == 'auto' else ''}; relative to {base}",
        "Launches": f"{launch_words(measured)}, seed {launches.seed}{f'; each {ended}' if (ended := ended_words(measured)) else ''}",
        "Intervals": f"{percent(launches.confidence, 4)} confidence; the {measured.kind.unit} is the unit of analysis",
        "Quality": "not requested"
        if quality is None
        else (f"{quality.metric}, {quality.direction} is better; held if it loses less than {given(quality.margin)}"),
        "Gates": _gates(experiment),
        "Prices": "none given"
        if prices is None
        else (f"${given(prices.usd_per_worker_hour)} per worker-hour ({prices.as_of.isoformat()}, {prices.source})"),
        "Energy": experiment.energy.source,
        **({"Folder": "a fresh copy of the working folder for each launch"} if experiment.workload.fresh_folder else {}),
        "Faults": "; ".join(_fault(fault, measured) for fault in experiment.faults) or "none",
        "Record": f"{manifest.get('id', 'unnamed')}, {measured.state}, {measured.seal_words}",
        "Made": f"{manifest.get('created_utc', 'unknown time')} by assay {manifest.get('assay_version', '?')}",
    }


def _gates(experiment: Experiment) -> str:
    gates = experiment.gates
    limits = (
        ("efficiency ≥ ", gates.efficiency, ""),
        ("wall time ≤ ", gates.deadline_s, " s"),
        ("cost of a run ≤ $", gates.budget_usd, ""),
        ("admissible at ", gates.required_workers, " workers"),
    )
    return ", ".join(f"{text}{given(value)}{unit}" for text, value, unit in limits if value is not None) or "none"


def _fault(fault: Any, measured: RecordData) -> str:
    """The fault, its rank and its time."""
    levels = ", ".join(str(level) for level in fault.levels) or str(max(measured.levels))
    sent = {"kill": f" (SIG{fault.signal})", "slow": f" (to {percent(fault.share)} of a processor)"}.get(fault.kind, "")
    if fault.kind == "throttle":
        sent = f" ({fault.interface}, to {given(fault.rate_mbit)} Mbit/s)"
    where = f"{levels} workers" if fault.rank is None else f"rank {fault.rank} of {levels} workers"
    when = f"within {count(fault.within_steps, 'steps')} of a checkpoint"
    if fault.during:
        when = f"while a {fault.during} is being saved"
    elif fault.at_step is not None:
        when = f"after step {fault.at_step}" if fault.at_step else "before the first step"
    lasting = f", for {given(fault.for_s)} s" if fault.kind != "kill" else ""
    again = f", {fault.times} times" if fault.times > 1 else ""
    return f"{fault.kind}{sent} at {where}, {when}{lasting}{again}"
