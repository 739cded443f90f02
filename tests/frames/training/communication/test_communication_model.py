"""The model of communication on records of simulated clusters: what was put in comes out, and what cannot be modelled is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.communication_model import Wall, held_out, wall
from tests.handmade import Handmade
from tests.metrics.narrow import absence
from tests.simulated_made import TRUTH, cluster, record


def found(measured: RecordData) -> Wall:
    made = wall(measured)
    assert isinstance(made, Wall)
    return made


@pytest.mark.slow
def test_a_simulated_cluster_is_recovered() -> None:
    """s, T1, alpha and beta within 10 %; the scatter of workers too."""
    made = found(record())
    curve, link = made.fitted.middle, made.links.whole
    assert curve.serial == pytest.approx(TRUTH["serial"], rel=0.10)
    assert curve.one_s == pytest.approx(TRUTH["step_s"], rel=0.02)
    assert link.fixed == pytest.approx(TRUTH["alpha_s"], rel=0.10)
    assert link.per_unit == pytest.approx(TRUTH["beta_s"], rel=0.10)
    assert curve.spread == pytest.approx(TRUTH["jitter"], rel=0.25)
    assert made.demand.sent[0].calls == TRUTH["buckets"]
    assert made.demand.sent[0].nbytes == TRUTH["gradient"]
    assert not made.hides


@pytest.mark.slow
def test_hidden_communication_is_recorded() -> None:
    """A fifth of 0.95 s: hideable 0.19 s of one worker."""
    made = found(record(overlap=0.2))
    assert made.hides
    assert made.fitted.middle.hideable_s == pytest.approx(0.19, rel=0.05)
    assert made.fitted.middle.serial == pytest.approx(TRUTH["serial"], rel=0.15)
    assert made.all_exposed.middle.at(32) > made.fitted.middle.at(32)


@pytest.mark.slow
def test_without_a_sweep_the_training_gives_the_links() -> None:
    """The sweep's rows taken away: the buckets in groups of 2, 4, 8 and 16 give alpha and beta block by block."""
    whole = record()
    calls = whole.table("collectives")
    made = found(replace(whole, tables={**whole.tables, "collectives": calls.filter(calls["step"].is_not_null())}))
    assert not made.links.swept
    assert made.others == ()
    assert made.links.whole.per_unit == pytest.approx(TRUTH["beta_s"], rel=0.10)
    assert made.fitted.middle.at(32) == pytest.approx(found(whole).fitted.middle.at(32), rel=0.05)


def test_the_largest_count_is_predicted_without_it() -> None:
    held = held_out(record())
    assert not isinstance(held, Absent)
    assert held.workers == 16
    assert held.rest.levels == (1, 2, 4, 8)
    assert all(abs(error) < 0.05 for error in held.errors)


@pytest.mark.slow
def test_weak_scaling_has_its_own_model() -> None:
    made = found(record(weak=True))
    assert made.fitted.middle.one_s == pytest.approx(1.0, rel=0.02)
    assert made.fitted.middle.at(16) == pytest.approx(1.0 * 1.035 + cluster().transfer_s(16), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "words"), [((1, 2), ("2 worker counts",)), ((1, 2, 4, 8), ())])
def test_few_counts_flag_a_prediction(levels: tuple[int, ...], words: tuple[str, ...]) -> None:
    flags = found(record(levels=levels)).flags(2 * levels[-1])
    assert len(flags) == len(words)
    assert all(word in flag for word, flag in zip(words, flags, strict=True))


def test_far_beyond_is_flagged() -> None:
    made = found(record())
    assert made.flags(32) == ()
    assert "6.25 times beyond" in made.flags(100)[0]


def test_a_mixture_of_strong_and_weak_is_refused() -> None:
    whole = record()
    steps = whole.table("steps")
    one = whole.timed.filter(whole.timed["workers"] == 4)["launch"].implode()
    import polars as pl

    more = steps.with_columns(pl.when(pl.col("launch").is_in(one)).then(pl.col("items") * 2.0).otherwise(pl.col("items")).alias("items"))
    told = absence(wall(replace(whole, tables={**whole.tables, "steps": more})))
    assert told.reason == "refused"
    assert "differs between worker counts" in told.detail


def test_a_record_without_collectives_has_no_model() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    assert "workload.attach" in absence(wall(made.measured())).detail


def test_one_worker_count_is_too_few() -> None:
    assert absence(wall(record(), (16,))).reason == "insufficient"
