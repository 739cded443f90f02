"""Strikes faults of a load at replicas of a tiny server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fireassay import catalog
from fireassay.faults.support.base import Fault, Struck
from fireassay.faults.support.under_load import Strike
from fireassay.launchers.support.servers import Replicas
from fireassay.spec.sections.faults import Fault as FaultSpec
from tests.launchers.support.test_servers import Heard, replicas

LATER_S = 3600.0  # undone by the end of the load alone


@contextmanager
def one_replica(folder: Path, *words: str) -> Iterator[tuple[Replicas, Heard]]:
    """A replica that serves."""
    heard = Heard()
    with replicas(folder, *words, heard=heard) as one:
        one.start()
        yield one, heard


def at_once(kind: str, struck: Struck, heard: Heard, **changes: Any) -> Strike:
    """The fault, struck now; `close` undoes it."""
    fault: Fault = catalog.load("faults", kind)
    strike = Strike(fault, struck, FaultSpec.complete().model_validate({"kind": kind, "for_s": LATER_S, **changes}), heard)
    strike.at(time.monotonic_ns())
    return strike


def struck_at(one: Replicas, **changes: Any) -> Struck:
    return Struck(**{"replica": 0, "url": one.replica_urls[0], "target": one.target, "replicas": one, **changes})


def kinds(heard: Heard) -> list[str]:
    """What was told of faults."""
    return [row[0] for row in list(heard.rows) if row[0].startswith("fault")]


def row(heard: Heard, kind: str) -> tuple[str, int, int | None, dict[str, Any]]:
    (found,) = [row for row in heard.rows if row[0] == kind]
    return found
