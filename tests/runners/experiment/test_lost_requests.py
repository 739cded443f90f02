"""Does every request that was due get one outcome, whatever its client process did?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.record.batch_writer import BatchWriter
from fireassay.record.unsealed import launch_name, read_launch
from fireassay.runners.experiment.abandoned_launches import lost
from fireassay.runners.experiment.abandoned_launches import settle_requests as settle
from fireassay.spec.plan import Configuration
from fireassay.spec.sections.serving import Arrivals, Prompts, Serving
from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.schedule import Schedule
from fireassay.traffic.client import due
from fireassay.traffic.client.log import LogRow, RequestLog, Times
from fireassay.traffic.parts import Answer

T0, S = 1_000_000_000, 1_000_000_000


def built(process: str, load: float, *, turns: int = 1, cold: int = 0, requests: int | None = None) -> Schedule:
    serving = Serving(
        arrivals=Arrivals.model_validate({"process": process, "duration_s": 5.0, "warm_up_s": 0.0, "cold": cold, "requests": requests}),
        prompts=Prompts(turns=turns),
        concurrency=(int(load),) if process == "closed" else (),
        rate=(load,) if process != "closed" else (),
    )
    one = Configuration(name="x", workers=1, target="server", scenario="D(10,10)", load=load)
    return make.build(serving, one, 7, 1, Path())


def test_in_the_open_loop_everything_due_until_the_end_is_lost() -> None:
    schedule = built("constant", 2.0)  # due at 0, 0.5, 1.0 ... 4.5 s
    dues = schedule.due_ns.tolist()
    ended = sum(due <= 2 * S for due in dues)
    assert list(lost(schedule, 0, 1, frozenset(), T0, T0 + 2 * S)) == list(range(ended))
    assert list(lost(schedule, 0, 1, frozenset({0, 2}), T0, T0 + 2 * S)) == [n for n in range(ended) if n not in (0, 2)]


def test_in_the_closed_loop_each_stream_loses_the_one_that_was_under_way() -> None:
    schedule = built("closed", 3.0, requests=30)  # request j of stream s is 3 j + s
    seen = frozenset({0, 1, 2, 3, 4, 6})  # stream 0 has ended 0, 3, 6; stream 1 has ended 1, 4; stream 2 has ended 2
    assert list(lost(schedule, 0, 1, seen, T0, T0 + 2 * S)) == [5, 7, 9]


def test_of_two_clients_only_the_dead_ones_requests_are_lost() -> None:
    schedule = built("closed", 4.0, requests=40)
    seen = frozenset(range(8))
    assert list(lost(schedule, 1, 2, seen, T0, T0 + S)) == [9, 11]


def test_before_the_load_only_cold_requests_were_due() -> None:
    schedule = built("constant", 2.0, cold=2)
    assert list(lost(schedule, 0, 1, frozenset(), 0, T0)) == [0]  # the second follows the first
    assert list(lost(schedule, 0, 1, frozenset({0}), 0, T0)) == [1]


@given(st.sampled_from([("closed", 4.0), ("constant", 3.0), ("poisson", 6.0)]), st.integers(1, 3), st.integers(1, 3), st.data())
def test_what_is_lost_was_never_seen_and_its_chain_got_that_far(
    how: tuple[str, float], turns: int, clients: int, data: st.DataObject
) -> None:
    """Play the schedule with every answer instant up to a random prefix of each chain; exactly the next ones are lost."""
    from fireassay.traffic.arrivals.draws import mine, predecessors

    schedule = built(*how, turns=turns, requests=24)
    before = predecessors(schedule).tolist()
    stopped = data.draw(st.sets(st.integers(0, len(schedule) - 1)))  # these were under way when the client died
    seen: set[int] = set()
    for number, previous in enumerate(before):
        if number not in stopped and (previous < 0 or previous in seen):
            seen.add(number)
    found = [n for client in range(clients) for n in lost(schedule, client, clients, frozenset(seen), T0, T0 + 100 * S)]
    due = {n for n, previous in enumerate(before) if previous < 0 or previous in seen}
    assert sorted(found) == sorted(due - seen)
    assert len({n for client in range(clients) for n in mine(schedule, client, clients).tolist()}) == len(schedule)


def test_what_was_noted_is_lost_however_far_its_stream_had_come() -> None:
    """Three answers of a stream were still in the killed process's memory; without notes only the first is known of."""
    schedule = built("closed", 2.0, requests=20)  # request j of stream s is 2 j + s
    seen = frozenset({0, 1, 2})
    noted = np.zeros(21, dtype=np.int64)
    noted[[0, 1, 2, 3, 4, 5, 6, 8]] = T0 + np.arange(8)
    assert list(lost(schedule, 0, 1, seen, T0, T0 + S, noted)) == [3, 4, 5, 6, 8]
    assert list(lost(schedule, 0, 1, seen, T0, T0 + S)) == [3, 4]


def test_a_user_who_was_thinking_loses_nothing() -> None:
    """Its next request follows an answered one and was not due yet."""
    schedule = built("closed", 1.0, requests=4)
    noted = np.zeros(5, dtype=np.int64)
    noted[[0, 1]] = T0
    assert list(lost(schedule, 0, 1, frozenset({0, 1}), T0, T0 + S, noted)) == []


def test_in_the_open_loop_what_was_due_and_not_yet_sent_is_lost_too() -> None:
    schedule = built("constant", 2.0)  # due at 0, 0.5, 1.0 ... s
    noted = np.zeros(len(schedule) + 1, dtype=np.int64)
    noted[0] = T0
    assert list(lost(schedule, 0, 1, frozenset(), T0, T0 + S, noted)) == [0, 1, 2]


def launch_of_a_dead_coordinator(folder: Path, schedule: Schedule, *, open_loop: bool) -> Path:
    """What is left on the disk when coordinator and client were killed: the job, the schedule, notes and some rows."""
    load = folder / "streams" / launch_name(0) / "load"
    load.mkdir(parents=True)
    make.write(schedule, load / "schedule.arrow")
    (load / "job.json").write_text(json.dumps({"clients": 1, "open": open_loop}))
    (load / "begin").write_text(str(T0))
    noted = due.opened(load / due.name(0), len(schedule))
    client = BatchWriter(load.parent, "client-0")
    log = RequestLog(launch=0, client=0, put=lambda batch: client.append_batch("requests", batch))
    for number in range(3):
        noted[number] = T0 + number
        if number < 2:
            row = LogRow(request=number, phase=2, stream=0, scheduled_ns=T0 + number, done_ns=T0 + S)
            log.add(row, Answer(status="ok"), Times())
    log.flush()
    client.flush()
    client.close()
    return folder


@pytest.mark.parametrize("open_loop", [False, True])
def test_a_launch_without_coordinator_gets_the_rows_that_it_lacks_and_once(tmp_path: Path, open_loop: bool) -> None:
    schedule = built("constant", 2.0) if open_loop else built("closed", 1.0, requests=20)
    path = launch_of_a_dead_coordinator(tmp_path, schedule, open_loop=open_loop)
    for again in range(2):
        writer = BatchWriter(path / "streams" / launch_name(0), f"coordinator-{again}")
        settle(path, 0, writer)
        writer.close()
    requests, _ = read_launch(path, 0, "requests")
    planned, _ = read_launch(path, 0, "arrivals")
    assert requests is not None
    assert planned is not None
    assert requests["request"].to_pylist() == [0, 1, 2]  # of the open loop: what was due at 0, 0.5 and 1.0 s
    assert requests["status"].to_pylist() == ["ok", "ok", "lost"]
    assert requests["scheduled_ns"].to_pylist()[2] == T0 + 2
    assert planned["request"].to_pylist() == list(range(len(schedule) if open_loop else 3))


def test_a_launch_that_was_not_begun_gets_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "streams" / launch_name(0)
    folder.mkdir(parents=True)
    writer = BatchWriter(folder, "coordinator")
    settle(tmp_path, 0, writer)
    writer.close()
    assert read_launch(tmp_path, 0, "requests")[0] is None
    assert read_launch(tmp_path, 0, "arrivals")[0] is None
