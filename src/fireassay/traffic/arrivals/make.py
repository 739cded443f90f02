"""What will a launch send, and when?

A function of the experiment, the configuration and the launch's seed alone.

    closed                       streams; each sends its next request when the previous one has ended
    constant poisson gamma       open: arrivals (of conversations, if these have several requests) at the configuration's rate
    stages                       Poisson at a changing rate; with configured rates, stages are multiples of them
    users                        a fixed number of users with think time; or, at a rate, conversations of new users (Poisson)
    trace                        as recorded in a file (`fireassay.traffic.arrivals.traces`)
    single_stream multi_stream   MLPerf: one stream; queries of several requests, the next when all have ended
    server offline               MLPerf: Poisson; everything due when the measured part begins

Identical on every machine, for any number of client processes, and in the same order for every engine.  Configurations of one block
share the seed and so gaps, texts and lengths, up to their number of requests.  `arrivals.requests` counts everything except requests
sent before the load.

Which requests test more than response time?

cold      one by one to every replica before the load: how an engine starts.
canary    a share of the load: each carries a unique nonce that its answer must contain.
identity  the same prompts to every replica, several times: identity the first time, rerun afterwards; the same in every launch of an
          experiment, whatever its seed.  They replace requests of the load, so that its size stays as configured; in a replayed trace,
          and where fewer than twice as many requests exist, they are added.  In streams, which may be cut short at any time, every
          second conversation is an identity check until all are placed, unless `arrivals.requests` fixes the number of requests.
needle    the same prompts under load, after being sent alone: with `correctness.needle`, identity and rerun requests are sent one by one
          before the load (after the cold ones), so that batches of one can be compared with larger ones.

How many tokens does each request of a scenario have?

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

import base64
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from fireassay.errors import refuse
from fireassay.spec.sections.scenario import DATASET, MAX_TOKENS, Scenario, parse, requirements, validity
from fireassay.spec.sections.serving import Prompts
from fireassay.traffic.arrivals import draws, schedule, traces
from fireassay.traffic.arrivals.draws import Floats, Ints, queries
from fireassay.traffic.arrivals.draws import mine as mine
from fireassay.traffic.arrivals.draws import predecessors as predecessors
from fireassay.traffic.arrivals.schedule import batch as batch
from fireassay.traffic.arrivals.schedule import batches as batches
from fireassay.traffic.arrivals.schedule import digest as digest
from fireassay.traffic.arrivals.schedule import read as read
from fireassay.traffic.arrivals.schedule import write as write

if TYPE_CHECKING:
    from fireassay.spec.plan import Configuration
    from fireassay.spec.sections.serving import Arrivals, Serving

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
    if scenario.letter == "L":
        return _log_normal(scenario.numbers, numbers, n)
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
            return documents * document, schedule.NONE
        case "R", (document, query):
            return documents * document + query, schedule.NONE
        case _:
            return schedule.NONE, schedule.NONE


def _normal(parameters: tuple[int, ...], numbers: np.random.Generator, n: int) -> tuple[Counts, Counts]:
    mean_in, deviation_in, mean_out, deviation_out = parameters
    return _whole(numbers.standard_normal((n, 2)) * (deviation_in, deviation_out) + (mean_in, mean_out))


def _log_normal(parameters: tuple[int, ...], numbers: np.random.Generator, n: int) -> tuple[Counts, Counts]:
    """Mean m and deviation s are those of the lengths: sigma^2 = ln(1 + (s/m)^2), mu = ln m - sigma^2 / 2."""
    pairs = np.array(parameters if len(parameters) == 4 else parameters * 2, dtype=np.float64).reshape(2, 2)
    mean, variance = pairs[:, 0], np.log1p((pairs[:, 1] / pairs[:, 0]) ** 2)
    return _whole(np.exp(np.log(mean) - variance / 2.0 + np.sqrt(variance) * numbers.standard_normal((n, 2))))


def _whole(drawn: npt.NDArray[np.float64]) -> tuple[Counts, Counts]:
    """Whole lengths within the limits; shape [n, 2] to twice [n]. Raising short ones to the least raises the mean: docs/decisions/0085."""
    clipped = np.clip(np.rint(drawn), (MIN_IN, MIN_OUT), MAX_TOKENS).astype(np.int64)
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


# ---- scenarios -------------------------------------------------------------------------------------------------------


ANY_LAUNCH: Final = 0  # seed shared by all launches
NONCE: Final = 12  # letters and digits: 60 bits
EVERY: Final = 2  # in streams, one of every so many conversations is a check


@dataclass(frozen=True, kw_only=True)
class Checks:
    """Requests sent before the load and within it, without due times."""

    before: schedule.Schedule
    within: schedule.Schedule


def checks(serving: Serving, scenario: Scenario, seed: int, replicas: int, first_example: int) -> Checks:
    """Cold and identity requests. `first_example`: number of the first of these prompts."""
    cold = _cold(serving, scenario, seed, replicas)
    identity = _identity(serving, scenario, replicas, first_example)
    if not serving.correctness.needle:
        return Checks(before=cold, within=identity)
    isolated = schedule.replaced(identity, phase=np.full(len(identity), schedule.COLD))
    under_load = schedule.replaced(identity, kind=np.full(len(identity), schedule.NEEDLE))
    return Checks(before=schedule.joined([cold, isolated]), within=under_load)


def _cold(serving: Serving, scenario: Scenario, seed: int, replicas: int) -> schedule.Schedule:
    n = serving.arrivals.cold * replicas
    tokens_in, tokens_out = lengths(scenario, serving.prompts, draws.generator(seed, "cold lengths"), n)
    return schedule.rows(
        n,
        phase=schedule.COLD,
        replica=np.arange(n) % replicas,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        seed=draws.text_seeds(seed, "cold", n),
    )


def _identity(serving: Serving, scenario: Scenario, replicas: int, first_example: int) -> schedule.Schedule:
    """By round, then prompt, then replica."""
    prompts = serving.correctness.identity
    numbers = draws.generator(ANY_LAUNCH, "identity lengths")
    tokens_in, tokens_out = lengths(scenario, serving.prompts, numbers, prompts)
    seeds = draws.text_seeds(ANY_LAUNCH, "identity", prompts)
    n = serving.correctness.reruns * prompts * replicas
    positions = np.arange(n, dtype=np.int64)
    prompt = positions // replicas % max(prompts, 1)
    return schedule.rows(
        n,
        kind=np.where(positions < prompts * replicas, schedule.IDENTITY, schedule.RERUN),
        replica=positions % replicas,
        tokens_in=tokens_in[prompt],
        tokens_out=tokens_out[prompt],
        seed=seeds[prompt],
        example=first_example + prompt,
    )


# ---- placement in the load ---------------------------------------------------------------------------------------


def within_times(
    load: schedule.Schedule, placed: schedule.Schedule, warm_up_ns: int, end_ns: int, most: int | None = None, *, add: bool
) -> schedule.Schedule:
    """An open loop with the checks spread evenly over its measured part, of at most `most` requests.

    `add`: checks replace none of the load's own requests, except to respect `most`.
    """
    if not len(placed):
        return load
    starts = np.flatnonzero((load.due_ns >= warm_up_ns) & (load.turn <= 0))
    if add or len(placed) > len(starts) // 2:
        if most is not None:
            load = schedule.chosen(load, np.arange(min(len(load), max(most - len(placed), 0)), dtype=np.int64))
        last_ns = min(end_ns, int(load.due_ns.max(initial=warm_up_ns)) + 1)
        due_ns = warm_up_ns + np.floor(_even(len(placed)) * (last_ns - warm_up_ns)).astype(np.int64)
    else:
        replaced_at = starts[np.floor(_even(len(placed)) * len(starts)).astype(np.int64)]
        due_ns = load.due_ns[replaced_at]
        load = _without(load, replaced_at)
    merged = schedule.joined([load, schedule.replaced(placed, due_ns=due_ns)])
    # A follower stays after its predecessor: its sort key is that of the last request with a due time.
    order = np.argsort(np.concatenate([np.maximum.accumulate(load.due_ns), due_ns]), kind="stable")
    return schedule.chosen(merged, order[:most])


def within_streams(load: schedule.Schedule, placed: schedule.Schedule, steps: int, requests: int | None) -> schedule.Schedule:
    """A closed loop with the checks between the conversations (of `steps` requests each) of its streams."""
    if not len(placed):
        return load
    streams, lengths = np.unique(load.stream, return_counts=True)
    number = np.arange(len(placed), dtype=np.int64)
    indices = number % len(streams)
    turn = number // len(streams)
    if requests is None:
        before = (turn + 1) * (EVERY - 1)
    else:
        turns = -(-len(placed) // len(streams))
        others = np.maximum(lengths[indices] // steps - turns, 0)
        before = np.maximum(1, np.floor((turn + 0.5) * others / turns)).astype(np.int64)
    # Before the round in which that conversation of its stream begins, and after the previous one.
    key = np.minimum(before * steps, lengths[indices]) * len(streams) - 1 + (indices + 1) / (len(streams) + 1)
    merged = schedule.joined([load, schedule.replaced(placed, stream=streams[indices])])
    load_key = _positions(load.stream) * len(streams) + np.searchsorted(streams, load.stream)
    order = np.argsort(np.concatenate([load_key, key]), kind="stable")
    return schedule.chosen(merged, order[:requests])


def _positions(streams: npt.NDArray[np.int32]) -> Ints:
    """For each request, how many earlier requests its stream has."""
    order = np.argsort(streams, kind="stable")
    _, first, inverse = np.unique(streams[order], return_index=True, return_inverse=True)
    positions = np.empty(len(streams), dtype=np.int64)
    positions[order] = np.arange(len(streams)) - first[inverse]
    return positions


def _even(n: int) -> Floats:
    """Midpoints of `n` equal parts of 0..1."""
    return (np.arange(n, dtype=np.float64) + 0.5) / n


def _without(load: schedule.Schedule, starts: Ints) -> schedule.Schedule:
    """The load without these requests and their conversations."""
    removed = np.zeros(len(load), dtype=bool)
    removed[starts] = True
    sessions = load.session[starts]
    removed |= np.isin(load.session, sessions[sessions >= 0])
    return schedule.chosen(load, np.flatnonzero(~removed))


# ---- canaries ----------------------------------------------------------------------------------------------------


def canaries(load: schedule.Schedule, share: float, seed: int) -> schedule.Schedule:
    """The load with a nonce in this share of its measured requests: one at random in each group of 1/share.

    In conversations only first turns carry one, because later turns would repeat the nonces of earlier ones.
    """
    if share <= 0.0:
        return load
    eligible = np.flatnonzero((load.phase != schedule.WARM_UP) & (load.kind == schedule.NORMAL) & (load.turn <= 0))
    blocks = max(int(len(eligible) * share), 1)
    shifts = draws.uniform(draws.source(seed, "canaries"), blocks)
    picks = np.floor((np.arange(blocks, dtype=np.float64) + shifts) * min(1.0 / share, len(eligible))).astype(np.int64)
    indices = eligible[np.unique(picks[picks < len(eligible)])]
    kind, example = load.kind.copy(), load.example.copy()
    kind[indices], example[indices] = schedule.CANARY, schedule.NONE
    expected = {int(number): nonce(int(load.seed[number])) for number in indices}
    return replace(schedule.replaced(load, kind=kind, example=example), expected=expected)


def nonce(text_seed: int) -> str:
    """Nonce of the request whose text has this seed."""
    digest = hashlib.sha256(f"assay canary {text_seed}".encode()).digest()
    return base64.b32encode(digest).decode()[:NONCE].lower()


def build(serving: Serving, configuration: Configuration, seed: int, replicas: int, base: Path) -> schedule.Schedule:
    """The complete schedule of a launch with this seed. `base`: the folder that trace paths are relative to.

    Raises:
        SpecError: a trace cannot be read, or the request count is too large.
    """
    scenario, replicas = (parse(configuration.scenario), max(replicas, 1))  # without a URL the model runs in the client
    load = _timed(serving, configuration, seed, base)
    load = _worded(load, serving, scenario, seed)
    extra = checks(serving, scenario, seed, replicas, int(load.example.max(initial=schedule.NONE)) + 1)
    load = _with_checks(load, extra.within, serving)
    load = canaries(load, serving.correctness.canaries, seed)
    return schedule.joined([extra.before, load])


def _timed(serving: Serving, configuration: Configuration, seed: int, base: Path) -> schedule.Schedule:
    """The load with its due times."""
    arrivals, load = serving.arrivals, configuration.load
    match arrivals.process:
        case "closed":
            return draws.closed(serving, int(load or 1), seed)
        case "single_stream":
            return draws.closed(serving, 1, seed)
        case "multi_stream":
            return queries(arrivals)
        case "users" if serving.concurrency:
            return draws.users(serving, int(load or 1), seed)
        case "offline":
            n = arrivals.requests or 1
            return _phased(schedule.rows(n, due_ns=_warm_up_ns(serving)), serving)
        case "trace":
            return _measured(_phased(_first(_replayed(serving, base), serving), serving), serving)
        case _:
            return _phased(_first(_open(serving, load, seed), serving), serving)


def _open(serving: Serving, load: float | None, seed: int) -> schedule.Schedule:
    steps = draws.length(serving.prompts)
    due_ns = draws.due(serving.arrivals, load, seed, steps)
    if steps == 1 and serving.arrivals.process != "users":
        return schedule.rows(len(due_ns), due_ns=due_ns)
    return draws.paused(draws.started(due_ns, steps), serving.prompts, seed)


def _replayed(serving: Serving, base: Path) -> schedule.Schedule:
    """The recorded requests up to the end of the load."""
    arrivals, end_ns = serving.arrivals, draws.horizon_ns(serving.arrivals)
    load = traces.replay(base / arrivals.trace, arrivals.trace_format, arrivals.speed, end_ns)
    too_late = load.due_ns >= end_ns
    unreachable = np.isin(load.session, load.session[too_late & (load.turn == 0)]) & (load.due_ns == schedule.NONE)
    return schedule.chosen(load, np.flatnonzero(~too_late & ~unreachable)) if too_late.any() else load


def _measured(load: schedule.Schedule, serving: Serving) -> schedule.Schedule:
    """The load. Raises SpecError: its trace ends within the warm-up, so that nothing would be measured."""
    if (load.phase == schedule.WARM_UP).all():
        found = f"a trace that ends after {load.due_ns.max() / draws.NS:g} s, within the warm-up of {serving.arrivals.warm_up_s:g} s"
        fix = "Write --warm-up 0s (serving.arrivals.warm_up_s = 0)."
        raise refuse("serving.arrivals.trace", found, "requests after the warm-up", fix, source="the load")
    return load


def _first(load: schedule.Schedule, serving: Serving) -> schedule.Schedule:
    requests = serving.arrivals.requests
    return load if requests is None or requests >= len(load) else schedule.chosen(load, np.arange(requests, dtype=np.int64))


def _phased(load: schedule.Schedule, serving: Serving) -> schedule.Schedule:
    warms_up = (load.due_ns != schedule.NONE) & (load.due_ns < _warm_up_ns(serving))
    return schedule.replaced(load, phase=np.where(warms_up, schedule.WARM_UP, schedule.MAIN))


def _warm_up_ns(serving: Serving) -> int:
    return round(serving.arrivals.warm_up_s * draws.NS)


def _worded(load: schedule.Schedule, serving: Serving, scenario: Scenario, seed: int) -> schedule.Schedule:
    """The load with a text for each request that has none yet."""
    n = len(load)
    tokens_in, tokens_out = lengths(scenario, serving.prompts, draws.generator(seed, "lengths"), n)
    seeds = draws.text_seeds(seed, "texts", n)
    tokens_in = np.where(load.pause_kind == schedule.TOOL, serving.prompts.tool_tokens, tokens_in)
    if (load.example >= 0).any():  # equal texts have equal seeds
        _, first, inverse = np.unique(load.example, return_index=True, return_inverse=True)
        seeds = np.where(load.example >= 0, seeds[first[inverse]], seeds)
    return schedule.replaced(
        load,
        seed=seeds,
        tokens_in=np.where(load.tokens_in >= 0, load.tokens_in, tokens_in),
        tokens_out=np.where(load.tokens_out >= 0, load.tokens_out, tokens_out),
    )


def _with_checks(load: schedule.Schedule, placed: schedule.Schedule, serving: Serving) -> schedule.Schedule:
    arrivals = serving.arrivals
    if (load.stream >= 0).any():
        steps = 1 if load.together else draws.length(serving.prompts)
        return within_streams(load, placed, steps, arrivals.requests)
    return within_times(
        load, placed, _warm_up_ns(serving), draws.horizon_ns(arrivals), arrivals.requests, add=arrivals.process in ("trace", "offline")
    )
