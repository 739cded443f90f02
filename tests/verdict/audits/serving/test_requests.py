"""Is every request accounted for, with possible times?"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.serving_made import S, ServingMade, simulated
from tests.tiers import some
from tests.verdict.forging import FIRST, MS, Change, a_load, forged, implausible, put, read, row
from tests.verdict.forging import rules as forged_rules
from tests.verdict.served import blind, changed, clean, found, rules

# ---- ledger ----
# ledger: a lost, doubled or invented request is named, whoever was to follow whom; clean records are silent.


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"rate": (8.0,)}, {"rate": (), "concurrency": (1, 6)}, {"outage": (5.0, 8.0)}, {"failing": 0.1}])
def test_a_clean_record_has_no_finding(how: dict[str, object]) -> None:
    assert found("ledger", clean(**how)) == ()


@pytest.mark.slow
def test_a_request_without_an_outcome_is_inadmissible_and_named() -> None:
    lost = (pl.col("launch") == 1) & (pl.col("request") == 7)
    (finding,) = found("ledger", changed(clean(), "requests", lambda frame: frame.filter(~lost)))
    assert (finding.rule, finding.severity, finding.configuration) == ("requests_lost", "invalid", "rate=8")
    assert finding.evidence == "1 request was due and has no outcome, the first: request 7 of launch 1"


@pytest.mark.slow
def test_a_request_with_two_outcomes_is_inadmissible() -> None:
    doubled = changed(clean(), "requests", lambda frame: pl.concat([frame, frame.filter(pl.col("request") == 5)]))
    (finding,) = found("ledger", doubled)
    assert finding.rule == "requests_twice"
    assert finding.evidence == "3 requests have more than one outcome, the first: request 5 of launch 0"


@pytest.mark.slow
def test_a_request_outside_of_the_schedule_is_inadmissible() -> None:
    (finding,) = found("ledger", changed(clean(), "arrivals", lambda frame: frame.filter(pl.col("request") != 9)))
    assert finding.rule == "requests_unplanned"
    assert finding.evidence.startswith("3 requests are not in the schedule, the first: request 9 of launch 0")


def closed(*, ends: tuple[float, ...], missing: int | None = None, planned: int = 5, pause_s: float = 0.0) -> ServingMade:
    """One stream over 10 s whose requests end at `ends`; `planned` are in the schedule, `missing` has no row."""
    made = ServingMade(concurrency=(1,), blocks=1, seconds=10.0)
    launch, due = made.launch(), 0.0
    for place, end in enumerate(ends):
        if place != missing:
            made.request(
                launch, due, done_s=end - due, at_s=[end - due], tokens_out=1, stream=0, follows=place > 0, request=place, planned=False
            )
        due = end + pause_s
    for place in range(planned):
        made.arrival(launch, request=place, stream=0, due_s=0.0 if place == 0 else None, pause_s=pause_s)
    return made


@pytest.mark.slow
def test_what_follows_a_request_that_ended_in_time_was_due() -> None:
    """The stream's third request ended at 6 s of 10; the fourth has no row."""
    (finding,) = found("ledger", closed(ends=(2.0, 4.0, 6.0)).measured())
    assert finding.evidence == "1 request was due and has no outcome, the first: request 3 of launch 0"


@pytest.mark.slow
def test_what_would_follow_after_the_load_was_not_due() -> None:
    assert found("ledger", closed(ends=(2.0, 4.0, 10.5)).measured()) == ()


@pytest.mark.slow
def test_a_pause_that_reaches_over_the_loads_end_makes_nothing_due() -> None:
    assert found("ledger", closed(ends=(2.0, 6.0), pause_s=4.5).measured()) == ()
    assert rules("ledger", closed(ends=(2.0, 6.0), pause_s=3.5).measured()) == [("requests_lost", "invalid")]


@pytest.mark.slow
def test_a_gap_inside_of_a_stream_is_found_by_what_came_after_it() -> None:
    (finding,) = found("ledger", closed(ends=(2.0, 4.0, 6.0, 11.0), missing=1).measured())
    assert "request 1 of launch 0" in finding.evidence


@pytest.mark.slow
def test_turns_of_a_conversation_follow_each_other_and_not_their_stream() -> None:
    """Session 1 has two turns in stream 0; its second turn was never due, for the first ended too late."""
    made = ServingMade(concurrency=(1,), blocks=1, seconds=10.0)
    launch = made.launch()
    made.request(launch, 0.0, done_s=10.5, stream=0, session=1, turn=0)
    made.arrival(launch, request=1, stream=0, session=1, turn=1, due_s=None)
    assert found("ledger", made.measured()) == ()
    other = ServingMade(concurrency=(1,), blocks=1, seconds=10.0)
    launch = other.launch()
    other.request(launch, 0.0, done_s=5.0, stream=0, session=1, turn=0)
    other.arrival(launch, request=1, stream=0, session=1, turn=1, due_s=None)
    assert rules("ledger", other.measured()) == [("requests_lost", "invalid")]


@pytest.mark.slow
def test_a_cold_request_is_due_whatever_the_load_did() -> None:
    cold = (pl.col("phase") == "cold") & (pl.col("launch") == 0)
    assert rules("ledger", changed(clean(), "requests", lambda frame: frame.filter(~cold))) == [("requests_lost", "invalid")]


@pytest.mark.slow
def test_a_client_that_died_is_named() -> None:
    died = pl.when(pl.col("request") == 11).then(pl.lit("lost")).otherwise(pl.col("status"))
    (finding,) = found("ledger", changed(clean(), "requests", lambda frame: frame.with_columns(status=died)))
    assert (finding.rule, finding.severity) == ("client_died", "invalid")
    assert "left 3 requests without an outcome" in finding.evidence


@pytest.mark.slow
def test_launches_that_failed_are_not_held_to_their_schedule() -> None:
    made = simulated(rate=(4.0,), blocks=3, seconds=4.0)
    number = made.launch(block=3, status="failed", reason="made to")
    made.arrival(number, request=0)
    assert found("ledger", made.measured()) == ()


@pytest.mark.slow
def test_without_a_schedule_it_says_that_it_cannot_look() -> None:
    bare = changed(clean(), "arrivals", lambda frame: frame.clear())
    assert rules("ledger", bare) == [("ledger_not_measured", "note")]
    assert blind("ledger", bare) == "the record has no schedule"
    assert blind("ledger", clean()) is None


def queries(*, missing: int | None = None, done: int = 2) -> ServingMade:
    """MultiStream: queries of two samples; `done` queries had ended (1 s each, the second sample 0.5 s later), three were planned."""
    made = ServingMade(process="multi_stream", blocks=1, seconds=10.0, arrivals={"samples_per_query": 2})
    launch = made.launch()
    made.arrival(launch, request=0, phase="cold", due_s=None)
    made.request(launch, -0.5, phase="cold", request=0, planned=False)
    for place in range(6):
        query = place // 2
        made.arrival(launch, request=place + 1, stream=place % 2, due_s=0.0 if query == 0 else None)
        if query < done and place != missing:
            made.request(launch, 1.5 * query, done_s=1.0 + 0.5 * (place % 2), stream=place % 2, request=place + 1, planned=False)
    return made


@pytest.mark.slow
def test_a_query_follows_when_all_samples_of_the_one_before_have_ended() -> None:
    assert found("ledger", queries(done=3).measured()) == ()
    (finding,) = found("ledger", queries(done=2).measured())
    assert finding.evidence == "2 requests were due and have no outcome, the first: request 5 of launch 0"


@pytest.mark.slow
def test_a_sample_that_is_missing_inside_of_the_queries_is_found() -> None:
    (finding,) = found("ledger", queries(done=3, missing=3).measured())
    assert "request 4 of launch 0" in finding.evidence


# ---- request times ----
# Request impossible times: forged into an honest load, which is sealed again.


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two loads, sealed."""
    return a_load(tmp_path_factory.mktemp("load"))


def one_stream(rows: pl.DataFrame) -> pl.DataFrame:
    """What four streams sent is given out as one's."""
    return rows.with_columns(pl.when(pl.col("stream").is_not_null()).then(0).cast(pl.Int32).alias("stream"))


def unsure(of: pl.Expr) -> Change:
    """The first request's chunks with other uncertainties."""
    return lambda rows: rows.with_columns(
        pl.when(row(**FIRST)).then(of).otherwise(pl.col("chunk_uncertainty_ns")).alias("chunk_uncertainty_ns")
    )


FORGED: tuple[tuple[str, str, Change, str], ...] = (
    ("a first token before it was sent", "requests", put("first_token_ns", pl.col("sent_ns") - 2 * MS, **FIRST), "request_runs_backwards"),
    ("an earlier first token", "requests", put("first_token_ns", pl.col("first_token_ns") - 15 * MS, **FIRST), "first_token_ns_differs"),
    ("an end before the last chunk", "requests", put("done_ns", pl.col("last_token_ns") - MS, **FIRST), "chunk_after_end"),
    (
        "chunks the other way round",
        "requests",
        lambda rows: rows.with_columns(
            pl.when(row(**FIRST)).then(pl.col("chunk_ns").list.reverse()).otherwise(pl.col("chunk_ns")).alias("chunk_ns")
        ),
        "chunks_run_backwards",
    ),
    (
        "a chunk less",
        "requests",
        lambda rows: rows.with_columns(
            pl.when(row(**FIRST)).then(pl.col("chunk_kind").list.head(3)).otherwise(pl.col("chunk_kind")).alias("chunk_kind")
        ),
        "chunks_unequal",
    ),
    ("an uncertainty less", "requests", unsure(pl.col("chunk_uncertainty_ns").list.head(1)), "uncertainties_unequal"),
    ("an uncertainty below 0", "requests", unsure(pl.col("chunk_uncertainty_ns").list.eval(-1 - pl.element())), "uncertainty_negative"),
    ("a stream with two at once", "requests", one_stream, "stream_overlaps"),
    ("a lag that was hidden", "requests", put("scheduled_ns", pl.col("scheduled_ns") + 30 * MS, phase="warm_up", stream=0), "due_differs"),
    ("a connection of negative time", "requests", put("connect_ns", -5, **FIRST), "connect_ns_negative"),
    ("a request after the launch", "requests", put("done_ns", pl.col("done_ns") + 500 * S, **FIRST), "request_outside_launch"),
    ("an earlier end", "requests", put("done_ns", pl.col("last_token_ns"), **FIRST), ""),
)


@pytest.mark.slow
@pytest.mark.parametrize(("table", "change", "rule"), some([case[1:] for case in FORGED], 4, rows=True), ids=[case[0] for case in FORGED])
def test_a_forged_load_is_found(table: str, change: Change, rule: str, load: Path, tmp_path: Path) -> None:
    found = forged_rules(read(forged(load, tmp_path / "forged", **{table: change})))
    assert rule in found or (not rule and not found)


@pytest.mark.slow
def test_the_honest_load_is_found_nothing_wrong_with(load: Path) -> None:
    assert implausible(read(load)) == ()


@pytest.mark.slow
def test_what_another_program_wrote_is_not_asked(load: Path, tmp_path: Path) -> None:
    measured = read(forged(load, tmp_path / "forged", requests=put("first_token_ns", pl.col("sent_ns") - 2 * MS, **FIRST)))
    measured.manifest["foreign"] = {"tool": "other", "requests": True, "times": "whole"}  # type: ignore[index]
    assert forged_rules(measured) == set()


# ---- unfinished ----
# unfinished: what the drain cut off is counted apart from other timeouts.


def cut(number: int, *, error: str = "not finished 60 s after the last request was due", of: int = 100) -> ServingMade:
    made = ServingMade(rate=(10.0,), blocks=1)
    launch = made.launch()
    for place in range(of):
        bad = place >= of - number
        made.request(launch, 0.1 * place, status="timeout" if bad else "ok", error=error if bad else None)
    return made


def test_a_clean_record_is_silent() -> None:
    assert found("unfinished", clean()) == ()


def test_answers_that_were_cut_off_are_counted() -> None:
    (finding,) = found("unfinished", cut(5).measured())
    assert (finding.rule, finding.severity) == ("answers_cut_off", "warning")
    assert finding.evidence.startswith("5 of 100 requests (5 %) had not ended 60 s after the last one was due")


def test_fewer_than_one_in_a_hundred_are_a_note() -> None:
    assert [one.severity for one in found("unfinished", cut(1, of=101).measured())] == ["note"]


def test_other_timeouts_are_the_servers() -> None:
    assert found("unfinished", cut(5, error="not finished in 600 s").measured()) == ()
