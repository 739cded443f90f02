"""How many tokens does each request of a scenario have?

Lengths are drawn from the caller's generator.  As in genai-bench, normal lengths are rounded to the nearest integer and clamped to at
least 1 for the input and 2 for the output; so are uniform ones, whose bounds are inclusive.  (genai-bench truncates instead of rounding,
which lowers its means by half a token and excludes its uniform upper bounds, and draws without a seed.)

Would a run of this experiment be long and large enough for MLPerf?

Decided in advance from the experiment.  The scenarios as arrivals (`fireassay.traffic.arrivals.make`): SingleStream is a closed loop of one
stream.  MultiStream is a closed loop of `samples_per_query` streams whose next requests all wait for the last answer of the query
(`Schedule.together`).  Server is Poisson at the rate.  In Offline everything is due when the measured part begins.  Texts are drawn
without LoadGen's fixed seeds and sets: latencies are comparable with LoadGen's, but are not valid submissions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fireassay.spec.sections.mlperf import requirements, validity
from fireassay.spec.sections.scenario import DATASET, MAX_TOKENS, Scenario
from fireassay.spec.sections.serving import Prompts
from fireassay.traffic.arrivals.schedule import NONE

if TYPE_CHECKING:
    from fireassay.spec.sections.serving import Arrivals

if TYPE_CHECKING:
    import numpy.typing as npt

    Counts = npt.NDArray[np.int64]

MIN_IN: Final = 1
MIN_OUT: Final = 2


def lengths(scenario: Scenario, prompts: Prompts, numbers: np.random.Generator, n: int) -> tuple[Counts, Counts]:
    """`draw`, with the experiment's prompt settings: output length for file rows, and number of documents."""
    tokens_in, tokens_out = draw(scenario, numbers, n, prompts.documents)
    if scenario.letter == DATASET and prompts.answer_tokens is not None:
        tokens_out = np.full(n, prompts.answer_tokens, dtype=np.int64)
    return tokens_in, tokens_out


def draw(scenario: Scenario, numbers: np.random.Generator, n: int, documents: int = 1) -> tuple[Counts, Counts]:
    """Input and output tokens of `n` requests, int64; -1 where the scenario fixes none.

    Every request consumes the same number of draws, so a shorter sequence is a prefix of a longer one.  Embeddings count the
    tokens of all `documents`; rerank counts those of the query and all documents.
    """
    if scenario.letter == "N":
        return _normal(scenario.numbers, numbers, n)
    if scenario.letter == "U":
        return _uniform(scenario.numbers, numbers, n)
    tokens_in, tokens_out = _fixed(scenario, documents)
    return np.full(n, tokens_in, dtype=np.int64), np.full(n, tokens_out, dtype=np.int64)


def _fixed(scenario: Scenario, documents: int) -> tuple[int, int]:
    match scenario.letter, scenario.numbers:
        case "D", (tokens_in, tokens_out):
            return tokens_in, tokens_out
        case "P", (prefix, rest, tokens_out):
            return prefix + rest, tokens_out
        case "E", (document,):
            return documents * document, NONE
        case "R", (document, query):
            return documents * document + query, NONE
        case _:
            return NONE, NONE


def _normal(parameters: tuple[int, ...], numbers: np.random.Generator, n: int) -> tuple[Counts, Counts]:
    mean_in, deviation_in, mean_out, deviation_out = parameters
    draws = np.rint(numbers.standard_normal((n, 2)) * (deviation_in, deviation_out) + (mean_in, mean_out))
    clipped = np.clip(draws, (MIN_IN, MIN_OUT), MAX_TOKENS).astype(np.int64)
    return clipped[:, 0], clipped[:, 1]


def _uniform(parameters: tuple[int, ...], numbers: np.random.Generator, n: int) -> tuple[Counts, Counts]:
    # as in genai-bench: with two parameters, both ranges start at 1
    low_in, high_in, low_out, high_out = parameters if len(parameters) == 4 else (1, parameters[0], 1, parameters[1])
    # One uniform number each: rejection sampling would consume a varying number of draws.
    share = numbers.random((n, 2))
    least = np.array([low_in, low_out])
    drawn = least + np.floor(share * (np.array([high_in, high_out]) - least + 1)).astype(np.int64)
    return np.maximum(drawn[:, 0], MIN_IN), np.maximum(drawn[:, 1], MIN_OUT)


def expected_shortfall(arrivals: Arrivals, load: float | None) -> str:
    """Requirements that the run will certainly miss, worded as in `validity`; empty if none, or not an MLPerf scenario.

    The request count of a closed loop is unknown in advance unless `arrivals.requests` sets it.
    """
    required = requirements(arrivals.process)
    if required is None:
        return ""
    requests = arrivals.requests
    if arrivals.process == "offline":  # its duration depends on the engine
        return _unless_met(arrivals.process, required.seconds, 1, requests or 1)
    if arrivals.process == "multi_stream":
        queries = required.queries if requests is None else -(-requests // arrivals.samples_per_query)
        return _unless_met(arrivals.process, arrivals.duration_s, queries, arrivals.samples_per_query)
    expected = required.queries if load is None or arrivals.process != "server" else int(load * arrivals.duration_s)
    return _unless_met(arrivals.process, arrivals.duration_s, expected if requests is None else min(expected, requests), 1)


def _unless_met(process: str, seconds: float, queries: int, samples_per_query: int) -> str:
    verdict = validity(process, seconds, queries, samples_per_query)
    return "" if verdict.endswith("met") else verdict
