"""Which random numbers does a schedule use, and why are they the same on every machine?

Every purpose (gaps, lengths, canaries ...) has its own stream, seeded by the launch's seed and the purpose's name, so enabling canaries
moves no arrival.  Only the raw output of PCG64 and SeedSequence is used, which numpy guarantees to keep (NEP 19); it does not guarantee
`Generator`'s distributions.  Logarithms use only additions, multiplications and divisions, which IEEE 754 rounds exactly, because
math libraries differ between machines.
The gamma distribution's inverse comes from scipy: its last digits may differ between scipy versions.

When are the requests of an open loop due?

Times after the load's start, fixed in advance.  With cumulative rate L(t), the number of requests expected until t, and the arrivals s of
a process of rate 1 (cumulative unit gaps), requests are due at t = L^-1(s): s / rate at a constant rate, the root of a quadratic at a
linearly changing rate (Cinlar, Introduction to Stochastic Processes, 1975, section 4.7).  So arrivals at 10 per second are those at
5 per second, twice as fast: loads of one block share their randomness.

What do the streams of a closed loop send?

Each stream sends its next request when the previous one has ended.  Request j of stream s has number j * streams + s: the sending order
if all took equally long.  A stream runs one conversation after another; users are streams with think time between conversations as well
as between turns.

How many a stream will send depends on the engine, so more are scheduled than any engine can answer: 5000 per second per stream, 20,000
per second in total, and a million per launch.  Beyond that `arrivals.requests` must be set, which is then exact.

Which client process sends a request, and which request must end first?

How do the requests of a conversation follow each other?

A conversation has `turns` turns; each turn is a request plus `tool_steps` further ones, each after a tool call.  A request's `turn` counts
all of them.  Pauses are exponential: think time before a turn, tool time before a step.  Every request consumes one draw, so shorter loads
are prefixes of longer ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from fireassay.errors import refuse
from fireassay.traffic.arrivals.schedule import COLD, NONE, THINK, TOOL, Schedule, chosen, replaced, rows

if TYPE_CHECKING:
    from fireassay.spec.sections.serving import Arrivals, Prompts, Serving

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HALF_ROOT: Final = 0.7071067811865476  # sqrt(1/2): the mantissa lies within this factor of 1
LN_2_HIGH: Final = 0.693147180369123816490  # 32 trailing zero bits, so that multiples up to 2**31 are exact
LN_2_LOW: Final = 1.90821492927058770002e-10  # the remainder (as in fdlibm's e_log.c)
TERMS: Final = 12  # of the series of atanh; for mantissas this close to 1 the 13th is below 1e-19
SEEDS: Final = 2**53  # text seeds are smaller, so JSON represents them exactly


def source(seed: int, purpose: str) -> np.random.PCG64:
    """Raw random numbers for one purpose in one launch."""
    word = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:16], "little")
    return np.random.PCG64(np.random.SeedSequence([seed % 2**64, word]))


def generator(seed: int, purpose: str) -> np.random.Generator:
    """The same as a numpy generator, for drawing lengths."""
    return np.random.Generator(source(seed, purpose))


def uniform(raw: np.random.PCG64, n: int) -> Floats:
    """`n` numbers uniform on the multiples of 2**-53 in [0, 1); shape [n]."""
    return np.asarray(raw.random_raw(n) >> np.uint64(11), dtype=np.float64) * 2.0**-53


def exponential(raw: np.random.PCG64, n: int) -> Floats:
    """`n` exponential numbers with mean 1, by inversion; shape [n]."""
    return -logarithm(1.0 - uniform(raw, n))


def gamma(raw: np.random.PCG64, n: int, cv: float) -> Floats:
    """`n` gamma numbers with mean 1 and coefficient of variation `cv`, by inversion; shape [n]."""
    from scipy.special import gammaincinv

    shape = cv**-2
    return np.asarray(gammaincinv(shape, uniform(raw, n)) / shape, dtype=np.float64)


def text_seeds(seed: int, purpose: str, n: int) -> Ints:
    """Seeds of `n` texts: consecutive from a random start, so that all differ and compress well."""
    begin = int(source(seed, purpose).random_raw() >> 11)
    return (begin + np.arange(n, dtype=np.int64)) % SEEDS


def logarithm(values: Floats) -> Floats:
    """Natural logarithms of positive numbers, identical on every machine; relative error below 1e-15."""
    mantissa, exponent = np.frexp(values)
    low = mantissa < HALF_ROOT
    mantissa = np.where(low, 2.0 * mantissa, mantissa)
    exponent = np.asarray(exponent - low, dtype=np.float64)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = np.full_like(ratio, 1.0 / (2 * TERMS - 1))
    for term in range(TERMS - 2, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    return np.asarray(exponent * LN_2_HIGH + (exponent * LN_2_LOW + 2.0 * ratio * series))


NS: Final = 1e9
MAX_REQUESTS: Final = 5_000_000  # requests per launch: a schedule of so many takes 800 MB


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of the load with a linearly changing rate."""

    duration_s: float
    rate: float  # requests per second at its start
    rate_to: float  # and at its end

    @property
    def requests(self) -> float:
        return self.duration_s * (self.rate + self.rate_to) / 2.0


def due(arrivals: Arrivals, load: float | None, seed: int, steps: int = 1) -> Ints:
    """Due times in ns after the load's start, ascending, before its end; shape [conversations of `steps` requests]."""
    pieces = profile(arrivals, load)
    expected = sum(piece.requests for piece in pieces)
    _refuse_too_many(expected * steps)
    units = _units(arrivals, seed, expected)
    times = np.rint(_inverse(pieces, units) * NS).astype(np.int64)
    times = times[times < horizon_ns(arrivals)]
    return times if arrivals.requests is None else times[: -(-arrivals.requests // steps)]


def horizon_ns(arrivals: Arrivals) -> int:
    """How long requests become due, warm-up included, ns."""
    return round((arrivals.warm_up_s + arrivals.duration_s) * NS)


def profile(arrivals: Arrivals, load: float | None) -> tuple[Piece, ...]:
    """The rate over the load. Stages begin with the measured part; the warm-up runs at the first stage's initial rate."""
    if arrivals.process != "stages":
        rate = 0.0 if load is None else load
        return (Piece(duration_s=arrivals.warm_up_s + arrivals.duration_s, rate=rate, rate_to=rate),)
    times = 1.0 if load is None else load
    stages = [
        Piece(
            duration_s=stage.duration_s, rate=stage.rate * times, rate_to=(stage.rate if stage.rate_to is None else stage.rate_to) * times
        )
        for stage in arrivals.stages
    ]
    first = stages[0].rate if stages else 0.0
    return (Piece(duration_s=arrivals.warm_up_s, rate=first, rate_to=first), *stages)


def _units(arrivals: Arrivals, seed: int, expected: float) -> Floats:
    """Arrivals of the process at rate 1, up to `expected`."""
    if arrivals.process == "constant":
        return np.arange(int(np.ceil(expected)), dtype=np.float64)
    raw = source(seed, "gaps")
    if arrivals.process == "gamma":
        return _summed(lambda n: gamma(raw, n, arrivals.cv), expected, arrivals.cv)
    return _summed(lambda n: exponential(raw, n), expected, 1.0)


def _summed(draw: Callable[[int], Floats], limit: float, cv: float) -> Floats:
    """Cumulative gaps with mean 1, until beyond `limit`."""
    gaps = draw(int(limit + 6.0 * cv * limit**0.5) + 16)
    while gaps.sum() <= limit:
        gaps = np.concatenate([gaps, draw(len(gaps))])
    sums = np.cumsum(gaps)
    return np.asarray(sums[sums < limit])


def _inverse(pieces: tuple[Piece, ...], units: Floats) -> Floats:
    """Seconds at which the cumulative rate reaches each of `units`."""
    times = np.empty_like(units)
    begin_s, begin = 0.0, 0.0
    for piece in pieces:
        inside = (units >= begin) & (units < begin + piece.requests)
        times[inside] = begin_s + _inverse_within(piece, units[inside] - begin)
        begin_s, begin = begin_s + piece.duration_s, begin + piece.requests
    times[units >= begin] = begin_s  # the last arrival, if rounding put it at the end
    return times


def _inverse_within(piece: Piece, units: Floats) -> Floats:
    slope = (piece.rate_to - piece.rate) / piece.duration_s if piece.duration_s else 0.0
    if slope == 0.0:
        return units / piece.rate
    # rate t + slope t^2 / 2 = u, in the form that loses no precision for small slopes
    root = np.sqrt(np.maximum(piece.rate**2 + 2.0 * slope * units, 0.0))
    return np.asarray(2.0 * units / (piece.rate + root))


def _refuse_too_many(expected: float) -> None:
    if expected > MAX_REQUESTS:
        found, fix = f"{expected:.3g} requests in a launch", "Lower the rate or serving.arrivals.duration_s."
        raise refuse("serving.rate", found, f"at most {MAX_REQUESTS} in a launch", fix)


# ---- streams ---------------------------------------------------------------------------------------------------------


def mine(schedule: Schedule, k: int, n: int) -> Ints:
    """Numbers of the requests that client process `k` of `n` sends, ascending; shape [requests of this client].

    All cold requests belong to process 0.  A request belongs to the same process as its predecessor.
    """
    if not 0 <= k < n:
        raise ValueError(f"no client process {k} of {n}")
    return np.flatnonzero(_owners(schedule, n) == k)


def predecessors(schedule: Schedule) -> Ints:
    """Each request's predecessor, -1 where it has its own due time; shape [requests].

    With `together` it is the last request of the previous group, all of which must have ended.
    """
    previous = np.full(len(schedule), NONE, dtype=np.int64)
    cold = schedule.phase == COLD
    _chain(previous, np.where(cold, 0, NONE))
    _chain(previous, np.where(cold, NONE, schedule.stream))
    later = _chain(np.full_like(previous, NONE), schedule.session)
    previous = np.where((schedule.session >= 0) & (schedule.turn > 0), later, previous)
    if schedule.together:
        positions = np.arange(len(schedule)) - int(cold.sum())
        group = positions // schedule.together
        previous = np.where(cold, previous, group * schedule.together - 1 + int(cold.sum()))
    return np.where(schedule.due_ns == NONE, previous, NONE)


def _owners(schedule: Schedule, n: int) -> Ints:
    if schedule.together:
        return np.zeros(len(schedule), dtype=np.int64)
    key = np.where(schedule.session >= 0, schedule.session, np.arange(len(schedule), dtype=np.int64))
    key = np.where(schedule.stream >= 0, schedule.stream, key)
    return np.where(schedule.phase == COLD, 0, key % n)


def _chain(previous: Ints, keys: Ints) -> Ints:
    """Write into `previous` the nearest earlier number with the same key, for non-negative keys."""
    order = np.argsort(keys, kind="stable")
    order = order[keys[order] >= 0]
    same = keys[order[1:]] == keys[order[:-1]]
    previous[order[1:][same]] = order[:-1][same]
    return previous


def length(prompts: Prompts) -> int:
    """Requests per conversation."""
    return prompts.turns * (1 + prompts.tool_steps)


def paused(load: Schedule, prompts: Prompts, seed: int, between_s: float = 0.0) -> Schedule:
    """The load with its pauses: before every later request of a conversation, and of mean `between_s` before a stream's next one."""
    if not (prompts.think_s or prompts.tool_steps or between_s):
        return load
    follows = load.due_ns == NONE
    tool = (load.turn > 0) & (load.turn % (1 + prompts.tool_steps) != 0)
    mean_s: Floats = np.where(tool, prompts.tool_s, np.where(load.turn > 0, prompts.think_s, between_s))
    draws = np.rint(exponential(source(seed, "pauses"), len(load)) * mean_s * NS).astype(np.int64)
    thinking = follows & ~tool & (mean_s > 0.0)
    kinds = np.where(follows & tool, TOOL, np.where(thinking, THINK, 0))
    return replaced(load, pause_ns=np.where(follows, draws, 0), pause_kind=kinds)


def started(due_ns: Ints, steps: int) -> Schedule:
    """Conversations that start at these times, each of `steps` requests, concatenated."""
    n = len(due_ns) * steps
    turn = np.tile(np.arange(steps), len(due_ns))
    return rows(n, session=np.repeat(np.arange(len(due_ns)), steps), turn=turn, due_ns=np.where(turn == 0, np.repeat(due_ns, steps), NONE))


PER_STREAM: Final = 5000.0  # requests per second that no stream reaches
IN_ALL: Final = 20_000.0
MAX_SESSION_REQUESTS: Final = 1_000_000


def count(arrivals: Arrivals, streams: int) -> int:
    """Requests to schedule for this many streams."""
    if arrivals.requests is not None:
        return arrivals.requests
    seconds = horizon_ns(arrivals) / NS
    expected = int(seconds * min(PER_STREAM * streams, IN_ALL)) + 1
    return max(min(expected, MAX_SESSION_REQUESTS), 2 * streams)


def closed(serving: Serving, streams: int, seed: int) -> Schedule:
    """Requests of this many streams, conversation after conversation without pauses between them."""
    load = _streams(serving, streams)
    return _possible(paused(load, serving.prompts, seed), serving.arrivals, streams)


def users(serving: Serving, streams: int, seed: int) -> Schedule:
    """Requests of this many users. At the start each user is thinking, as in steady state."""
    think_s = serving.prompts.think_s
    first_ns = np.rint(exponential(source(seed, "users"), streams) * think_s * NS).astype(np.int64)
    load = _streams(serving, streams, first_ns, always_sessions=True)
    return _possible(paused(load, serving.prompts, seed, think_s), serving.arrivals, streams)


def queries(arrivals: Arrivals) -> Schedule:
    """MLPerf's MultiStream: one query of several requests at a time."""
    together = arrivals.samples_per_query
    n = count(arrivals, together)
    numbers = np.arange(n, dtype=np.int64)
    load = rows(n, stream=numbers % together, due_ns=np.where(numbers < together, 0, NONE))
    return replace(load, together=together)


def _streams(serving: Serving, streams: int, first_ns: Ints | None = None, *, always_sessions: bool = False) -> Schedule:
    n, steps = count(serving.arrivals, streams), length(serving.prompts)
    numbers = np.arange(n, dtype=np.int64)
    stream, position = numbers % streams, numbers // streams
    if steps > 1 and serving.arrivals.requests is not None and n % steps == 0:  # whole conversations, as many as requested
        stream, position = _whole(n // steps, steps, streams)
    starts_ns = np.zeros(streams, dtype=np.int64) if first_ns is None else first_ns
    load = rows(n, stream=stream, due_ns=np.where(position == 0, starts_ns[stream], NONE))
    if steps == 1 and not always_sessions:
        return load
    return replaced(load, session=position // steps * streams + stream, turn=position % steps)


def _whole(conversations: int, steps: int, streams: int) -> tuple[Ints, Ints]:
    """Stream, and position in it, of the requests of whole conversations: round by round, in each turn by turn."""
    number = np.repeat(np.arange(conversations, dtype=np.int64), steps)
    turn = np.tile(np.arange(steps, dtype=np.int64), conversations)
    order = np.lexsort((number % streams, turn, number // streams))
    return (number % streams)[order], (number // streams * steps + turn)[order]


def _possible(load: Schedule, arrivals: Arrivals, streams: int) -> Schedule:
    """Drop requests that cannot become due in time, by the pauses before them alone."""
    if arrivals.requests is not None or not (load.pause_ns.any() or load.due_ns.max(initial=0)):
        return load
    rounds = -(-len(load) // streams)
    waits_ns = np.zeros((rounds, streams))
    waits_ns.ravel()[: len(load)] = load.pause_ns + np.maximum(load.due_ns, 0)
    earliest = np.cumsum(waits_ns, axis=0).ravel()[: len(load)]
    return chosen(load, np.flatnonzero(earliest < horizon_ns(arrivals)))
