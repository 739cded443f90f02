"""How do other programs read how far a run is?"""

from __future__ import annotations

from typing import Any

from fireassay.reports.documents.json_object import Document, key


class RunStateDocument(Document):  # of `fireassay.reports.pages.run_state.RunState`
    VERB = "status"
    VERSION = "assay-status/1"

    record: str = key("path of the record")
    state: str = key("running, interrupted, complete or failed; silent: on another host, and its heartbeat has stopped")
    reason: str = key("how it ended; empty while it runs")
    host: str = key("of the process that writes the record")
    pid: int = key("its process id there")
    job: str = key("the cluster's job, as Slurm job 12; empty outside a cluster")
    done: int = key("launches ended for good")
    failed: int = key("of them failed or timed out")
    planned: int = key("launches of the plan")
    waiting: str | None = key("what the cluster's engine waits for, in its words; null: not known")
    seconds_left: float | None = key("estimated; null: not known")
    last_sign_s: float | None = key("seconds since the last heartbeat, by the wall clocks; null: there is none")
    running: dict[str, Any] | None = key("the running launch; null: none")
    output: list[str] = key("last lines of output")
    allocations: list[dict[str, Any]] = key("nodes that an engine lent, in order: waited_s, held_s, how each ended")


DOCUMENT = RunStateDocument
render = DOCUMENT.render
