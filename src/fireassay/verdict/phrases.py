"""How are launches, the machine and a number described in a sentence?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, count, duration, given, show, with_interval
from fireassay.frames.record_data import RecordData


def launch_words(measured: RecordData) -> str:
    """Launches and data: those requested; for an adaptive run those made, and why it stopped."""
    return f"{_launches(measured)}{_data(measured)}"


def _data(measured: RecordData) -> str:
    stated, digests = measured.experiment.data, measured.before.get("data")
    if stated is None:
        return ""
    found = f" ({'; '.join(map(str, digests))})" if isinstance(digests, list) else ""
    split = f", split {stated.split}" if stated.split else ""
    return f", data {stated.version}{found}{split}" if stated.version else f", data{found}{split}"


def _launches(measured: RecordData) -> str:
    launches = measured.experiment.launches
    if measured.manifest.get("observed"):
        return f"up to {count(launches.per_configuration, 'launches')} per configuration, observed in the order of the job's own starts"
    if launches.until_decided:
        return f"{decided_words(measured)}, in randomised rounds, with intervals at {given(100 * measured.confidence)} % for {_looks(measured)}"
    if launches.precision is None:
        return f"{count(launches.per_configuration, 'launches')} per configuration in randomised rounds"
    total = count(len(set(measured.timed["block"].to_list())), "launches")
    wanted = f"±{given(100 * launches.precision)} %"
    ended = {
        "precision": f"until every primary interval was within {wanted}",
        "decided": "until the comparison in turn was decided",
        "at_most": f"the maximum allowed; {wanted} was not reached everywhere",
        "budget": f"ended by limits.experiment_timeout_s; {wanted} was not reached everywhere",
    }.get(str(measured.manifest.get("looks_ended", "")), f"to be added until every primary interval is within {wanted}")
    return f"{total} per configuration in randomised rounds ({ended}; {_looks(measured)}, compensated by intervals at {given(100 * measured.confidence)} %)"


def _looks(measured: RecordData) -> str:
    return f"{len(measured.looks)} interim {'analysis' if len(measured.looks) == 1 else 'analyses'}"


def decided_words(measured: RecordData) -> str:
    """ "decided after 4 of at most 20 launches", of a training whose launches end with the answer."""
    launches = len(set(measured.timed["block"].to_list()))
    ended = str(measured.manifest.get("looks_ended", ""))
    why = {"budget": f" (the budget of {duration(measured.experiment.launches.budget_s or 0.0)} is spent)"}.get(ended, "")
    return f"{'decided' if ended == 'decided' else 'undecided'} after {launches} of at most {measured.experiment.blocks} launches{why}"


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


ALWAYS: Final = ("sealed", "launches", "foreign", "looks", "cherry_picked")  # need totals only
OF_THE_CLIENT: Final = "another program sent this load, and its client is unknown"
OF_THE_MACHINE: Final = "another program made these measurements, and the machine was not monitored"
OF_TIMES: Final = "the imported file does not say when each request was sent"
OF_DUE: Final = "the imported file does not say when requests were due, only when they were sent"
TOTALS: Final = "the imported file holds totals only, no requests"


def unexamined(measured: RecordData, audits: Collection[str]) -> Mapping[str, str]:
    """Audit -> why it cannot run on this record; empty for our own records."""
    foreign = measured.foreign
    if foreign is None:
        return {}
    if measured.kind.sweeps or measured.kind.times_calls:
        return {name: OF_THE_MACHINE for name in audits if name == "contention"}
    if not foreign.get("requests"):
        return {name: TOTALS for name in audits if name not in ALWAYS}
    reasons = {
        "client_ceiling": OF_THE_CLIENT,
        "transport": OF_THE_CLIENT,
        "contention": OF_THE_MACHINE,
        "mlperf": "MLPerf's rules apply to its own load generator and to loads that follow them",
    }
    if foreign.get("clock") != "scheduled":
        reasons["send_lag"] = OF_DUE
    if measured.timeless:
        reasons |= dict.fromkeys(("stall", "littles_law", "send_lag"), OF_TIMES)
    return {name: why for name, why in reasons.items() if name in audits}


def origin(measured: RecordData) -> str:
    """Ending of a sentence on an imported record: the tool, and where its latencies begin. Empty for our own records."""
    foreign = measured.foreign
    if foreign is None:
        return ""
    start = "when a request was due" if foreign.get("clock") == "scheduled" else "when a request was sent, not when it was due"
    content = f"latencies start {start}" if foreign.get("requests") else "the file holds totals only"
    return f" Imported from {titled(foreign)}, not measured by assay: {content}; anything the file does not state is unknown."


def more_launches(measured: RecordData, enough: int) -> str:
    """What to do about too few launches."""
    if measured.foreign is not None:
        return f"import the files of {enough} runs or more together"
    return f"run with launches.per_configuration = {enough} or more"


def titled(foreign: Mapping[str, Any]) -> str:
    """ "vLLM bench serve 0.11"."""
    return " ".join(str(word) for word in (foreign.get("title"), foreign.get("version")) if word)
