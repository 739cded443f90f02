"""Is a published claim sound, and if not, what is the least that must be measured together to make it so?

Every finding names the facts that would settle it (`Finding.needs`). A pitfall that a claim fell into needs a measurement; an open
question can also be settled by a statement. A quantity, measured on both sides in the same launches, gives one or more facts. The
answer is the smallest set of quantities that gives all of them: minimum set cover, solved exactly by enumeration in order of size
(there are few quantities); ties go to the earlier quantities of the catalogue.
Cannot tell: whether the claim is true. A sound claim is credible as far as it was described.

What must an audit of published claims declare?

A file holds a family, `AUDITS`; each member asks one question about a pitfall. Its findings: invalid, fail and warning mean that the claim
fell into the pitfall; a note means that it lacks the information to decide. An audit of records by the same name gives title and question.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from fireassay import catalog
from fireassay.spec.claim import Claim
from fireassay.verdict.audits.audit import Audit
from fireassay.verdict.pitfalls import GRAVE, Pitfall, ordered, pitfall
from fireassay.verdict.types import Finding

ClaimCheck = Callable[[Claim], Iterable[Finding]]
C = TypeVar("C", bound=ClaimCheck)


@dataclass(frozen=True)
class ClaimAudit:
    """An audit of claims: its name, check and question."""

    name: str
    claim: ClaimCheck
    question: str = ""  # empty: as in the audit of records
    title: str = ""  # likewise

    @property
    def called(self) -> str:
        """The pitfall's display name."""
        return self.title or self.name.replace("_", " ")


class ClaimAudits(list[ClaimAudit]):
    """The audits of a file, each declared above the function that makes it."""

    def add(self, name: str, question: str = "", title: str = "") -> Callable[[C], C]:
        """Declare the audit that a function makes."""

        def declare(claim: C) -> C:
            self.append(ClaimAudit(name, claim, question, title))
            return claim

        return declare


Soundness = Literal["sound", "unsound", "not stated"]
MAX_NAMED = 4  # pitfalls in the sentence


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """Something to measure on both sides in the same launches."""

    name: str
    what: str
    how: str  # the assay command or key that measures it
    gives: frozenset[str]  # facts that it provides


@dataclass(frozen=True, kw_only=True)
class Audited:
    """The answer to one claim."""

    status: Soundness
    sentence: str
    pitfalls: tuple[Pitfall, ...]
    quantities: tuple[Quantity, ...]  # the smallest set for what only a measurement can settle
    otherwise: tuple[Quantity, ...]  # further measurements, if open questions can no longer be answered by a statement


def _quantity(name: str, what: str, how: str, *gives: str) -> Quantity:
    return Quantity(name=name, what=what, how=how, gives=frozenset(gives))


_BOTH = ("launch_values", "base_value", "one_configuration", "same_conditions")
QUANTITIES: tuple[Quantity, ...] = (
    _quantity(
        "time of both sides in every launch",
        "the time or rate of baseline and candidate, under the same conditions, in each of at least 5 launches in random order",
        "assay run, with both worker counts in factor.levels and launches.per_configuration = 5",
        *_BOTH,
    ),
    _quantity(
        "time of the strongest baseline in every launch",
        "the same times, with the best program for one worker (the candidate's precision, batch, threads and compilation) as the baseline",
        'assay run with 1 in factor.levels, conditions.base_kind = "best_serial"',
        *_BOTH,
        "strong_base",
    ),
    _quantity(
        "score of every held-out item",
        "the quality of both sides, item by item, in the launches that are timed",
        "probe.examples(ids, scores) in the script, [quality] metric and margin in the experiment",
        "quality",
    ),
    _quantity(
        "time of every step or request",
        "the time of every repetition in order, including the cold ones",
        "probe.steps(loader) in the script: warm-up is detected, and step_time_p99 is refused where trials are too few",
        "warm_up",
        "tail",
        "percentile",
    ),
    _quantity(
        "latency of every request under the load",
        "the latency of each request while throughput is measured, against the objective",
        "assay load URL --rate 5,10 --slo ttft=0.5: every request is recorded and counted against the objective",
        "goodput",
        "tail",
        "percentile",
        "warm_up",
    ),
    _quantity(
        "phases of every step",
        "waiting for data, computing and updating, each timed on a synchronised device",
        "probe.steps(loader) and probe.phase in the script: data_time, and device events where there is a GPU",
        "data_time",
        "synchronised",
        "warm_up",
        "tail",
        "percentile",
    ),
    _quantity(
        "items of every step",
        "the work per step on each side, over all workers",
        "probe.log(items=n) in the script: scaling.mode is checked against it",
        "work",
    ),
    _quantity(
        "time at the predicted number of workers",
        "one more measured point, as far as the claim extends",
        "assay run with that number in factor.levels",
        "measured_there",
    ),
    _quantity(
        "time of every workload on both sides",
        "numerators and denominators instead of their ratios",
        "assay run, one experiment for each workload",
        "numerators",
    ),
    _quantity(
        "counters of the machine in every launch",
        "other programs, steal and throttling during the launches",
        "assay run on Linux: the audit `contention` reads them",
        "counters",
    ),
)


def audit_claim(claim: Claim) -> Audited:
    """All pitfalls of a claim, the verdict in one sentence, and the remedy."""
    audits: Mapping[str, ClaimAudit] = catalog.load_all("verdict.claims.audits")
    of_records: Mapping[str, Audit] = catalog.load_all("verdict.audits")
    pitfalls = ordered([_examined(audit, claim, of_records) for audit in audits.values()])
    findings = [finding for pitfall in pitfalls for finding in pitfall.findings]
    fallen = [finding for finding in findings if finding.severity in GRAVE]
    left = [finding for finding in findings if finding.severity not in GRAVE]
    needed = smallest_set(facts_needed(fallen))
    given = frozenset().union(*(quantity.gives for quantity in needed))
    status = soundness(pitfalls)
    return Audited(
        status=status,
        sentence=_sentence(status, pitfalls),
        pitfalls=pitfalls,
        quantities=needed,
        otherwise=smallest_set(facts_needed(left) - given),
    )


def soundness(pitfalls: Iterable[Pitfall]) -> Soundness:
    """Unsound if it fell into a pitfall; else not stated if any is open; else sound."""
    states = {pitfall.state for pitfall in pitfalls}
    return "unsound" if "fallen into" in states else "not stated" if "not examined" in states else "sound"


def facts_needed(findings: Iterable[Finding]) -> frozenset[str]:
    """Facts that would settle all findings open to measurement."""
    return frozenset(fact for finding in findings for fact in finding.needs)


def smallest_set(facts: frozenset[str], among: tuple[Quantity, ...] = QUANTITIES) -> tuple[Quantity, ...]:
    """The fewest quantities that give all facts; a fact that no quantity gives becomes its own quantity."""
    known = frozenset().union(*(quantity.gives for quantity in among))
    unknown = tuple(_quantity(fact, fact, "measure it in the same launches", fact) for fact in sorted(facts - known))
    needed = facts & known
    useful = [quantity for quantity in among if quantity.gives & needed]
    for size in range(len(useful) + 1):
        for chosen in itertools.combinations(useful, size):
            if needed <= frozenset().union(*(quantity.gives for quantity in chosen)):
                return (*chosen, *unknown)
    return unknown  # unreachable: all useful quantities together give every known fact


def _examined(audit: ClaimAudit, claim: Claim, of_records: Mapping[str, Audit]) -> Pitfall:
    findings = tuple(audit.claim(claim))
    return pitfall(of_records.get(audit.name, audit), findings, "; ".join(finding.evidence for finding in findings))


def _sentence(status: Soundness, pitfalls: tuple[Pitfall, ...]) -> str:
    """The quotable verdict."""
    fallen = [pitfall.title for pitfall in pitfalls if pitfall.state == "fallen into"]
    left = [pitfall.title for pitfall in pitfalls if pitfall.state == "not examined"]
    if status == "unsound":
        return f"Unsound as stated, because of {_named(fallen)}."
    if status == "not stated":
        return f"Not stated: it leaves open {_named(left)}."
    return f"Sound as stated: none of {len(pitfalls)} pitfalls applies."


def _named(titles: list[str]) -> str:
    shown = titles[:MAX_NAMED]
    more = len(titles) - len(shown)
    words = [*shown, *([f"{more} more"] if more else [])]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
