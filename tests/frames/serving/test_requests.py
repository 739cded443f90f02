"""The folds of requests: the window, what counts, times from when a request was due, tokens and their times."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from fireassay.frames.serving.requests import serve
from fireassay.spec.sections.serving import Objectives
from tests.serving_made import S, ServingMade, simulated

pytestmark = pytest.mark.slow


def folded(made: ServingMade) -> pl.DataFrame:
    return made.measured().served.requests


def window(made: ServingMade, launch: int = 0) -> tuple[float | None, float | None]:
    """Begin and length of a launch's window, seconds; the begin after t0."""
    row = made.measured().served.windows.row(by_predicate=pl.col("launch") == launch, named=True)
    return (row["begin_ns"] - made.t0[launch]) / S, row["seconds"]


def test_an_open_loop_is_measured_from_the_warm_up_to_the_last_arrival() -> None:
    """Warm-up 2 s, arrivals at 0, 1 ... 9 s, each answered after 0.25 s: [2, 9], so that requests 2 to 9 count."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    for second in range(10):
        made.request(number, float(second), phase="warm_up" if second < 2 else "main")
    assert window(made) == (2.0, 7.0)
    assert folded(made).filter("counted")["request"].to_list() == [2, 3, 4, 5, 6, 7, 8, 9]


def test_a_closed_loop_waits_for_the_first_wave_and_ends_with_the_last_request_sent() -> None:
    """Two streams whose first answers end at 3 and 4 s: measured from 4 s, though the warm-up is 1 s, until 8.5 s."""
    made = ServingMade(concurrency=(2,), blocks=1, warm_up_s=1.0)
    number = made.launch()
    for stream, times in enumerate([(0.0, 3.0, 6.0), (0.0, 4.0, 8.0)]):
        for due in times:
            made.request(number, due, stream=stream, at_s=[3.0 + stream], tokens_out=1, lag_s=0.5 if due == 8.0 else 0.0)
    assert window(made) == (pytest.approx(4.0), 4.5)
    assert folded(made).filter("counted").height == 2  # sent at 6 and 8.5 s; what was sent at 4 s began a wave before the window


def test_a_launch_without_room_has_no_window() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    made.request(made.launch(), 1.0, phase="warm_up")
    begin, seconds = window(made)
    assert (begin, seconds) == (2.0, None)
    assert not folded(made)["counted"].any()


@pytest.mark.parametrize("kept", [0, 1])
def test_requests_of_a_launch_that_was_killed_have_no_window_and_count_nothing(kept: int) -> None:
    """`assay load` was killed amid a launch: its requests are in the streams, its row is not."""
    made = ServingMade(rate=(1.0,), blocks=2)
    for _ in range(2):
        made.request(made.launch(), 1.0)
    made.rows["launches"] = made.rows["launches"][:kept]
    assert folded(made)["launch"].to_list() == [0] * kept


def test_offline_ends_with_the_last_answer() -> None:
    made = ServingMade(process="offline", blocks=1, arrivals={"requests": 1000})
    number = made.launch()
    for request in range(4):
        made.request(number, 0.0, at_s=[1.0 + request], tokens_out=1)
    assert window(made) == (0.0, 4.0)
    assert folded(made)["counted"].all()


def test_times_are_from_when_the_request_was_due() -> None:
    """Due at 1 s, sent at 1.5 s after 0.1 s of connecting, first text at 2 s, 5 tokens, last at 3 s: TPOT 1/4 s."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    made.request(number, 1.0, lag_s=0.5, connect_s=0.1, ttft_s=1.0, gap_s=0.25, tokens_out=5)
    row = folded(made).row(0, named=True)
    wanted = {"ttft_s": 1.0, "ttft_sent_s": 0.5, "e2e_s": 2.0, "tpot_s": 0.25, "lag_s": 0.4, "connect_s": 0.1, "worst_gap_s": 0.25}
    assert {name: row[name] for name in wanted} == pytest.approx(wanted)


def test_in_a_closed_loop_times_are_from_when_the_request_was_sent() -> None:
    """The client's delay between an answer and the next request is its own: due at 1 s, sent at 1.5 s, first text at 2 s, last at 3 s."""
    made = ServingMade(concurrency=(1,), blocks=1)
    made.request(made.launch(), 1.0, stream=0, lag_s=0.5, ttft_s=1.0, gap_s=0.25, tokens_out=5)
    row = folded(made).row(0, named=True)
    wanted = {"ttft_s": 0.5, "ttft_visible_s": 0.5, "e2e_s": 1.5, "lag_s": 0.5, "tpot_s": 0.25}
    assert {name: row[name] for name in wanted} == pytest.approx(wanted)


def test_time_per_token_leaves_out_the_tokens_of_the_first_chunk() -> None:
    """Chunks of 4, 2 and 4 tokens at 0.1, 0.3 and 0.7 s: 0.6 s for the 6 tokens after the first chunk. A single chunk has none."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    made.request(number, 0.0, at_s=[0.1, 0.3, 0.7], tokens_out=10)
    made.request(number, 1.0, at_s=[0.1], tokens_out=10)
    made.counted(number, 0, tokens_out=10, chunk_tokens=[4, 2, 4])
    assert folded(made)["tpot_s"].to_list() == [pytest.approx(0.1), None]


def test_an_empty_role_chunk_is_no_first_token_and_reasoning_is_not_visible() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.request(made.launch(), 0.0, at_s=[0.1, 0.2, 0.3, 0.4], kinds=[0, 2, 1, 6], tokens_out=2)
    row = folded(made).row(0, named=True)
    assert (row["ttft_s"], row["ttft_visible_s"], row["e2e_s"], row["text_chunks"]) == (0.2, 0.3, 0.3, 2)


def test_one_token_has_no_time_per_token_and_meets_its_objective() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, objectives=Objectives(tpot_s=0.01, ttft_s=1.0))
    number = made.launch()
    made.request(number, 0.0, tokens_out=1)
    made.request(number, 1.0, tokens_out=2, gap_s=0.02)
    made.request(number, 2.0, tokens_out=None, chunks=0, done_s=0.1)  # answered, but without a token
    made.request(number, 3.0, status="5xx")
    rows = folded(made)
    assert rows["tpot_s"].to_list() == [None, pytest.approx(0.02), None, None]
    assert rows["met"].to_list() == [True, False, False, False]


def test_a_gap_is_divided_by_the_tokens_that_it_brought() -> None:
    """Chunks of 1, 2 and 4 tokens at 0.1, 0.3 and 0.7 s by the tokenizer: 0.2/2 and 0.4/4."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    made.request(number, 0.0, at_s=[0.1, 0.3, 0.7], tokens_out=7)
    made.request(number, 1.0, at_s=[0.1, 0.3], tokens_out=2)
    made.counted(number, 0, tokens_out=7, chunk_tokens=[1, 2, 4])
    assert made.measured().served.gaps[number] == pytest.approx([0.1, 0.1, 0.2])


def test_a_chunk_without_a_whole_token_joins_the_next_gap() -> None:
    """Half a character brings no token: its time belongs to the gap of the chunk that completes it."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    made.request(number, 0.0, at_s=[0.1, 0.2, 0.4], tokens_out=2)
    made.request(number, 1.0, tokens_out=1)
    made.counted(number, 0, tokens_out=2, chunk_tokens=[1, 0, 1])
    assert made.measured().served.gaps[number] == pytest.approx([0.3])


def test_tokens_are_counted_where_their_chunks_arrived() -> None:
    """[2, 6) holds, of 4 tokens at 1.0, 2.0 ... 4.0 s after 0 s: three; of 8 in 2 chunks at 5.5 and 6.5 s: four."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    made.request(number, 0.0, phase="warm_up", ttft_s=1.0, gap_s=1.0, tokens_out=4)
    made.request(number, 5.0, at_s=[0.5, 1.5], tokens_out=8)
    made.request(number, 6.0, status="reset", at_s=[0.1], done_s=0.2)  # what a failed answer had brought is no output
    row = made.measured().served.windows.row(0, named=True)
    assert (row["seconds"], row["tokens"], row["evenly"], row["unknown"]) == (4.0, 7.0, 1, 0)


def test_usage_is_believed_before_the_tokenizer_and_a_missing_count_is_no_zero() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for due, usage in enumerate((4, None, None)):
        made.request(number, float(due), tokens_out=usage, chunks=4)
    for request in (0, 1):
        made.counted(number, request, tokens_in=90, tokens_out=5)
    measured = made.measured()
    assert measured.served.requests["tokens"].to_list() == [4.0, 5.0, None]
    assert measured.served.requests["tokens_from"].to_list() == ["usage", "tokenizer", None]
    assert measured.served.requests["tokens_in"].to_list() == [100, 100, 100]
    assert measured.served.windows["tokens"].to_list() == [None]


def test_an_answer_that_was_not_streamed_has_all_its_tokens_at_its_end() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    made.request(number, 0.0, chunks=0, tokens_out=6, done_s=1.0)
    made.request(number, 3.0, chunks=0, tokens_out=6, done_s=1.0)
    row = made.measured().served
    assert row.windows["tokens"].to_list() == [6.0]
    assert row.requests["e2e_s"].to_list() == [1.0, 1.0]


def test_a_record_without_requests_folds_to_nothing() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    assert made.measured().served.requests.height == 0
    made.launch()
    served = made.measured().served
    assert (served.requests.height, served.windows.height, served.windows["seconds"].to_list()) == (0, 1, [None])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 50), warm_up=st.floats(0.0, 1.0))
def test_every_request_has_one_row_and_what_counts_lies_in_the_window(seed: int, warm_up: float) -> None:
    measured = simulated(rate=(8.0,), blocks=1, seconds=2.0, warm_up_s=warm_up, seed=seed, failing=0.1).measured()
    rows, windows = measured.served.requests, measured.served.windows
    assert rows.height == measured.table("requests").height
    for row in rows.filter("counted").join(windows, on="launch").iter_rows(named=True):
        assert row["begin_ns"] <= row["scheduled_ns"] <= row["end_ns"]
        assert row["phase"] == "main"
    answered = rows.filter("ok")
    assert (answered["e2e_s"] >= answered["ttft_s"]).all()
    assert not rows.filter(~pl.col("ok"))["met"].any()


@pytest.mark.parametrize("few", [1, 3, 1000])
def test_folding_slice_by_slice_changes_nothing(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """Of requests, windows, gaps and peers' numbers, but for the last bit: polars divides a single number otherwise than many."""
    made = simulated(rate=(8.0,), blocks=2, seconds=2.0, warm_up_s=0.25, seed=3, failing=0.1)
    whole = made.measured()
    expected, peers = whole.served, whole.peers
    monkeypatch.setattr("fireassay.frames.serving.requests.SLICE", few)
    monkeypatch.setattr("fireassay.frames.serving.answers.SLICE", few)
    again = made.measured()
    found = again.served
    for one, other in ((found.requests, expected.requests), (found.windows, expected.windows), (again.peers, peers)):
        assert_frame_equal(one, other, rel_tol=1e-14, abs_tol=0.0)
    assert found.gaps.keys() == expected.gaps.keys()
    for launch, gaps in found.gaps.items():
        assert gaps.tolist() == pytest.approx(expected.gaps[launch].tolist(), rel=1e-14)


def test_rows_that_were_copied_are_not_multiplied() -> None:
    """A hostile record: one request many times, at other times than its own and between others."""
    measured = simulated(seed=1).measured()
    requests = measured.tables["requests"]
    copies = requests.with_row_index("_at").with_columns(
        request=pl.lit(0, pl.Int64), scheduled_ns=pl.col("scheduled_ns") + pl.col("_at") % 7
    )
    both = pl.concat([requests, copies.drop("_at")])
    folded = serve(measured.experiment, {**measured.tables, "requests": both})
    assert folded.requests.height == both.height
