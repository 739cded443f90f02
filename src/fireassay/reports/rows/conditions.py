"""Under which conditions do the numbers of a record hold?  What was asked for, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from fireassay.estimates.format import count, given, percent
from fireassay.frames.ended_launches import ended_words
from fireassay.frames.record_data import RecordData
from fireassay.reports import load_words
from fireassay.reports.rows import imported
from fireassay.reports.rows.types import Fact
from fireassay.spec.experiment import Experiment
from fireassay.verdict.phrases import launch_words


def conditions(experiment: Experiment, manifest: Mapping[str, Any], measured: RecordData, base: str) -> tuple[Fact, ...]:
    """What was asked for: the conditions without which no number of the report may be quoted."""
    if experiment.serving is not None:
        requested = load_words.conditions(experiment, experiment.serving, manifest, measured)
        words = imported.conditions(requested, measured)
        return tuple(Fact(name=name, text=text) for name, text in words.items())
    launches, quality, prices = experiment.launches, experiment.quality, experiment.prices
    facts = {
        "Workload": " ".join((experiment.workload.script, *experiment.workload.arguments)),
        **({"Asked about": f"{experiment.verdict.words} only"} if experiment.verdict.words else {}),
        "Configurations": ", ".join(str(level) for level in measured.levels) + " workers",
        "Scaling": f"{measured.mode}{' by the recorded work' if experiment.scaling.mode == 'auto' else ''}; relative to {base}",
        "Launches": f"{launch_words(measured)}, seed {launches.seed}{f'; each {ended}' if (ended := ended_words(measured)) else ''}",
        "Intervals": f"{percent(launches.confidence, 4)} confidence; the launch is the unit of analysis",
        "Quality": "not asked for"
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
    if measured.kind.times_calls:
        facts = {**facts, "Launches": _rounds(experiment, measured)}
    if measured.kind.sweeps:
        left_out = ("Scaling", "Quality", "Gates", "Faults")
        facts = {**{name: text for name, text in facts.items() if name not in left_out}, **_of_collectives(experiment, measured)}
    shown = measured.kind.facts or tuple(facts)
    return tuple(Fact(name=name, text=facts[name]) for name in shown)


def _of_collectives(experiment: Experiment, measured: RecordData) -> dict[str, str]:
    """What was timed, and what carried it, in the workers' own words."""
    spec = experiment.collectives_requested
    sizes = spec.every_size
    details = measured.table("events").filter(pl.col("kind") == "engine")["detail"]
    engine = json.loads(details[0]) if len(details) else {}
    words = {"backend": spec.backend, **{key: value for key, value in engine.items() if value is not None}}
    return {
        "Workload": f"{', '.join(spec.operations)} of {spec.dtype}, {count(len(sizes), 'sizes')} from {sizes[0]} to {sizes[-1]} bytes",
        "Calls": f"{spec.warm_up} to warm up; loops of at most {spec.calls} back to back after a barrier, at least {spec.batches}, "
        f"about {given(spec.seconds)} s of each size; the slowest rank; through {given(spec.memory_mib)} MiB of memory",
        "Engine": "; ".join(f"{key} {value}" for key, value in words.items()),
    }


def _rounds(experiment: Experiment, measured: RecordData) -> str:
    """A timing has no seeds and one configuration: how its launches were asked for."""
    words = launch_words(measured).replace(" per configuration in randomised blocks", "")
    timing = experiment.timing
    each = f"{count(timing.trials, 'trials')} each" if timing.trials else f"of at least {given(timing.round_s)} s"
    return f"{words}, {each}, after at least {timing.warm_up} to warm up"


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
    """What is broken, where and when."""
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
