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
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fireassay.spec.sections.scenario import parse
from fireassay.traffic.arrivals import checks, draws, streams, traces
from fireassay.traffic.arrivals.checks import lengths
from fireassay.traffic.arrivals.draws import generator, text_seeds
from fireassay.traffic.arrivals.schedule import MAIN, NONE, TOOL, WARM_UP, Schedule, chosen, joined, replaced, rows
from fireassay.traffic.arrivals.schedule import batch as batch
from fireassay.traffic.arrivals.schedule import batches as batches
from fireassay.traffic.arrivals.schedule import digest as digest
from fireassay.traffic.arrivals.schedule import read as read
from fireassay.traffic.arrivals.schedule import write as write
from fireassay.traffic.arrivals.streams import mine as mine
from fireassay.traffic.arrivals.streams import predecessors as predecessors

if TYPE_CHECKING:
    from fireassay.spec.plan import Configuration
    from fireassay.spec.sections.scenario import Scenario
    from fireassay.spec.sections.serving import Serving


def build(serving: Serving, configuration: Configuration, seed: int, replicas: int, base: Path) -> Schedule:
    """The complete schedule of a launch with this seed. `base`: the folder that trace paths are relative to.

    Raises:
        SpecError: a trace cannot be read, or the request count is too large.
    """
    scenario, replicas = (parse(configuration.scenario), max(replicas, 1))  # without a URL the model runs in the client
    load = _timed(serving, configuration, seed, base)
    load = _worded(load, serving, scenario, seed)
    extra = checks.checks(serving, scenario, seed, replicas, int(load.example.max(initial=NONE)) + 1)
    load = _with_checks(load, extra.within, serving)
    load = checks.canaries(load, serving.correctness.canaries, seed)
    return joined([extra.before, load])


def _timed(serving: Serving, configuration: Configuration, seed: int, base: Path) -> Schedule:
    """The load with its due times."""
    arrivals, load = serving.arrivals, configuration.load
    match arrivals.process:
        case "closed":
            return streams.closed(serving, int(load or 1), seed)
        case "single_stream":
            return streams.closed(serving, 1, seed)
        case "multi_stream":
            return streams.queries(arrivals)
        case "users" if serving.concurrency:
            return streams.users(serving, int(load or 1), seed)
        case "offline":
            n = arrivals.requests or 1
            return _phased(rows(n, due_ns=_warm_up_ns(serving)), serving)
        case "trace":
            return _phased(_first(_replayed(serving, base), serving), serving)
        case _:
            return _phased(_first(_open(serving, load, seed), serving), serving)


def _open(serving: Serving, load: float | None, seed: int) -> Schedule:
    steps = streams.length(serving.prompts)
    due_ns = draws.due(serving.arrivals, load, seed, steps)
    if steps == 1 and serving.arrivals.process != "users":
        return rows(len(due_ns), due_ns=due_ns)
    return streams.paused(streams.started(due_ns, steps), serving.prompts, seed)


def _replayed(serving: Serving, base: Path) -> Schedule:
    """The recorded requests up to the end of the load."""
    arrivals, end_ns = serving.arrivals, draws.horizon_ns(serving.arrivals)
    load = traces.replay(base / arrivals.trace, arrivals.trace_format, arrivals.speed, end_ns)
    too_late = load.due_ns >= end_ns
    unreachable = np.isin(load.session, load.session[too_late & (load.turn == 0)]) & (load.due_ns == NONE)
    return chosen(load, np.flatnonzero(~too_late & ~unreachable)) if too_late.any() else load


def _first(load: Schedule, serving: Serving) -> Schedule:
    requests = serving.arrivals.requests
    return load if requests is None or requests >= len(load) else chosen(load, np.arange(requests, dtype=np.int64))


def _phased(load: Schedule, serving: Serving) -> Schedule:
    warms_up = (load.due_ns != NONE) & (load.due_ns < _warm_up_ns(serving))
    return replaced(load, phase=np.where(warms_up, WARM_UP, MAIN))


def _warm_up_ns(serving: Serving) -> int:
    return round(serving.arrivals.warm_up_s * draws.NS)


def _worded(load: Schedule, serving: Serving, scenario: Scenario, seed: int) -> Schedule:
    """The load with a text for each request that has none yet."""
    n = len(load)
    tokens_in, tokens_out = lengths(scenario, serving.prompts, generator(seed, "lengths"), n)
    seeds = text_seeds(seed, "texts", n)
    tokens_in = np.where(load.pause_kind == TOOL, serving.prompts.tool_tokens, tokens_in)
    if (load.example >= 0).any():  # equal texts have equal seeds
        _, first, inverse = np.unique(load.example, return_index=True, return_inverse=True)
        seeds = np.where(load.example >= 0, seeds[first[inverse]], seeds)
    return replaced(
        load,
        seed=seeds,
        tokens_in=np.where(load.tokens_in >= 0, load.tokens_in, tokens_in),
        tokens_out=np.where(load.tokens_out >= 0, load.tokens_out, tokens_out),
    )


def _with_checks(load: Schedule, placed: Schedule, serving: Serving) -> Schedule:
    arrivals = serving.arrivals
    if (load.stream >= 0).any():
        steps = 1 if load.together else streams.length(serving.prompts)
        return checks.within_streams(load, placed, steps, arrivals.requests)
    return checks.within_times(
        load, placed, _warm_up_ns(serving), draws.horizon_ns(arrivals), arrivals.requests, add=arrivals.process in ("trace", "offline")
    )
