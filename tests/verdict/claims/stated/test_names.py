"""Names of metrics: their statistic, their synonyms, their kind."""

from __future__ import annotations

import pytest

from fireassay.spec.claim import Number
from fireassay.verdict.claims.stated.kinds import (
    is_quality,
    is_rate,
    is_relative,
    is_speed,
    is_wait,
    lower_is_better,
    metric_name,
    statistic_in,
    unit_of,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p99 TTFT (ms)", "p99"),
        ("ttft_p50", "median"),
        ("mean latency", "mean"),
        ("99th percentile latency", "p99"),
        ("P99.9 of e2e", "p999"),
        ("average ITL", "mean"),
        ("throughput", None),
        ("p99 latency of at most 300 ms", "p99"),
        ("meaning", None),
    ],
)
def test_a_statistic_may_stand_in_a_name(text: str, expected: str | None) -> None:
    assert statistic_in(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p99 TTFT (ms)", "ttft"),
        ("time to first token", "ttft"),
        ("1st token latency", "ttft"),
        ("end-to-end latency", "e2e"),
        ("latency", "e2e"),
        ("median inter-token latency", "itl"),
        ("latency_ms", "e2e"),
        ("lower tail latency", "e2e"),
        ("Output Throughput", "output_throughput"),
    ],
)
def test_one_metric_has_one_name(text: str, expected: str) -> None:
    assert metric_name(text) == expected


def number(metric: str, unit: str | None = None) -> Number:
    return Number(metric=metric, value=1.0, unit=unit)


def test_words_that_mean_something_else_are_told_apart() -> None:
    assert not is_rate(number("cache hit rate"))
    assert not is_rate(number("learning rate"))
    assert not is_relative(number("energy efficiency", "tokens/J"))
    assert not is_relative(number("compression ratio"))
    assert not is_quality(number("packet loss"))
    assert is_quality(number("validation loss"))
    assert not is_quality(number("time to accuracy", "hours"))
    assert not is_quality(number("GPU-hours to target accuracy"))
    assert not is_quality(number("steps until loss"))
    assert not is_wait(number("queue length", "requests"))
    assert not is_wait(number("decode throughput", "tokens/s"))
    assert not is_speed(number("MFU", "%"))
    assert is_speed(number("GPU-hours saved", "hours"))
    assert lower_is_better(number("step time", "s"))
    assert not lower_is_better(number("latency reduction", "%"))


@pytest.mark.parametrize(
    ("metric", "kind"),
    [
        ("latency_ms", "time"),
        ("TTFT (ms)", "time"),
        ("tokens per second", "rate"),
        ("throughput [tokens/s]", "rate"),
        ("tokens_per_s", "rate"),
        ("speedup", None),
    ],
)
def test_a_unit_may_stand_in_the_name(metric: str, kind: str | None) -> None:
    assert unit_of(number(metric)).kind == kind
