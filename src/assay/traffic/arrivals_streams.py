"""What do the streams of a closed loop send?  Each stream sends its next request when the one before has ended.

Request j of stream s is number j * streams + s: the order in which they would be sent if all took equally long.

How many a stream will send is known only to the engine, so more are scheduled than any engine answers: 5000 a second in
each stream, 20,000 a second in all, and a million in a launch.  Beyond that `arrivals.requests` must be given, which is
then exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from assay.traffic.arrivals_rows import rows
from assay.traffic.arrivals_times import NS, horizon_ns
from assay.traffic.schedule import NONE, Schedule

if TYPE_CHECKING:
    from assay.spec.serving import Arrivals

PER_STREAM: Final = 5000.0  # requests per second that no stream reaches
IN_ALL: Final = 20_000.0
MOST: Final = 1_000_000


def count(arrivals: Arrivals, streams: int) -> int:
    """How many requests are scheduled for so many streams."""
    if arrivals.requests is not None:
        return arrivals.requests
    seconds = horizon_ns(arrivals) / NS
    most = int(seconds * min(PER_STREAM * streams, IN_ALL)) + 1
    return max(min(most, MOST), 2 * streams)


def closed(arrivals: Arrivals, streams: int) -> Schedule:
    """Requests of so many streams without conversations."""
    n = count(arrivals, streams)
    numbers = np.arange(n, dtype=np.int64)
    return rows(n, stream=numbers % streams, due_ns=np.where(numbers < streams, 0, NONE))
