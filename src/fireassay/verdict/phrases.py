"""How are launches, the machine and a number described in a sentence?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, count, given, show, with_interval
from fireassay.frames.record_data import RecordData


def launch_words(measured: RecordData) -> str:
    """Launches requested; for an adaptive run those made, and why it stopped."""
    launches = measured.experiment.launches
    if launches.precision is None:
        return f"{count(launches.per_configuration, 'launches')} per configuration in randomised blocks"
    total = count(len(set(measured.timed["block"].to_list())), "launches")
    wanted = f"±{given(100 * launches.precision)} %"
    ended = {
        "precision": f"until every primary interval was within {wanted}",
        "at_most": f"the maximum allowed; {wanted} was not reached everywhere",
        "budget": f"ended by limits.experiment_timeout_s; {wanted} was not reached everywhere",
    }.get(str(measured.manifest.get("looks_ended", "")), f"to be added until every primary interval is within {wanted}")
    analyses = f"{len(measured.looks)} interim {'analysis' if len(measured.looks) == 1 else 'analyses'}"
    return f"{total} per configuration in randomised blocks ({ended}; {analyses}, compensated by intervals at {given(100 * measured.confidence)} %)"


def machine_words(before: Mapping[str, Any]) -> str:
    """CPU model and count, if the environment names them."""
    cpu = before.get("cpu") or {}
    model, usable = cpu.get("model"), cpu.get("usable")
    cores = usable.get("count") if isinstance(usable, Mapping) else None
    words = [model] if isinstance(model, str) else []
    words += [count(cores, "usable cores")] if isinstance(cores, int) else []
    return f", on {', '.join(words)}" if words else ""


def in_words(value: Value, unit: str = "", scale: Scale | None = None) -> str:
    """A number, its interval and its unit: "3.58 [3.50, 3.66] times"; empty if there is no number."""
    if not isinstance(value, Estimate):
        return ""
    shown = show(value, scale)
    after = shown.scale.after
    bare, unit = shown.text.removesuffix(after), f" {unit or after.strip()}".rstrip()
    if not shown.interval.startswith("["):
        return with_interval(f"{bare}{unit}", shown.interval)
    ends, _, caution = shown.interval.partition("]")
    return f"{bare} {ends}]{unit}{caution}"
