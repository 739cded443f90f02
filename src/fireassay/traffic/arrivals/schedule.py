"""What will a launch send, when, and in which order?

A schedule in columns, complete before the load begins: it depends on the experiment, the configuration and the launch's seed, but not
on the number of client processes.  A million requests take about 70 MB.

When a request is due:
* `due_ns` >= 0: that long after the load begins (open loop, and the first request of a closed stream, which has 0);
* `due_ns` = -1: `pause_ns` after its predecessor has ended: the nearest earlier request of its session if it has a session and a turn
  above 0, else of its stream.  With `together` = m > 0, requests after the cold ones form consecutive groups of m, and each is due
  when the whole previous group has ended.
Cold requests (`phase` cold) are sent one by one, in order, before the load begins; `due_ns` is -1 and they follow each other.
Those of `kind` normal measure the engine's cold start; others are sent alone, for comparison with answers under load.
A turn above 0 with `due_ns` >= 0 (a replayed trace) does not wait for the previous turn.
Client process k of n sends the requests whose stream, else session, else number is k modulo n; process 0 sends all cold requests, and
everything if `together` > 0 (`fireassay.traffic.arrivals.shares`).
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
NONE: Final = -1  # column value for "not applicable"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One launch's requests; every array has one entry per request, -1 where not applicable."""

    phase: npt.NDArray[np.int8]  # index in PHASES; in a closed loop the client sets warm_up by the clock
    kind: npt.NDArray[np.int8]  # index in KINDS
    stream: npt.NDArray[np.int32]
    session: npt.NDArray[np.int64]
    turn: npt.NDArray[np.int32]
    due_ns: npt.NDArray[np.int64]
    pause_ns: npt.NDArray[np.int64]
    pause_kind: npt.NDArray[np.int8]  # index in PAUSES
    tokens_in: npt.NDArray[np.int64]
    tokens_out: npt.NDArray[np.int64]
    seed: npt.NDArray[np.int64]
    replica: npt.NDArray[np.int32]
    example: npt.NDArray[np.int64]  # number of the prompt in its file or set: equal for equal texts
    expected: Mapping[int, str] = field(default_factory=dict)  # request -> what the answer must contain or equal
    cluster: Mapping[int, str] = field(default_factory=dict)  # request -> label of prompts with shared content; not sent
    # request -> IDs of the blocks of BLOCK_TOKENS tokens in its text, the last truncated at tokens_in: equal IDs are equal text (Mooncake)
    blocks: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    together: int = 0  # MLPerf's MultiStream: requests per query; the next query follows when all have ended

    def __len__(self) -> int:
        return len(self.phase)
