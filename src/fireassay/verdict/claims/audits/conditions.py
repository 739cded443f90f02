"""Does a claim say under which conditions its numbers hold, and how sure they are?"""

from __future__ import annotations

import itertools
import math
import re
from typing import Final

from fireassay.estimates.format import count, given
from fireassay.spec.claim import Claim, Interval, Number
from fireassay.verdict.claims.claim import ClaimAudits
from fireassay.verdict.claims.claimed_numbers import found, speeds, unsaid
from fireassay.verdict.claims.stated import kinds
from fireassay.verdict.claims.stated.gains import gain, is_efficiency, same_quantity
from fireassay.verdict.claims.stated.kinds import is_cost, is_energy, is_wait
from fireassay.verdict.types import Finding

AUDITS = ClaimAudits()


# ---- wide interval ----

EQUAL: Final = 0.03  # relative change treated as no change
COMPARES: Final = (
    r"\b(faster|slower|higher|lower|better|worse|more|less|fewer|cheaper|outperform\w*|beats?|improv\w*|reduc\w*|increas\w*)\b"
)
WIDE_INTERVAL_REMEDY: Final = "measure in more launches until the interval decides it, or claim no more than the interval shows"


@AUDITS.add("wide_interval", "Does the published interval support the claim?", title="inconclusive interval")
def claim_wide_interval(said: Claim) -> tuple[Finding, ...]:
    """Intervals that leave the claim undecided.

    An interval wider than its value shows that almost nothing was measured; the interval of a gain that includes "no change" leaves the
    gain open; one that is open on the side that matters bounds nothing; two systems with values inside one another's intervals are not
    distinguished. A negligible change can be shown too: an interval within 3 % of no change supports equality (an equivalence test with
    that margin). Records give every estimate an interval and compare by tests, so this concerns claims.
    """
    findings = [finding for number in said.number if not kinds.is_quality(number) for finding in _undecided(number)]
    return (*findings, *_overlapping(said))


def _undecided(number: Number) -> list[Finding]:
    interval = number.interval
    if interval is None or interval.kind in ("standard_deviation", "range"):
        return []
    if interval.low is None or interval.high is None:
        return _one_sided(number, interval)
    words = _wide(number, interval.low, interval.high) or _no_change(number, interval.low, interval.high)
    if not words:
        return []
    text = f"number.interval is {given(interval.low)} to {given(interval.high)} around {given(number.value)}: {words}"
    return [found("interval_undecided", "warning", number, text, WIDE_INTERVAL_REMEDY, "launch_values")]


def _wide(number: Number, low: float, high: float) -> str:
    """Wider than the value itself; a change in percent is treated as a ratio."""
    changes = (
        [gain(number, end) for end in (low, number.value, high)] if kinds.unit_of(number).kind == "percent" else [low, number.value, high]
    )
    if any(end is None for end in changes):
        return ""
    first, value, last = (end for end in changes if end is not None)
    return "it is wider than the value itself" if abs(last - first) > abs(value) > 0.0 else ""


def _no_change(number: Number, low: float, high: float) -> str:
    """True if a gain's interval includes 1."""
    ends = [end for end in (gain(number, low), gain(number, high)) if end is not None]
    if len(ends) < 2 or is_efficiency(number):
        return ""
    worst, best = min(ends), max(ends)
    if not worst <= 1.0 <= best or (worst >= 1.0 - EQUAL and best <= 1.0 + EQUAL):
        return ""
    return "it includes no change"


def _one_sided(number: Number, interval: Interval) -> list[Finding]:
    """A bound on the irrelevant side: from above for a gain or a rate, from below for a time."""
    better_low = kinds.lower_is_better(number)
    if (interval.high is not None) is better_low:
        return []
    side = "below" if better_low else "above"
    words = f"number.interval bounds {given(number.value)} only from {side}, and the claim is that it is {'low' if better_low else 'high'}"
    return [found("interval_open", "warning", number, words, "publish the other end of the interval as well", "launch_values")]


def _overlapping(said: Claim) -> list[Finding]:
    """Systems ranked in the claim's words although their intervals include one another's values."""
    if not re.search(COMPARES, said.claim.text, flags=re.IGNORECASE):
        return []
    return [
        _not_apart(number, other)
        for number, other in itertools.combinations([n for n in said.number if kinds.is_speed(n) and n.of is not None], 2)
        if number.of != other.of
        and number.workers == other.workers
        and same_quantity(number.model_copy(update={"of": other.of}), other)
        and _holds(number, other)
        and _holds(other, number)
    ]


def _holds(number: Number, other: Number) -> bool:
    interval, factor = number.interval, kinds.unit_of(other).factor / kinds.unit_of(number).factor
    if interval is None or interval.kind != "confidence":
        return False
    low, high = (-math.inf if interval.low is None else interval.low, math.inf if interval.high is None else interval.high)
    apart = abs(number.value - other.value * factor) > EQUAL * 1e-6 * abs(number.value)
    return apart and low <= other.value * factor <= high


def _not_apart(number: Number, other: Number) -> Finding:
    words = f"{number.label} is {given(number.value)}, {other.label} {given(other.value)}, and each lies within the other's interval"
    return found("intervals_overlap", "warning", other, words, WIDE_INTERVAL_REMEDY, "launch_values")


# ---- extrapolation ----

FARTHEST = 2.0  # times the largest measured worker count
MIN_POINTS = 4  # worker counts; two parameters leave two points to test the law


@AUDITS.add("extrapolation", "Does the claim reach beyond what was measured?", title="extrapolation")
def claim_extrapolation(said: Claim) -> tuple[Finding, ...]:
    """Predictions too far out, and predictions with an unstated range.

    A fit to measured worker counts says nothing beyond twice the largest one: Gunther's universal scalability law fitted to the first six
    raytracer points (data of the R package `usl`) predicts a throughput of 147 at 64 workers, where 310 were measured. A line through two
    points always fits. assay's own fits refuse to extrapolate further (`fireassay.stats.models.scaling_laws`), so this concerns claims.
    """
    predicted = said.prediction
    if predicted is None:
        return ()
    remedy = f"measure at {count(predicted.workers, 'workers')}, or claim no more than twice the measured range"
    measured = predicted.measured_up_to or _largest(said, predicted.workers)
    if measured is None:
        words = f"the claim covers {count(predicted.workers, 'workers')} and does not say how many were measured"
        return (found("measured_range_unsaid", "note", None, words, remedy, "measured_there"),)
    far = predicted.workers / measured
    words = f"{count(predicted.workers, 'workers')} are {given(far, 3)} times the {measured} that were measured"
    if far > FARTHEST:
        return (found("extrapolated", "invalid", None, words, remedy, "measured_there"),)
    if predicted.points is not None and predicted.points < MIN_POINTS:
        evidence = f"{words}, and the law is fitted to {count(predicted.points, 'worker counts')}"
        return (found("too_few_points", "warning", None, evidence, remedy, "measured_there"),)
    return ()


def _largest(said: Claim, predicted: int) -> int | None:
    """The largest worker count among the published numbers; None if it reaches the predicted count."""
    counts = [number.workers for number in said.number if number.workers is not None]
    return max(counts) if counts and max(counts) < predicted else None


# ---- quiet machine ----


@AUDITS.add("quiet_machine", "Was the machine dedicated to the experiment?", title="disturbed machine")
def claim_quiet_machine(said: Claim) -> tuple[Finding, ...]:
    """A shared machine, or an unstated one.

    The counterpart of `contention` for claims: a record shows other users of the machine or network in its counters, a claim must state
    them.
    """
    fast = speeds(said)
    if not fast or said.claim.exclusive:
        return ()
    if said.claim.exclusive is False:
        evidence = "others used the machines or the network during the measurement"
        remedy = "measure again on dedicated machines, or record the disturbance and publish it"
        return (found("machine_shared", "warning", None, evidence, remedy, "counters"),)
    return unsaid("machine_unsaid", fast, "whether others used the machines", "state claim.exclusive", "counters")


# ---- cost basis ----

PRICE: Final = r"price|rate|cost|usd|\$|eur|tariff|spot|on[ -]demand|reserved|instance|per[ -]?hour|/h"  # in conditions
METER: Final = r"scope|meter|board|node|wall|plug|rack|pdu|psu|pue|facility|tdp|nvml|rapl|ipmi|system power|gpu power|chip power"
PRICE_IN_WORDS: Final = r"(per|/)\s*([a-z0-9]+[- ])?(h|hr|hours?)\b|\bspot\b|\bon[ -]demand\b|\breserved\b|\bprices?\b"
METER_IN_WORDS: Final = r"\bat the (wall|plug|board|node|rack|socket)\b|\b(board|wall|meter|pue|tdp|nvml|rapl|ipmi|pdu)\b"


@AUDITS.add("cost_basis", "At which price, on which day and with which meter was it calculated?", title="price or meter not stated")
def claim_cost_basis(said: Claim) -> tuple[Finding, ...]:
    """Costs without a price or a day, energies without a meter.

    A cost holds for a price on a day; an energy for the metered scope: board, node, or wall with cooling. A claim that states neither is
    left open. Records store the price and the method of each reading beside the number, so this concerns claims.
    """
    dated = said.claim.as_of is not None
    priced = [n for n in said.number if is_cost(n) and not dated and not _cost_basis_says(said, n, PRICE, PRICE_IN_WORDS)]
    metered = [n for n in said.number if is_energy(n) and not _cost_basis_says(said, n, METER, METER_IN_WORDS)]
    return (
        *unsaid("price_unsaid", priced, "at which price and when", "give claim.date, and the price in the number's conditions"),
        *unsaid(
            "meter_unsaid",
            metered,
            "what the energy covers",
            "state the meter and its scope (board, node, wall, PUE) in the number's conditions",
        ),
    )


def _cost_basis_says(said: Claim, number: Number, words: str, in_text: str) -> bool:
    sides = (said.conditions.baseline, said.conditions.candidate, number.conditions)
    facts = " ".join(f"{key} {value}" for side in sides for key, value in side.items())
    return re.search(words, facts.casefold()) is not None or re.search(in_text, said.claim.text.casefold()) is not None


# ---- load model ----

LOAD_MODEL_CLOSED: Final = r"\bclosed[- _]?loop\b|^closed$"
COUNTED: Final = r"concurrency (of |=)?\s*\d|\d+ (concurrent|clients|users|streams|connections)"
CLIENTS: Final = (
    "concurrency",
    "concurrent",
    "clients",
    "users",
    "virtual_users",
    "max_concurrency",
    "streams",
    "connections",
    "in_flight",
)


@AUDITS.add("load_model", "Was the load independent of the server's speed?", title="closed loop")
def claim_load_model(said: Claim) -> tuple[Finding, ...]:
    """Latencies of a closed loop without its number of clients.

    A closed loop sends its next request once the last is answered: a slow server gets fewer requests, and the waits that users would have
    had are never measured (coordinated omission; Tene, "How not to measure latency", 2013). Its latencies describe a number of clients,
    which must be stated, and no arrival rate. Records of loads know their arrivals, so this concerns closed loops in claims.
    """
    waits = [number for number in said.number if is_wait(number)]
    sides = (said.conditions.baseline, said.conditions.candidate, *(number.conditions for number in said.number))
    facts = [
        (re.sub(r"[\s-]+", "_", key.strip().casefold()), str(value).strip().casefold()) for side in sides for key, value in side.items()
    ]
    words = said.claim.text.casefold()
    closed = any(re.search(LOAD_MODEL_CLOSED, text) for text in (words, *(value for _, value in facts)))
    counted = any(key in CLIENTS for key, _ in facts) or re.search(COUNTED, words) is not None
    if not waits or not closed or counted:
        return ()
    evidence = (
        "the waiting times come from a closed loop, which sends a slow server fewer requests, and its number of clients is not stated"
    )
    remedy = "offer the load at a fixed rate (open loop), or state concurrency in number.conditions and claim the waiting times for it only"
    return (found("closed_loop_without_clients", "warning", waits[0], evidence, remedy, "tail", "goodput"),)
