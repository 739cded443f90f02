"""Which metric and statistic does a name such as "p99 TTFT (ms)" or "median time per output token" denote?

Names are normalised to words joined by one underscore. A statistic in the name counts if `statistic` is not given.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fireassay.spec.claim import Number


LEVELS: Final = {"min": 0.0, "p50": 0.50, "median": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}
IN_NAMES: Final = (  # first match wins
    (r"p_?99_9|p999|99_9th|99_9_percentile", "p999"),
    (r"p_?99|99th|99_percentile", "p99"),
    (r"p_?95|95th|95_percentile", "p95"),
    (r"p_?90|90th|90_percentile", "p90"),
    (r"p_?50|50th|median", "median"),
    (r"mean|average|avg", "mean"),
)
SYNONYMS: Final = (  # usual names of one latency
    (r"ttft|time_to_first_token|(first|1st)_token(_latency|_time)?|time_to_first_chunk", "ttft"),
    (r"tpot|time_per_output_token", "tpot"),
    (r"itl|inter_token_latency|inter_token_time|tbt|time_between_tokens", "itl"),
    (r"e2el?(_latency|_time)?|end_to_end(_latency|_time)?|request_latency|response_time|response_latency|latency", "e2e"),
)


@cache
def folded_name(text: str) -> str:
    """ "TTFT (ms)" -> "ttft_ms"."""
    return re.sub(r"[^0-9a-zµ@]+", "_", text.casefold()).strip("_")


@cache
def has_word(text: str, words: tuple[str, ...], beginnings: tuple[str, ...] = ()) -> bool:
    """True if a name contains one of the words, or a word with one of the prefixes."""
    name = folded_name(text)
    whole = any(re.search(rf"(^|_){re.escape(word)}s?(_|$)", name) for word in words)
    return whole or any(re.search(rf"(^|_){re.escape(word)}", name) for word in beginnings)


@cache
def statistic_in(text: str) -> str | None:
    """The statistic named in a metric's name or an objective."""
    name = folded_name(text)
    return next((known for pattern, known in IN_NAMES if re.search(rf"(^|_)({pattern})(_|$)", name)), None)


def words(text: str) -> tuple[str, ...]:
    """Words or beginnings of words that a name may contain."""
    return tuple(text.split())


def statistic(number: Number) -> str | None:
    """Its statistic: as stated, or from its name."""
    return number.statistic or statistic_in(number.metric)


@cache
def metric_name(text: str) -> str:
    """A metric's canonical name without statistic and unit: "p99 TTFT (ms)" and "time to first token" are both "ttft"."""
    name = folded_name(re.sub(r"\([^)]*\)", " ", text))
    for pattern, _ in IN_NAMES:
        name = re.sub(rf"(^|_)({pattern})(?=_|$)", "", name).strip("_")
    name = re.sub(r"_(ms|s|us|seconds|milliseconds)$", "", name)
    name = re.sub(r"(^|_)(tail|lower|higher|faster|better|reduced|improved)(?=_|$)", "", name).strip("_") or name
    return next((short for pattern, short in SYNONYMS if re.fullmatch(pattern, name)), name)
