"""Do the digests of several clients add up to that of one, and does any other request change it?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.spec.plan import Configuration
from fireassay.spec.sections.serving import Arrivals, Prompts, Serving
from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.schedule import NONE, Schedule
from fireassay.traffic.client.sent_digest import DIGESTED, SentDigest, added
from fireassay.traffic.parts import Wire


def built(requests: int = 40, *, turns: int = 1, rate: float = 50.0) -> Schedule:
    serving = Serving(
        arrivals=Arrivals.model_validate({"process": "constant", "duration_s": requests / rate, "warm_up_s": 0.0, "cold": 1}),
        prompts=Prompts(turns=turns),
        rate=(rate,),
    )
    return make.build(serving, Configuration(name="x", workers=1, target="server", scenario="D(10,10)", load=rate), 7, 1, Path())


def wire(number: int) -> Wire:
    return Wire("/v1/completions", f"request {number}".encode())


def digest(schedule: Schedule, numbers: list[int], **changed: Wire) -> SentDigest:
    made = SentDigest(schedule)
    for number in numbers:
        made.add(number, int(schedule.due_ns[number]), changed.get(f"r{number}", wire(number)))
    return made


@given(st.integers(1, 8), st.randoms())
def test_the_clients_sums_are_the_sum_of_one_in_any_order(clients: int, random: object) -> None:
    schedule = built()
    whole = list(range(len(schedule)))
    parts = [make.mine(schedule, client, clients).tolist() for client in range(clients)]
    for part in parts:
        random.shuffle(part)  # type: ignore[attr-defined]
    assert added(digest(schedule, part).report() for part in parts) == digest(schedule, whole).report()


@pytest.mark.parametrize(
    "other", [Wire("/v1/completions", b"another"), Wire("/v1/other", b"request 5"), Wire("/v1/completions", b"request 5", "PUT")]
)
def test_one_other_body_path_or_method_changes_the_sum(other: Wire) -> None:
    schedule = built()
    numbers = list(range(len(schedule)))
    assert digest(schedule, numbers).report() != digest(schedule, numbers, r5=other).report()


def test_another_due_time_changes_the_sum_and_that_of_an_untimed_request_does_not() -> None:
    schedule = built()
    late, untimed = SentDigest(schedule), SentDigest(schedule)
    late.add(3, int(schedule.due_ns[3]) + 1, wire(3))
    assert late.report() != digest(schedule, [3]).report()
    assert schedule.due_ns[0] == NONE  # the cold request
    untimed.add(0, 12345, wire(0))
    assert untimed.report() == digest(schedule, [0]).report()


def test_later_turns_and_requests_without_a_body_are_left_out() -> None:
    schedule = built(turns=3)
    later = [number for number in range(len(schedule)) if schedule.turn[number] > 0]
    assert later
    assert digest(schedule, later).report()["requests"] == 0
    nothing = SentDigest(built())
    nothing.add(1, 0, None)
    assert nothing.report() == {"requests": 0, "sum": "0" * 32}


def test_of_a_large_load_every_nth_is_taken() -> None:
    schedule = built(3 * DIGESTED, rate=1000.0)
    made = SentDigest(schedule)
    taken = [number for number in range(len(schedule)) if made.takes(number)]
    assert len(schedule) // 4 <= len(taken) <= DIGESTED
