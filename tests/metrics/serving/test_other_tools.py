"""Other tools' definitions on one answer (the golden transcripts are in tests/golden/test_peers.py), and LoadGen's tail."""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.metrics.serving.other_tools import METRICS, MLPERF_TAIL
from tests.metrics.serving.peer_answers import one_answer, without_text
from tests.metrics.serving.values import absent, estimate, every_second
from tests.serving_made import ServingMade

pytestmark = pytest.mark.slow


# Role 0.1 s, reasoning 0.3, content 0.5 and 0.9, finish 0.95, usage 1.0, end mark 1.1; 4 tokens by usage, 5 by the tokenizer.
BY_HAND = {
    "ttft_vllm": 0.1,
    "ttft_sglang": 0.3,
    "ttft_genai_bench": 0.3,
    "ttft_guidellm": 0.3,
    "ttft_aiperf": 0.3,
    "ttft_inference_perf": 0.5,
    "ttft_llmperf": 0.5,
    "tpot_vllm": (0.95 - 0.1) / 3,
    "tpot_sglang": (1.1 - 0.3) / 3,
    "tpot_genai_bench": (1.1 - 0.3) / 3,
    "tpot_guidellm": 0.9 / 4,
    "tpot_inference_perf": (0.9 - 0.5) / 4,
    "itl_vllm": (0.95 - 0.1) / 4,
    "itl_sglang": (0.9 - 0.3) / 2,
    "itl_guidellm": (0.9 - 0.3) / 3,
    "itl_aiperf": (0.9 - 0.3) / 4,
    "itl_inference_perf": (0.9 - 0.5) / 4,
    "itl_llmperf": 0.9 / 6,
}


def test_every_definition_is_worked_out_by_hand() -> None:
    assert {metric.name for metric in METRICS} == {*BY_HAND, MLPERF_TAIL.name}


@pytest.mark.parametrize(("name", "expected"), BY_HAND.items())
def test_by_hand(name: str, expected: float) -> None:
    assert estimate(name, one_answer()).value == pytest.approx(expected, rel=1e-12)
    assert not catalog.load("metrics", name).primary


@pytest.mark.parametrize("name", BY_HAND)
def test_without_text_there_is_none(name: str) -> None:
    absent(name, without_text())


@pytest.mark.parametrize(
    ("name", "tool"),
    [("ttft_vllm", "vllm"), ("tpot_genai_bench", "genai_bench"), ("mlperf_tail", "mlperf"), ("ttft_p99", ""), ("goodput", "")],
)
def test_a_definition_says_whose_it_is(name: str, tool: str) -> None:
    assert catalog.load("metrics", name).tool == tool


# ---- MLPerf ------------------------------------------------------------------------------------------------------


def stream(process: str, latencies: list[float], together: int = 1) -> ServingMade:
    made = ServingMade(process=process, blocks=1, arrivals={"samples_per_query": together})
    number = made.launch()
    due = 0.0
    for place, latency in enumerate(latencies):
        made.request(number, due, at_s=[latency], tokens_out=1, stream=place % together)
        due += latency if place % together == together - 1 else 0.0
    return made


@pytest.mark.parametrize(("queries", "expected"), [(96, 95), (98, 96)])
def test_single_stream_is_the_second_highest_of_100(queries: int, expected: int) -> None:
    """p90 needs 64 queries with one above, 81 with two, and 97 with three: of 96 the second highest, of 98 the third."""
    value = estimate(MLPERF_TAIL, stream("single_stream", [k / 1e3 for k in range(1, queries + 1)]), "single_stream")
    assert value.value == pytest.approx(expected / 1e3)
    assert "600 s was not kept" in value.method


def test_a_query_of_multi_stream_ends_with_its_last_sample() -> None:
    """662 queries of two samples, of which the second takes 1 ms more: the p99 is the highest."""
    latencies = [x / 1e4 for k in range(1, 663) for x in (k, k + 10)]
    value = estimate(MLPERF_TAIL, stream("multi_stream", latencies, 2), "multi_stream")
    assert (value.value, value.n_trials) == (pytest.approx(672 / 1e4), 662)


def test_too_few_queries_and_other_loads_have_none() -> None:
    few = absent(MLPERF_TAIL, stream("single_stream", [0.1] * 63), "single_stream")
    assert "fewer than 64 queries" in few.detail
    absent(MLPERF_TAIL, every_second(1))
