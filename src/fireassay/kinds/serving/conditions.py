"""Under which conditions was a load measured: which load, of which engines, by which client?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

from fireassay.kinds.serving import engines, loads
from fireassay.verdict.conditions.condition import Condition, agree_on_common
from fireassay.verdict.conditions.declare import BEFORE, IMPORT, SPEC, condition, context, identity
from fireassay.verdict.conditions.sources import imported

_identity = partial(identity, about=("serving",))


def _of_load(*declared: Any, **options: Any) -> Condition:
    return replace(_identity(*declared, **options), follows=True)


_condition = partial(condition, about=("serving",))
_context = partial(context, about=("serving",))

CONDITIONS: Final[tuple[Condition, ...]] = (
    _identity("foreign.tool", imported.meaning("tool"), "every load generator has its own client, window and definitions", IMPORT),
    _identity(
        "foreign.clock",
        imported.meaning("clock"),
        "latency from sending hides waiting in the client; latency from the due time does not",
        IMPORT,
    ),
    _identity("foreign.first_token", imported.meaning("first_token"), "an empty role chunk comes before the first token", IMPORT),
    _identity("foreign.end", imported.meaning("end"), "the usage chunk and the end mark come after the last token", IMPORT),
    _identity(
        "foreign.tokens", imported.meaning("tokens"), "counts by a server, by a tokenizer and of chunks are different quantities", IMPORT
    ),
    _identity("foreign.connection", imported.meaning("connection"), "a new connection takes its time before the request does", IMPORT),
    _identity("foreign.stamps", imported.meaning("stamps"), "a time taken after parsing is later, and a wall clock can be set", IMPORT),
    _identity("foreign.left_out", imported.meaning("left_out"), "percentiles without the slowest requests are lower", IMPORT),
    _identity("foreign.environment", imported.unseen("serving"), "another machine, accelerator or engine gives another result", IMPORT),
    _of_load("serving.task", loads.of("task"), "each task is different work", SPEC),
    _of_load("serving.model", loads.of("model"), "another model is different work", SPEC),
    _of_load(
        "serving.tokenizer",
        loads.of("tokenizer"),
        "it determines how long a prompt of so many tokens is",
        f"{SPEC}; its content where that was recorded",
    ),
    _of_load("serving.files.*", loads.files, "other content is another load", f"{BEFORE} files, SHA-256", absent="note"),
    _of_load(
        "serving.scenarios",
        loads.of("scenarios"),
        "lengths determine the cost of a request",
        SPEC,
        same=loads.scenarios_fit,
        how="exactly; at least one in common where both sides have several",
    ),
    _of_load("serving.load", loads.kinds, "a number in flight is not a number per second", SPEC),
    _of_load("serving.arrivals.process", loads.of("arrivals", "process"), "queueing depends on the variability of arrivals", SPEC),
    _of_load("serving.arrivals.cv", loads.of("arrivals", "cv"), "bursts cause queues", SPEC),
    _of_load("serving.arrivals.stages", loads.stages, "queueing depends on how the rate changes", SPEC),
    _of_load("serving.arrivals.trace", loads.of("arrivals", "trace"), "another trace is another load", SPEC),
    _of_load("serving.arrivals.trace_format", loads.of("arrivals", "trace_format"), "it determines how the trace is read", SPEC),
    _of_load("serving.arrivals.speed", loads.of("arrivals", "speed"), "a trace replayed faster is a higher rate", SPEC),
    _of_load(
        "serving.arrivals.samples_per_query", loads.of("arrivals", "samples_per_query"), "simultaneous requests wait for each other", SPEC
    ),
    _of_load("serving.arrivals.requests", loads.of("arrivals", "requests"), "the number of requests defines the load", SPEC),
    _of_load("serving.prompts.source", loads.source, "other prompts are another load", SPEC),
    _of_load("serving.prompts.*", loads.prompts, "it changes what is sent", SPEC),
    _of_load("serving.stream", loads.of("stream"), "without a stream there is no first token", SPEC),
    _of_load("serving.temperature", loads.of("temperature"), "sampling changes the answers and their lengths", SPEC),
    _of_load("serving.ignore_eos", loads.of("ignore_eos"), "answers that may end early are shorter", SPEC),
    _of_load("serving.correctness.*", loads.checks_sent, "requests sent for checks are part of the load", SPEC),
    _of_load("serving.objectives.*", loads.objectives, "goodput and attainment are relative to the objectives", SPEC),
    _of_load(
        "serving.tokens_from",
        loads.tokens_from,
        "counts by a server and by a tokenizer are different quantities",
        "tables requests and token_counts",
        absent="note",
    ),
    _of_load("engine.*", engines.of(engines.requested), "another engine, or one with other settings, is the subject of a comparison", SPEC),
    _of_load(
        "engines.*",
        engines.of(engines.version),
        "engines change between releases",
        f"{BEFORE} engines: as reported by the engine",
        absent="note",
    ),
    _of_load(
        "serving.schedules",
        loads.schedules,
        "the same settings with the same seed must give the same requests",
        "manifest.json schedules",
        same=agree_on_common,
        how="exactly, where configuration, seed and settings are the same",
        absent="note",
    ),
    _condition(
        "serving.client.transport",
        loads.of("client", "transport"),
        "a library sustains less load and stamps later; the requests are the same",
        SPEC,
    ),
    _condition(
        "client.path",
        loads.path,
        "each path to the server has its own cost for the client and its own timestamps",
        "table requests, transport",
    ),
    _condition(
        "serving.client.processes", loads.of("client", "processes"), "more processes sustain more load; the requests are the same", SPEC
    ),
    _condition("serving.client.connections", loads.of("client", "connections"), "with few connections, requests wait for one", SPEC),
    _condition("serving.client.timeout_s", loads.of("client", "timeout_s"), "a shorter timeout turns slow answers into failures", SPEC),
    _condition(
        "serving.client.first_byte_timeout_s",
        loads.of("client", "first_byte_timeout_s"),
        "a shorter timeout turns slow answers into failures",
        SPEC,
    ),
    _condition("serving.client.first_pause_s", loads.of("client", "first_pause_s"), "a rate-limited stream resumes sooner", SPEC),
    _condition("serving.client.most_pause_s", loads.of("client", "most_pause_s"), "a rate-limited stream resumes sooner", SPEC),
    _context("serving.client.dead_after_s", loads.of("client", "dead_after_s"), "it ends a load that yields no measurement", SPEC),
    _condition(
        "serving.client.verify_tls", loads.of("client", "verify_tls"), "without certificate checks, any server may have answered", SPEC
    ),
    _condition("serving.client.http2", loads.of("client", "http2"), "requests share a connection", SPEC),
    _condition("serving.client.proxy", loads.of("client", "proxy"), "a proxy adds its own time", SPEC),
    _condition("serving.arrivals.duration_s", loads.of("arrivals", "duration_s"), "a growing queue shows in longer loads", SPEC),
    _condition("serving.arrivals.warm_up_s", loads.of("arrivals", "warm_up_s"), "caches and compilers need time to warm up", SPEC),
    _condition("serving.arrivals.cold", loads.of("arrivals", "cold"), "requests before the load warm the engine up", SPEC),
    _condition("serving.arrivals.drain_s", loads.of("arrivals", "drain_s"), "requests that are not awaited count as failures", SPEC),
    _condition("foreign.version", lambda m, _: (m.foreign or {}).get("version"), "tools change their definitions between releases", IMPORT),
    _context("target.*", engines.of(engines.address), "an engine's address and name do not describe it", SPEC),
    _context("serving.correctness.grade", loads.of("correctness", "grade"), "a grade judges a record and changes no number", SPEC),
    _context("serving.client.most_lag", loads.of("client", "most_lag"), "a limit judges a record and changes no number", SPEC),
    _context("serving.client.free_lag_s", loads.of("client", "free_lag_s"), "a limit judges a record and changes no number", SPEC),
    _context("serving.client.least_achieved", loads.of("client", "least_achieved"), "a limit judges a record and changes no number", SPEC),
    _context("foreign.file", lambda m, _: (m.foreign or {}).get("file"), "a file name has no meaning", IMPORT),
)
