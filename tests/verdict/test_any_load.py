"""Whatever stands in a record of a load, it is judged: no exception, every configuration with its four dimensions."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay.spec.sections.serving import Objectives
from fireassay.verdict.artifact import artifact
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.hoefler_belli import checklist
from fireassay.verdict.judge import judge
from fireassay.verdict.pitfalls import of_record
from fireassay.verdict.types import DIMENSIONS
from tests.serving_made import ServingMade
from tests.tiers import drawn

pytestmark = pytest.mark.slow


SECONDS = st.floats(0.0, 12.0) | st.sampled_from([0.0, 1e-9, 1.0, 1e6])
STATUSES = ["ok", "ok", "ok", "refused", "4xx", "5xx", "reset", "timeout", "malformed", "truncated", "error", "cancelled", "unsent", "lost"]


@st.composite
def records(draw: st.DrawFn) -> ServingMade:
    """Launches that ended in any way, requests of any status at any time, twice, unplanned, or never sent."""
    closed = draw(st.booleans())
    made = ServingMade(
        concurrency=(1, 4) if closed else (),
        rate=() if closed else (2.0, 4.0),
        blocks=draw(st.integers(1, 3)),
        engines=draw(st.sampled_from([("server",), ("a", "b")])),
        prices=draw(st.sampled_from([None, 0.0, 1.0])),
        objectives=draw(st.sampled_from([Objectives(), Objectives(ttft_s=0.5, tpot_s=0.05)])),
        process=draw(st.sampled_from(["", "single_stream" if closed else "server"])) if not closed else "",
        correctness=draw(st.sampled_from([{}, {"identity": 2, "grade": "near_tie"}])),
    )
    for _ in range(draw(st.integers(0, 4))):
        launch = made.launch(
            draw(st.sampled_from(made.names)),
            block=draw(st.integers(0, 2)),
            role=draw(st.sampled_from(["timed", "timed", "fault"])),
            status=draw(st.sampled_from(["ok", "ok", "ok", "failed", "aborted"])),
        )
        for place in range(draw(st.integers(0, 6))):
            draw(request(made, launch, place, closed))
        if draw(st.booleans()):
            made.event(launch, "fault", draw(SECONDS), value=draw(st.sampled_from([0, 1])))
            made.event(launch, draw(st.sampled_from(["replica_up", "fault_end", "fault_missed"])), draw(SECONDS), value=1)
    return made


@st.composite
def request(draw: st.DrawFn, made: ServingMade, launch: int, place: int, closed: bool) -> None:
    status = draw(st.sampled_from(STATUSES))
    times = sorted(draw(st.lists(SECONDS, max_size=4)))
    kind = draw(st.sampled_from(["normal", "normal", "canary", "identity", "rerun"]))
    made.request(
        launch,
        draw(SECONDS),
        status=status,
        lag_s=None if status == "unsent" else draw(SECONDS),
        at_s=times if status == "ok" else None,
        tokens_out=draw(st.sampled_from([None, 0, 1, 4, 1000])),
        tokens_in=draw(st.sampled_from([None, 0, 100])),
        phase=draw(st.sampled_from(["cold", "warm_up", "main", "main"])),
        kind=kind,
        stream=0 if closed else None,
        follows=closed and draw(st.booleans()),
        cached=draw(st.sampled_from([None, 0, 90])),
        text=draw(st.sampled_from([None, "", "42", "nonce-1"])),
        expected="nonce-1" if kind == "canary" else None,
        example=draw(st.sampled_from([None, "1"])),
        replica=draw(st.sampled_from([None, 0, 1])),
        request=draw(st.sampled_from([None, None, place])),
        planned=draw(st.sampled_from([True, True, False])),
        error=draw(st.sampled_from([None, "a\nb"])),
        connect_s=draw(st.sampled_from([None, 0.5])),
        logprobs=draw(st.sampled_from([(), (-0.1,)])),
    )


@settings(max_examples=drawn(6, 12), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(records(), st.sampled_from(["complete", "interrupted"]), st.booleans())
def test_any_load_is_judged(made: ServingMade, state: str, sealed: bool) -> None:
    measured = made.measured(state=state, sealed=sealed)
    judgement = judge(measured)
    verdict = judgement.verdict
    assert verdict.status == "INVALID" or (state == "complete" and sealed)
    assert verdict.sentence
    assert "\n" not in verdict.sentence
    assert list(verdict.dimensions) == list(measured.configurations)
    assert all(tuple(row) == DIMENSIONS for row in verdict.dimensions.values())
    assert verdict.recommendations[0].goal == "recommended"
    assert all(bool(p.reason) is (p.state == "not examined") for p in of_record(measured))
    assert len(checklist(measured, judgement)) == 12
    assert artifact(measured)
    side = Side(label="a", measured=measured, judgement=judgement)
    assert compare([side, Side(label="b", measured=measured, judgement=judgement)]).sentence
