"""What do the streams of a closed loop send?

Each stream sends its next request when the previous one has ended.  Request j of stream s has number j * streams + s: the sending order
if all took equally long.  A stream runs one conversation after another; users are streams with think time between conversations as well
as between turns.

How many a stream will send depends on the engine, so more are scheduled than any engine can answer: 5000 per second per stream, 20,000
per second in total, and a million per launch.  Beyond that `arrivals.requests` must be set, which is then exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from fireassay.traffic.arrivals import sessions
from fireassay.traffic.arrivals.draws import NS, Ints, exponential, horizon_ns, source
from fireassay.traffic.arrivals.schedule import NONE, Schedule, chosen, replaced, rows

if TYPE_CHECKING:
    from fireassay.spec.sections.serving import Arrivals, Serving

PER_STREAM: Final = 5000.0  # requests per second that no stream reaches
IN_ALL: Final = 20_000.0
MOST: Final = 1_000_000


def count(arrivals: Arrivals, streams: int) -> int:
    """Requests to schedule for this many streams."""
    if arrivals.requests is not None:
        return arrivals.requests
    seconds = horizon_ns(arrivals) / NS
    expected = int(seconds * min(PER_STREAM * streams, IN_ALL)) + 1
    return max(min(expected, MOST), 2 * streams)


def closed(serving: Serving, streams: int, seed: int) -> Schedule:
    """Requests of this many streams, conversation after conversation without pauses between them."""
    load = _streams(serving, streams)
    return _possible(sessions.paused(load, serving.prompts, seed), serving.arrivals, streams)


def users(serving: Serving, streams: int, seed: int) -> Schedule:
    """Requests of this many users. At the start each user is thinking, as in steady state."""
    think_s = serving.prompts.think_s
    first_ns = np.rint(exponential(source(seed, "users"), streams) * think_s * NS).astype(np.int64)
    load = _streams(serving, streams, first_ns, always_sessions=True)
    return _possible(sessions.paused(load, serving.prompts, seed, think_s), serving.arrivals, streams)


def queries(arrivals: Arrivals) -> Schedule:
    """MLPerf's MultiStream: one query of several requests at a time."""
    together = arrivals.samples_per_query
    n = count(arrivals, together)
    numbers = np.arange(n, dtype=np.int64)
    load = rows(n, stream=numbers % together, due_ns=np.where(numbers < together, 0, NONE))
    return replace(load, together=together)


def _streams(serving: Serving, streams: int, first_ns: Ints | None = None, *, always_sessions: bool = False) -> Schedule:
    n = count(serving.arrivals, streams)
    numbers = np.arange(n, dtype=np.int64)
    stream, position = numbers % streams, numbers // streams
    starts_ns = np.zeros(streams, dtype=np.int64) if first_ns is None else first_ns
    load = rows(n, stream=stream, due_ns=np.where(position == 0, starts_ns[stream], NONE))
    steps = sessions.length(serving.prompts)
    if steps == 1 and not always_sessions:
        return load
    return replaced(load, session=position // steps * streams + stream, turn=position % steps)


def _possible(load: Schedule, arrivals: Arrivals, streams: int) -> Schedule:
    """Drop requests that cannot become due in time, by the pauses before them alone."""
    if arrivals.requests is not None or not (load.pause_ns.any() or load.due_ns.max(initial=0)):
        return load
    rounds = -(-len(load) // streams)
    waits_ns = np.zeros((rounds, streams))
    waits_ns.ravel()[: len(load)] = load.pause_ns + np.maximum(load.due_ns, 0)
    earliest = np.cumsum(waits_ns, axis=0).ravel()[: len(load)]
    return chosen(load, np.flatnonzero(earliest < horizon_ns(arrivals)))
