"""Which requests test more than response time?

cold      one by one to every replica before the load: how an engine starts.
canary    a share of the load: each carries a unique nonce that its answer must contain.
identity  the same prompts to every replica, several times: identity the first time, rerun afterwards; the same in every launch of an
          experiment, whatever its seed.  They replace requests of the load, so that its size stays as configured; in a replayed trace,
          and where fewer than twice as many requests exist, they are added.  In streams, which may be cut short at any time, every
          second conversation is an identity check until all are placed, unless `arrivals.requests` fixes the number of requests.
needle    the same prompts under load, after being sent alone: with `correctness.needle`, identity and rerun requests are sent one by one
          before the load (after the cold ones), so that batches of one can be compared with larger ones.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from fireassay.traffic.arrivals.draws import Floats, Ints, generator, source, text_seeds, uniform
from fireassay.traffic.arrivals.scenarios import lengths
from fireassay.traffic.arrivals.schedule import (
    CANARY,
    COLD,
    IDENTITY,
    NEEDLE,
    NONE,
    NORMAL,
    RERUN,
    WARM_UP,
    Schedule,
    chosen,
    joined,
    replaced,
    rows,
)

if TYPE_CHECKING:
    from fireassay.spec.sections.scenario import Scenario
    from fireassay.spec.sections.serving import Serving

ANY_LAUNCH: Final = 0  # seed shared by all launches
NONCE: Final = 12  # letters and digits: 60 bits
EVERY: Final = 2  # in streams, one of every so many conversations is a check


@dataclass(frozen=True, kw_only=True)
class Checks:
    """Requests sent before the load and within it, without due times."""

    before: Schedule
    within: Schedule


def checks(serving: Serving, scenario: Scenario, seed: int, replicas: int, first_example: int) -> Checks:
    """Cold and identity requests. `first_example`: number of the first of these prompts."""
    cold = _cold(serving, scenario, seed, replicas)
    identity = _identity(serving, scenario, replicas, first_example)
    if not serving.correctness.needle:
        return Checks(before=cold, within=identity)
    isolated = replaced(identity, phase=np.full(len(identity), COLD))
    under_load = replaced(identity, kind=np.full(len(identity), NEEDLE))
    return Checks(before=joined([cold, isolated]), within=under_load)


def _cold(serving: Serving, scenario: Scenario, seed: int, replicas: int) -> Schedule:
    n = serving.arrivals.cold * replicas
    tokens_in, tokens_out = lengths(scenario, serving.prompts, generator(seed, "cold lengths"), n)
    return rows(
        n, phase=COLD, replica=np.arange(n) % replicas, tokens_in=tokens_in, tokens_out=tokens_out, seed=text_seeds(seed, "cold", n)
    )


def _identity(serving: Serving, scenario: Scenario, replicas: int, first_example: int) -> Schedule:
    """By round, then prompt, then replica."""
    prompts = serving.correctness.identity
    numbers = generator(ANY_LAUNCH, "identity lengths")
    tokens_in, tokens_out = lengths(scenario, serving.prompts, numbers, prompts)
    seeds = text_seeds(ANY_LAUNCH, "identity", prompts)
    n = serving.correctness.reruns * prompts * replicas
    positions = np.arange(n, dtype=np.int64)
    prompt = positions // replicas % max(prompts, 1)
    return rows(
        n,
        kind=np.where(positions < prompts * replicas, IDENTITY, RERUN),
        replica=positions % replicas,
        tokens_in=tokens_in[prompt],
        tokens_out=tokens_out[prompt],
        seed=seeds[prompt],
        example=first_example + prompt,
    )


# ---- placement in the load ---------------------------------------------------------------------------------------


def within_times(load: Schedule, placed: Schedule, warm_up_ns: int, end_ns: int, most: int | None = None, *, add: bool) -> Schedule:
    """An open loop with the checks spread evenly over its measured part, of at most `most` requests.

    `add`: checks replace none of the load's own requests, except to respect `most`.
    """
    if not len(placed):
        return load
    starts = np.flatnonzero((load.due_ns >= warm_up_ns) & (load.turn <= 0))
    if add or len(placed) > len(starts) // 2:
        if most is not None:
            load = chosen(load, np.arange(min(len(load), max(most - len(placed), 0)), dtype=np.int64))
        last_ns = min(end_ns, int(load.due_ns.max(initial=warm_up_ns)) + 1)
        due_ns = warm_up_ns + np.floor(_even(len(placed)) * (last_ns - warm_up_ns)).astype(np.int64)
    else:
        replaced_at = starts[np.floor(_even(len(placed)) * len(starts)).astype(np.int64)]
        due_ns = load.due_ns[replaced_at]
        load = _without(load, replaced_at)
    merged = joined([load, replaced(placed, due_ns=due_ns)])
    # A follower stays after its predecessor: its sort key is that of the last request with a due time.
    order = np.argsort(np.concatenate([np.maximum.accumulate(load.due_ns), due_ns]), kind="stable")
    return chosen(merged, order[:most])


def within_streams(load: Schedule, placed: Schedule, steps: int, requests: int | None) -> Schedule:
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
    merged = joined([load, replaced(placed, stream=streams[indices])])
    load_key = _positions(load.stream) * len(streams) + np.searchsorted(streams, load.stream)
    order = np.argsort(np.concatenate([load_key, key]), kind="stable")
    return chosen(merged, order[:requests])


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


def _without(load: Schedule, starts: Ints) -> Schedule:
    """The load without these requests and their conversations."""
    removed = np.zeros(len(load), dtype=bool)
    removed[starts] = True
    sessions = load.session[starts]
    removed |= np.isin(load.session, sessions[sessions >= 0])
    return chosen(load, np.flatnonzero(~removed))


# ---- canaries ----------------------------------------------------------------------------------------------------


def canaries(load: Schedule, share: float, seed: int) -> Schedule:
    """The load with a nonce in this share of its measured requests: one at random in each group of 1/share.

    In conversations only first turns carry one, because later turns would repeat the nonces of earlier ones.
    """
    if share <= 0.0:
        return load
    eligible = np.flatnonzero((load.phase != WARM_UP) & (load.kind == NORMAL) & (load.turn <= 0))
    blocks = max(int(len(eligible) * share), 1)
    draws = uniform(source(seed, "canaries"), blocks)
    picks = np.floor((np.arange(blocks, dtype=np.float64) + draws) * min(1.0 / share, len(eligible))).astype(np.int64)
    indices = eligible[np.unique(picks[picks < len(eligible)])]
    kind, example = load.kind.copy(), load.example.copy()
    kind[indices], example[indices] = CANARY, NONE
    expected = {int(number): nonce(int(load.seed[number])) for number in indices}
    return replace(replaced(load, kind=kind, example=example), expected=expected)


def nonce(text_seed: int) -> str:
    """Nonce of the request whose text has this seed."""
    digest = hashlib.sha256(f"assay canary {text_seed}".encode()).digest()
    return base64.b32encode(digest).decode()[:NONCE].lower()
