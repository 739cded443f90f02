"""What is the verdict on a fleet?

FAIL: nodes are to be drained, or links repaired.  INVALID: an audit found the record inadmissible.  INCONCLUSIVE: none was found slow, but a node as slow as
--find might have been missed.  PASS: the fleet is fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fireassay.estimates.format import count, percent
from fireassay.frames.fleet import Fleet, fleet
from fireassay.kinds.fleet.drain import link_name
from fireassay.spec.fleet import fleet_arguments
from fireassay.verdict.judging import Evidence, Judging, forced, nothing_to_pick
from fireassay.verdict.phrases import launch_words
from fireassay.verdict.types import DimensionResult, Recommendation, Status, Verdict

MAX_NAMES: Final = 8


def status(evidence: Evidence, _: tuple[Recommendation, ...] = ()) -> Status:
    """One status for the record."""
    return forced(evidence.findings) or ("INCONCLUSIVE" if fleet(evidence.data).open else "PASS")


def fleet_words(found: Fleet, state: Status) -> str:
    """The verdict in a clause."""
    nodes = count(len(found.nodes), "nodes")
    if state == "FAIL" and (found.drained or found.bad_links):
        links = [link_name(found, link) for link in found.bad_links]
        drain = f"{len(found.drained)} of {nodes} to drain: {_some(found.drained)}" if found.drained else ""
        repair = f"{count(len(links), 'links')} to repair: {_some(links)}" if links else ""
        return "; ".join(filter(None, (drain, repair)))
    if state == "INCONCLUSIVE":
        return f"no slow node found among {nodes}, but {found.open[0]}"
    if not found.tests:
        return f"all {nodes} answered; the ring of all is compared with a history only"
    least = max((result.findable or 1.0 for result in found.tests.values()), default=1.0)
    what = "a node or link" if any(result.links for result in found.tests.values()) else "a node"
    return f"all {nodes} are fit: {what} {percent(least, 2)} slower in any of {count(len(found.tests), 'tests')} would have been found"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")


def _sentence(evidence: Evidence, verdict: Verdict) -> str:
    name = evidence.data.experiment.name
    if verdict.status == "INVALID":
        return f"{name}: INVALID: {next(finding.evidence for finding in evidence.findings if finding.severity == 'invalid')}."
    at_once = "disjoint pairs at once" if fleet_arguments(evidence.data.experiment.workload.arguments).parallel else "one test at a time"
    return f"{name}: {fleet_words(fleet(evidence.data), verdict.status)}. Conditions: {at_once}; {launch_words(evidence.data)}."


def _dimensions(evidence: Evidence) -> Mapping[str, Mapping[str, DimensionResult]]:
    found, state = fleet(evidence.data), status(evidence)
    silent = ", ".join(found.silent)
    return {
        name: {
            "correctness": DimensionResult(status="NOT_MEASURED", sentence="the tests' results are not checked"),
            "performance": DimensionResult(status=state, sentence=fleet_words(found, state)),
            "reliability": DimensionResult(
                status="FAIL" if silent else "PASS", sentence=f"no answer from {silent}" if silent else "every node answered every test"
            ),
            "cost": DimensionResult(status="NOT_MEASURED", sentence="no price was given"),
        }
        for name in evidence.data.configurations
    }


JUDGING = Judging(
    dimensions=_dimensions,
    recommend=nothing_to_pick("a fleet's tests compare nodes, not configurations of a workload"),
    status=status,
    sentence=_sentence,
)
