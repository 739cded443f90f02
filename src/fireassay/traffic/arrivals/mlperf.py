"""Would a run of this experiment be long and large enough for MLPerf?

Decided in advance from the experiment.  The scenarios as arrivals (`fireassay.traffic.arrivals.make`): SingleStream is a closed loop of one
stream.  MultiStream is a closed loop of `samples_per_query` streams whose next requests all wait for the last answer of the query
(`Schedule.together`).  Server is Poisson at the rate.  In Offline everything is due when the measured part begins.  Texts are drawn
without LoadGen's fixed seeds and sets: latencies are comparable with LoadGen's, but are not valid submissions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fireassay.spec.sections.mlperf import Requirements as Requirements
from fireassay.spec.sections.mlperf import requirements as requirements
from fireassay.spec.sections.mlperf import validity as validity

if TYPE_CHECKING:
    from fireassay.spec.sections.serving import Arrivals


def expected_shortfall(arrivals: Arrivals, load: float | None) -> str:
    """Requirements that the run will certainly miss, worded as in `validity`; empty if none, or not an MLPerf scenario.

    The request count of a closed loop is unknown in advance unless `arrivals.requests` sets it.
    """
    required = requirements(arrivals.process)
    if required is None:
        return ""
    requests = arrivals.requests
    if arrivals.process == "offline":  # its duration depends on the engine
        return _unless_met(arrivals.process, required.seconds, 1, requests or 1)
    if arrivals.process == "multi_stream":
        queries = required.queries if requests is None else -(-requests // arrivals.samples_per_query)
        return _unless_met(arrivals.process, arrivals.duration_s, queries, arrivals.samples_per_query)
    expected = required.queries if load is None or arrivals.process != "server" else int(load * arrivals.duration_s)
    return _unless_met(arrivals.process, arrivals.duration_s, expected if requests is None else min(expected, requests), 1)


def _unless_met(process: str, seconds: float, queries: int, samples_per_query: int) -> str:
    verdict = validity(process, seconds, queries, samples_per_query)
    return "" if verdict.endswith("met") else verdict
