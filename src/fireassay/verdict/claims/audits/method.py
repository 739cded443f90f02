"""Was what a claim says timed as it should be: warm, synchronised, with its data, within its objective?"""

from __future__ import annotations

import re

from fireassay.estimates.format import given
from fireassay.spec.claim import Claim, Number, Objective
from fireassay.spec.scores import has_word
from fireassay.verdict.audits.training.timing import SYNCHRONISATION_REMEDY
from fireassay.verdict.claims.claim import ClaimAudits
from fireassay.verdict.claims.claimed_numbers import found, speeds, unsaid
from fireassay.verdict.claims.stated.kinds import is_collective, is_rate, is_serving, is_wait, is_whole_run
from fireassay.verdict.claims.stated.objective import Evidence, evidence, limit_of, limited, same_unit
from fireassay.verdict.types import Finding

AUDITS = ClaimAudits()


@AUDITS.add("warm_up")
def claim_warm_up(said: Claim) -> tuple[Finding, ...]:
    """Numbers that include cold repetitions, and numbers that leave it unstated."""
    cold = [
        found(
            "cold_start",
            "warning",
            number,
            "it includes the first, cold repetitions: compilation, empty caches, first allocation",
            "exclude the warm-up, or claim the time of a whole run from its start and state that",
            "warm_up",
        )
        for number in speeds(said)
        if number.warm_up_excluded is False and not is_whole_run(number)
    ]
    return (
        *cold,
        *unsaid(
            "warm_up_unsaid",
            [number for number in speeds(said) if number.warm_up_excluded is None and not is_whole_run(number)],
            "whether the warm-up was excluded",
            "state warm_up_excluded",
            "warm_up",
        ),
    )


DEVICES = ("gpu", "cuda", "tpu", "h100", "h200", "a100", "b200", "v100", "l40", "mi300", "npu", "rocm")


@AUDITS.add("missing_synchronisation")
def claim_synchronisation(said: Claim) -> tuple[Finding, ...]:
    """Numbers read from an unsynchronised device, and device numbers that leave it unstated."""
    wrong = [
        found(
            "clock_read_early",
            "invalid",
            number,
            "the device was not synchronised when the clock was read",
            SYNCHRONISATION_REMEDY,
            "synchronised",
        )
        for number in speeds(said)
        if number.synchronised is False
    ]
    judged = _on_device(said) and not is_serving(said)  # a client times answers that have arrived: nothing is queued
    silent = [number for number in speeds(said) if number.synchronised is None] if judged else []
    return (
        *wrong,
        *unsaid(
            "synchronisation_unsaid",
            silent,
            "whether the device had finished when the clock was read",
            "state synchronised",
            "synchronised",
        ),
    )


def _on_device(said: Claim) -> bool:
    """True if the claim concerns a device with queued work."""
    sides = (said.conditions.baseline, said.conditions.candidate, *(number.conditions for number in said.number))
    words = " ".join([said.claim.text, *(f"{key} {value}" for side in sides for key, value in side.items())])
    return re.search(rf"(?<![a-wyz])({'|'.join(DEVICES)})", words.casefold()) is not None


@AUDITS.add("data_loading")
def claim_data_loading(said: Claim) -> tuple[Finding, ...]:
    """Numbers that include loading, and numbers that leave it unstated; the time of a whole training includes it."""
    fast = tuple(number for number in speeds(said) if not is_collective(number) and not is_whole_run(number))
    silent = () if is_serving(said) else fast  # requests carry their data
    held = [
        found(
            "data_loading_timed",
            "warning",
            number,
            "data loading was timed with it, so it measures the storage too",
            "time data loading separately (data_time), or state that the claim is about the whole pipeline",
            "data_time",
        )
        for number in fast
        if number.data_loading_timed is True
    ]
    return (
        *held,
        *unsaid(
            "data_loading_unsaid",
            [number for number in silent if number.data_loading_timed is None],
            "whether data loading was timed",
            "state data_loading_timed",
            "data_time",
        ),
    )


@AUDITS.add("silent_slo")
def claim_silent_slo(said: Claim) -> tuple[Finding, ...]:
    """Rates beside an objective that is broken, unstated, or supported by an unsuitable statistic."""
    rates = [number for number in said.number if is_rate(number)]
    if said.slo is None:
        served = any(is_wait(number) for number in said.number) or any(has_word(number.metric, ("goodput",)) for number in rates)
        return (
            unsaid("objective_unsaid", rates, "under which service objective", "add [slo] with objective and met", "goodput")
            if served
            else ()
        )
    about = rates or [number for number in limited(said) if is_wait(number)]
    seen = [(number, evidence(limit_of(said.slo), number)) for number in limited(said) if same_unit(said.slo, number)]
    broken = _broken(said.slo, seen)
    if broken and (rates or said.slo.met is not False):
        return tuple(
            found(
                "objective_not_met",
                "invalid",
                number,
                f"the objective ({said.slo.objective}) was not met: {broken}",
                "report the throughput at which the objective is met (goodput)",
                "goodput",
            )
            for number in about or said.number[:1]
        )
    return _answered(said, said.slo, about, seen)


def _broken(slo: Objective, seen: list[tuple[Number, Evidence]]) -> str:
    """The number that breaks it, or the claim's own statement; if the objective names no percentile, all must break it."""
    bad = [number for number, says in seen if says == "broken"]
    good = [number for number, says in seen if says in ("met", "undecided")]
    if bad and not (good and limit_of(slo).statistic is None):
        return f"{_silent_slo_said(bad[0])}, the limit is {_silent_slo_limit(slo, bad[0])}"
    return "the claim says so (slo.met = false)" if slo.met is False else ""


def _answered(said: Claim, slo: Objective, about: list[Number], seen: list[tuple[Number, Evidence]]) -> tuple[Finding, ...]:
    """Parts of an unbroken objective left open, or covered only by a lower percentile."""
    weaker = [number for number, says in seen if says == "weaker"]
    undecided = [number for number, says in seen if says == "undecided"]
    statistic = limit_of(slo).statistic
    if any(says == "met" for _, says in seen):
        return ()
    if undecided:
        words = f"the interval of {_silent_slo_said(undecided[0])} extends beyond the limit of {_silent_slo_limit(slo, undecided[0])}"
        remedy = "measure more requests until the interval is on one side of the limit"
        return (found("objective_undecided", "note", None, words, remedy, "goodput"),)
    if weaker:
        words = f"the objective is on the {statistic} ({slo.objective}); the claim states only that {_silent_slo_said(weaker[0])}"
        remedy = f"publish the {statistic} of the same launches"
        return (found("objective_answered_by_less", "note" if slo.met else "warning", weaker[0], words, remedy, "goodput", "tail"),)
    if slo.met is not None:
        return ()
    return unsaid("objective_met_unsaid", about or said.number[:1], "whether the objective was met", "state slo.met", "goodput")


def _silent_slo_said(number: Number) -> str:
    return f"{number.label} is {given(number.value)} {number.unit or ''}".rstrip()


def _silent_slo_limit(slo: Objective, number: Number) -> str:
    limit = limit_of(slo)
    return f"{given(limit.value or 0.0)} {limit.unit_name or number.unit or ''}".rstrip()
