"""Records of two hosts whose clocks are off by a known amount and drift, with looks and collectives between them."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from fireassay.record.tables import TABLES
from tests.handmade import Handmade
from tests.struck import struck

S = 1_000_000_000
BOOTS = {"a": "kernel-a", "b": "kernel-b"}


def clock(offset_s: float, drift: float) -> Callable[[float], int]:
    """True seconds since the launch -> what host b's clock says, nanoseconds after 100 s."""
    return lambda true: round((100.0 + true + offset_s + true * drift) * S)


def common(true: float) -> int:
    """What host a's clock says then, which is right."""
    return round((100.0 + true) * S)


def two_hosts(made: Handmade, number: int, *, boots: dict[str, str] | None = None) -> None:
    """Ranks 0 and 1 begin on host a, 2 and 3 on host b."""
    for rank in range(4):
        host = "ab"[rank // 2]
        detail = json.dumps({"boot_id": (BOOTS if boots is None else boots).get(host, "")})
        made.rows["events"].append((number, rank, None, host, rank, 0, "worker_start", None, None, detail))


def look(made: Handmade, number: int, there: Callable[[float], int], *, count: int = 120, over_s: float = 600.0, seed: int = 0) -> None:
    """Host b asks host a: the way takes 30 microseconds at least, both ways alike, and now and then much longer."""
    rng = np.random.default_rng(seed)
    for true in np.sort(rng.uniform(0.0, over_s, count)):
        out, back = 30e-6 + rng.exponential(100e-6, 2)
        sent, heard, answered, received = (there(true), common(true + out), common(true + out + 20e-6), there(true + out + 20e-6 + back))
        bound = ((received - sent) - (answered - heard)) // 2 + 1
        made.rows["clocks"].append((number, 2, 0, "b", "a", sent, heard, answered, received, bound))


def collect(made: Handmade, number: int, there: Callable[[float], int], *, count: int = 200, over_s: float = 600.0, seed: int = 1) -> None:
    """all_reduce calls: each rank enters within 2 ms, and 0.3 ms after the last entry all are done, within 0.1 ms of each other."""
    rng = np.random.default_rng(seed)
    for call, true in enumerate(np.sort(rng.uniform(0.0, over_s, count))):
        asked = true + rng.uniform(0.0, 2e-3, 4)
        done = asked.max() + 0.3e-3 + rng.uniform(0.0, 0.1e-3, 4)
        for rank in range(4):
            says = common if rank < 2 else there
            where = (number, rank, 0, "0", call, call, "all_reduce", 4, 1000, "float32", "", 1)
            made.rows["collectives"].append((*where, says(asked[rank]), says(done[rank]), None, None, None, "host"))


def on_two_hosts(there_s: float, *, looks: int) -> Handmade:
    """As `struck`, but that rank 1 ran on a host whose clock is so far ahead; it read rank 0's so often, each within 0.2 ms."""
    made, ahead = struck(), round(there_s * 1e9)
    made.rows["events"] += [(0, 0, None, "host", rank, 0, "worker_start", None, None, "{}") for rank in (0, 1)]
    made.rows["events"] = [
        (
            *row[:1],
            row[1] + ahead * (row[4] == 1),
            row[2],
            "there" if row[4] == 1 else "host",
            *row[4:9],
            json.dumps({"boot_id": f"kernel of rank {row[4]}"}),
        )
        if row[6] == "worker_start"
        else row
        for row in made.rows["events"]
    ]
    made.rows["steps"] = [
        (*row[:4], row[4] + ahead * (row[1] == 1), row[5] + ahead * (row[1] == 1), *row[6:]) for row in made.rows["steps"]
    ]
    for number in range(looks):
        at = common(0.5 * number - 100.0)
        made.rows["clocks"].append((0, 1, 0, "there", "host", at + ahead, at + 100_000, at + 100_000, at + 200_000 + ahead, 100_000))
    return made


def run_from_there(made: Handmade, there_s: float, *, host: str = "there") -> Handmade:
    """The same (`on_two_hosts`), but with assay next to rank 1: its own and its meter's times are of that host's clock."""
    ahead, columns = round(there_s * 1e9), [column.name for column in TABLES["launches"].columns]
    begin, end = columns.index("begin_ns"), columns.index("end_ns")
    made.rows["events"] = [
        row if row[6] == "worker_start" else (row[0], row[1] + ahead, row[2], host, *row[4:]) for row in made.rows["events"]
    ]
    made.rows["events"].append((0, made.begin[0] + ahead, None, host, None, None, "launch_begin", None, None, "{}"))
    made.rows["launches"] = [
        tuple(value + ahead if place in (begin, end) else value for place, value in enumerate(row)) for row in made.rows["launches"]
    ]
    made.rows["telemetry"] = [(row[0], row[1] + ahead, host, *row[3:]) for row in made.rows["telemetry"]]
    return made
