"""Is what is wanted found on a page of metrics, and does garbage do no harm?"""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from fireassay.instruments.engines.exposition import KNOWN, Series, combine, parse, spellings

VLLM = b"""\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="unsloth/Llama-3.2-1B-Instruct"} 8.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.28
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 5.6e+02
vllm:prefix_cache_hits_created{engine="0",model_name="m"} 1.7e+09
vllm:time_to_first_token_seconds_bucket{le="0.001",model_name="m"} 0.0
vllm:time_to_first_token_seconds_sum{model_name="m"} 4.354
vllm:time_to_first_token_seconds_count{model_name="m"} 140.0
"""


def test_a_real_page_gives_what_is_known() -> None:
    names = spellings(KNOWN)
    assert {(KNOWN[names[one.name]].counter, one.value) for one in parse(VLLM, names)} == {
        ("requests_running", 8.0),
        ("kv_cache_used", 0.28),
        ("prefix_cache_hits", 560.0),
        ("ttft_sum", 4.354),
        ("ttft_count", 140.0),
    }


def test_labels_are_read_with_their_escapes_commas_and_braces() -> None:
    page = rb'x{a="1,2",b="q\"uo\\te}",c="two\nlines" , } 3 1700000000000'
    assert parse(page, ["x"]) == [Series("x", {"a": "1,2", "b": 'q"uo\\te}', "c": "two\nlines"}, 3.0)]


def test_exemplars_and_timestamps_are_left_out() -> None:
    page = b'x_total{a="b"} 17 1700000000.0 # {trace_id="abc"} 0.67\nx 1#2\n# EOF\n'
    assert [one.value for one in parse(page, ["x_total", "x"])] == [17.0, 1.0]


def test_what_is_no_finite_number_is_left_out() -> None:
    page = b'x NaN\nx +Inf\nx -Inf\nx\nx twelve\nx{a=1} 2\nx{a="b" 3\nx} 4\n  x 5\nx 6\n'
    assert [one.value for one in parse(page, ["x"])] == [6.0]


def test_a_line_without_end_is_left_out() -> None:
    assert parse(b'x{a="' + b"b" * 1_000_000 + b'"} 1\nx 2', ["x"]) == [Series("x", {}, 2.0)]


def test_several_series_become_one() -> None:
    assert combine([1.0, 2.0, 3.5], "sum") == 6.5
    assert combine([0.25, 0.5], "max") == 0.5


@given(st.binary(max_size=2000))
def test_any_bytes_are_survived(page: bytes) -> None:
    assert all(math.isfinite(one.value) for one in parse(page, ["x", "y"]))


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=20)


@given(st.dictionaries(st.sampled_from(["a", "b", "le"]), TEXT), st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_written_is_read(labels: dict[str, str], value: float) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    page = "name{" + ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items()) + "} " + repr(value) + "\n"
    assert parse(page.encode(), ["name"]) == [Series("name", labels, value)]
