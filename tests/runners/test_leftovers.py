"""Does every request that was due get one outcome, whatever its client process did?"""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from assay.runners.leftovers import lost
from assay.spec.plan import Configuration
from assay.spec.serving import Arrivals, Prompts, Serving
from assay.traffic import arrivals
from assay.traffic.schedule import Schedule

T0, S = 1_000_000_000, 1_000_000_000


def built(process: str, load: float, *, turns: int = 1, cold: int = 0, requests: int | None = None) -> Schedule:
    serving = Serving(
        arrivals=Arrivals.model_validate(
            {"process": process, "duration_s": 5.0, "warm_up_s": 0.0, "cold": cold, "requests": requests}
        ),
        prompts=Prompts(turns=turns),
        concurrency=(int(load),) if process == "closed" else (),
        rate=(load,) if process != "closed" else (),
    )
    one = Configuration(name="x", workers=1, target="server", scenario="D(10,10)", load=load)
    return arrivals.build(serving, one, 7, 1, Path())


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


@given(
    st.sampled_from([("closed", 4.0), ("constant", 3.0), ("poisson", 6.0)]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.data(),
)
def test_what_is_lost_was_never_seen_and_its_chain_got_that_far(
    how: tuple[str, float], turns: int, clients: int, data: st.DataObject
) -> None:
    """Play the schedule with every answer instant up to a random prefix of each chain; exactly the next ones are lost."""
    from assay.traffic.arrivals_shares import mine, predecessors

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
