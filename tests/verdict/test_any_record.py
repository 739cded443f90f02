"""Whatever stands in a record, it is judged and shown: no exception, every configuration with its four dimensions."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay.reports.build_view import build
from fireassay.spec.experiment import Gates, Quality, Scaling
from fireassay.spec.sections.energy import Energy
from fireassay.verdict.judge import judge
from fireassay.verdict.pitfalls import of_record
from fireassay.verdict.types import DIMENSIONS
from tests.handmade import Handmade
from tests.reports.written import content
from tests.tiers import drawn
from tests.verdict.making import MARGIN

pytestmark = pytest.mark.slow


SECONDS = st.floats(0.0, 10.0) | st.sampled_from([0.0, 1.0, 1.0, 1e-9, 1e9])


@st.composite
def experiments(draw: st.DrawFn) -> Handmade:
    levels = tuple(draw(st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True)))
    return Handmade(
        levels=levels,
        blocks=draw(st.integers(1, 3)),
        quality=draw(st.sampled_from([None, MARGIN, Quality(direction="lower")])),
        prices=draw(st.sampled_from([None, 0.0, 1.0])),
        gates=Gates(
            efficiency=draw(st.sampled_from([None, 0.7])),
            deadline_s=draw(st.sampled_from([None, 5.0])),
            required_workers=draw(st.sampled_from([None, levels[0]])),
        ),
        scaling=Scaling(
            mode=draw(st.sampled_from(["strong", "weak"])),
            base=draw(st.sampled_from([None, levels[-1]])),
            time=draw(st.sampled_from(["auto", "step", "wall"])),
        ),
        energy=draw(st.sampled_from([Energy(), Energy(source="none")])),
    )


@st.composite
def records(draw: st.DrawFn) -> Handmade:
    """Launches, ranks and restarts with times of nothing, scores that are no numbers, counters that stand still."""
    made = draw(experiments())
    for _ in range(draw(st.integers(0, 6))):
        workers = draw(st.sampled_from(made.experiment.factor.levels))
        number = made.launch(
            workers=workers,
            block=draw(st.integers(0, 2)),
            wall_s=draw(SECONDS),
            role=draw(st.sampled_from(["timed", "timed", "fault"])),
            status=draw(st.sampled_from(["ok", "ok", "ok", "failed", "timeout", "aborted", "skipped"])),
        )
        for rank in range(workers):
            for incarnation in range(draw(st.integers(0, 2))):
                draw(rank_rows(made, number, rank, incarnation))
        draw(launch_rows(made, number, workers))
    return made


@st.composite
def rank_rows(draw: st.DrawFn, made: Handmade, number: int, rank: int, incarnation: int) -> None:
    made.steps(
        number,
        rank=rank,
        seconds=draw(st.lists(SECONDS, max_size=12)),
        first=draw(st.integers(0, 3)),
        incarnation=incarnation,
        items=draw(st.sampled_from([None, 0.0, 8.0])),
        checkpoint_s=draw(st.sampled_from([None, 0.0, 2.0])),
        phases_s=draw(st.sampled_from([None, {"data": 0.5}, {"forward": 0.1, "backward": 0.2, "optimizer": 0.1}])),
    )
    where = {"rank": rank, "incarnation": incarnation}
    if draw(st.booleans()):
        made.samples(number, draw(st.lists(st.integers(0, 5), max_size=5)), epoch=draw(st.integers(0, 2)), **where)
    if draw(st.booleans()):
        made.fingerprint(number, "loss", draw(st.sampled_from([0.0, 1.0, math.nan, math.inf])), **where)
    if draw(st.booleans()):
        made.fingerprint(number, "parameter_hash", draw(st.sampled_from("ab")), step=draw(st.integers(0, 2)), **where)
    if draw(st.booleans()):
        made.fingerprint(number, "random_hash", draw(st.sampled_from("ab")), step=draw(st.integers(0, 2)), **where)
        made.fingerprint(number, "denominator", draw(st.sampled_from([0.0, 4.0, 8.0])), step=draw(st.integers(0, 2)), **where)
        made.fingerprint(number, "random_layers", draw(st.integers(0, 1)), **where)
    for parameter in draw(st.lists(st.sampled_from("wb"), unique=True)):
        sums = draw(st.lists(st.sampled_from([0.0, 1.0, 1.5, math.nan, math.inf]), max_size=3))
        norm = draw(st.sampled_from([None, 0.0, 1.0, math.nan]))
        held = (draw(st.integers(0, 1)), draw(st.integers(1, 2)), draw(st.sampled_from([None, 0, 1])))
        made.rows["gradients"].append(
            (number, rank, incarnation, draw(st.integers(0, 1)), parameter, len(sums), "float32", norm, sums, *held)
        )
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["worker_start", "checkpoint_load", "checkpoint_save", "evaluation"]))
        made.event(number, kind, draw(SECONDS), duration_s=draw(st.sampled_from([None, 1.0])), **where)


@st.composite
def launch_rows(draw: st.DrawFn, made: Handmade, number: int, workers: int) -> None:
    made.scores(number, draw(st.lists(st.sampled_from([0.0, 1.0, 1.0, math.nan]), max_size=4)))
    if draw(st.booleans()):
        made.fingerprint(number, "dataset_size", draw(st.integers(0, 6)))
    if draw(st.booleans()):
        made.event(number, "useful_work", 1.0, value=draw(SECONDS))
    if draw(st.booleans()):
        made.event(number, "fault", draw(SECONDS), rank=workers - 1, incarnation=0, step=1)
        made.event(number, "worker_gone", draw(SECONDS), rank=0, incarnation=0)
    counters = ("cpu/busy", "cpu/idle", "cpu/steal", "launch/cpu_time", "probe/cost_per_step", "rapl:package-0/energy")
    for counter in draw(st.lists(st.sampled_from(counters), unique=True)):
        for at_s in (0.0, 1.0):
            made.reading(number, *counter.split("/"), draw(SECONDS), at_s=at_s)


@settings(max_examples=drawn(6, 16), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(records(), st.sampled_from(["complete", "failed", "interrupted", "running"]), st.booleans())
def test_any_record_is_judged_and_shown(made: Handmade, state: str, sealed: bool) -> None:
    measured = made.measured(state=state, sealed=sealed)
    judgement = judge(measured)
    assert judgement.verdict.status == "INVALID" or (state == "complete" and sealed)
    assert judgement.verdict.sentence
    assert list(judgement.verdict.dimensions) == list(measured.configurations)
    assert all(tuple(row) == DIMENSIONS for row in judgement.verdict.dimensions.values())
    assert all(bool(p.reason) is (p.state == "not examined") for p in of_record(measured))
    view = build(measured, judgement)
    for name in ("terminal", "json", "markdown", "excel", "latex"):
        assert content(view, name)
