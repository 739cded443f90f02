"""What will be sent in a launch, when, and in which order?  A schedule in columns, made before the load begins.

Everything is fixed here: it depends on the experiment, the configuration and the launch's seed, and not on the number of
client processes.  A million requests take about 70 MB.

How a request becomes due:
* `due_ns` >= 0: so long after the begin of the load (open loop, and the first request of a closed stream, which has 0);
* `due_ns` = -1: when the request that it follows has ended, plus `pause_ns`.  It follows the nearest earlier request of its
  session if it has a session and a turn above 0, else of its stream.  With `together` = m > 0 it follows the m requests
  before it in number order, counted in groups of m after the cold ones, and is due when the last of that group has ended.
Cold requests (`phase` cold) are sent one by one, in order, before the load begins; `due_ns` is -1 and they follow each other.
Their `kind` is normal where they tell how cold an engine is; others are sent alone, to be compared with answers under load.
A turn above 0 with `due_ns` >= 0 (a replayed trace) does not wait for the turn before it.
A client process k of n takes the requests whose stream, else whose session, else whose number is k modulo n; process 0 all
cold ones, and all of them where `together` > 0.  `assay.traffic.arrivals.make` has `mine` and `predecessors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PHASES: Final = ("cold", "warm_up", "main")
KINDS: Final = ("normal", "canary", "identity", "rerun", "needle")
PAUSES: Final = ("none", "think", "tool", "retrieval")
BLOCK_TOKENS: Final = 512
NONE: Final = -1  # in a column: no such thing


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One launch's requests; every array has one entry per request, -1 where a thing does not apply."""

    phase: npt.NDArray[np.int8]  # place in PHASES; in a closed loop the client says warm_up by the time
    kind: npt.NDArray[np.int8]  # place in KINDS
    stream: npt.NDArray[np.int32]
    session: npt.NDArray[np.int64]
    turn: npt.NDArray[np.int32]
    due_ns: npt.NDArray[np.int64]
    pause_ns: npt.NDArray[np.int64]
    pause_kind: npt.NDArray[np.int8]  # place in PAUSES
    tokens_in: npt.NDArray[np.int64]
    tokens_out: npt.NDArray[np.int64]
    seed: npt.NDArray[np.int64]
    replica: npt.NDArray[np.int32]
    example: npt.NDArray[np.int64]  # number of the prompt in its file or set: equal where the same text is sent
    expected: Mapping[int, str] = field(default_factory=dict)  # request -> what the answer must contain or equal
    cluster: Mapping[int, str] = field(default_factory=dict)  # request -> what its prompt shares with others; not sent
    # request -> ids of the blocks of BLOCK_TOKENS tokens
    blocks: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    # that its text is made of, the last one cut off at tokens_in: equal ids are equal text (Mooncake's traces)
    together: int = 0  # MLPerf's MultiStream: so many requests form a query, and the next follows when all have ended

    def __len__(self) -> int:
        return len(self.phase)
