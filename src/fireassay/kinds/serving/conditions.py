"""Under which conditions was a load measured: which load, of which engines, by which client?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fireassay.kinds.serving import engines, loads
from fireassay.verdict.conditions.condition import Condition, Read, agree_on_common
from fireassay.verdict.conditions.declare import BEFORE, IMPORT, SPEC, condition, context, identity
from fireassay.verdict.conditions.sources import imported

_identity = partial(identity, about=("serving",))


def _setting(
    declare: Callable[..., Condition], name: str, why: str, read: Read | None = None, source: str = SPEC, **options: Any
) -> Condition:
    """By default a key below [serving], named after it."""
    return declare(name, why, read or loads.of(*name.split(".")[1:]), source, about=("serving",), **options)


_of_load = partial(_setting, identity, follows=True)
_condition = partial(_setting, condition)
_context = partial(_setting, context)

CONDITIONS: Final[tuple[Condition, ...]] = (
    _identity("foreign.tool", "every load generator has its own client, window and definitions", imported.meaning("tool"), IMPORT),
    _identity(
        "foreign.clock",
        "latency from sending hides waiting in the client; latency from the due time does not",
        imported.meaning("clock"),
        IMPORT,
    ),
    _identity("foreign.first_token", "an empty role chunk comes before the first token", imported.meaning("first_token"), IMPORT),
    _identity("foreign.end", "the usage chunk and the end mark come after the last token", imported.meaning("end"), IMPORT),
    _identity(
        "foreign.tokens", "counts by a server, by a tokenizer and of chunks are different quantities", imported.meaning("tokens"), IMPORT
    ),
    _identity("foreign.connection", "a new connection takes its time before the request does", imported.meaning("connection"), IMPORT),
    _identity("foreign.stamps", "a time taken after parsing is later, and a wall clock can be set", imported.meaning("stamps"), IMPORT),
    _identity("foreign.left_out", "percentiles without the slowest requests are lower", imported.meaning("left_out"), IMPORT),
    _identity("foreign.environment", "another machine, accelerator or engine gives another result", imported.unseen("serving"), IMPORT),
    _of_load("serving.task", "each task is different work"),
    _of_load("serving.model", "another model is different work"),
    _of_load(
        "serving.tokenizer", "it determines how long a prompt of so many tokens is", source=f"{SPEC}; its content where that was recorded"
    ),
    _of_load("serving.files.*", "other content is another load", loads.files, f"{BEFORE} files, SHA-256", absent="note"),
    _of_load(
        "serving.scenarios",
        "lengths determine the cost of a request",
        same=loads.scenarios_fit,
        how="exactly; at least one in common where both sides have several",
    ),
    _of_load("serving.load", "a number in flight is not a number per second", loads.kinds),
    _of_load("serving.arrivals.process", "queueing depends on the variability of arrivals"),
    _of_load("serving.arrivals.cv", "bursts cause queues"),
    _of_load("serving.arrivals.stages", "queueing depends on how the rate changes", loads.stages),
    _of_load("serving.arrivals.trace", "another trace is another load"),
    _of_load("serving.arrivals.trace_format", "it determines how the trace is read"),
    _of_load("serving.arrivals.speed", "a trace replayed faster is a higher rate"),
    _of_load("serving.arrivals.samples_per_query", "simultaneous requests wait for each other"),
    _of_load("serving.arrivals.requests", "the number of requests defines the load"),
    _of_load("serving.prompts.source", "other prompts are another load", loads.source),
    _of_load("serving.prompts.*", "it changes what is sent", loads.prompts),
    _of_load("serving.stream", "without a stream there is no first token"),
    _of_load("serving.temperature", "sampling changes the answers and their lengths"),
    _of_load("serving.ignore_eos", "answers that may end early are shorter"),
    _of_load("serving.correctness.*", "requests sent for checks are part of the load", loads.checks_sent),
    _of_load("serving.objectives.*", "goodput and attainment are relative to the objectives", loads.objectives),
    _of_load(
        "serving.tokens_from",
        "counts by a server and by a tokenizer are different quantities",
        loads.tokens_from,
        "tables requests and token_counts",
        absent="note",
    ),
    _of_load("engine.*", "another engine, or one with other settings, is the subject of a comparison", engines.of(engines.requested)),
    _of_load(
        "engines.*",
        "engines change between releases",
        engines.of(engines.version),
        f"{BEFORE} engines: as reported by the engine",
        absent="note",
    ),
    _of_load(
        "serving.schedules",
        "the same settings with the same seed must give the same requests",
        loads.schedules,
        "manifest.json schedules",
        same=agree_on_common,
        how="exactly, where configuration, seed and settings are the same",
        absent="note",
    ),
    _condition("serving.client.transport", "a library sustains less load and stamps later; the requests are the same"),
    _condition(
        "client.path",
        "each path to the server has its own cost for the client and its own timestamps",
        loads.path,
        "table requests, transport",
    ),
    _condition("serving.client.processes", "more processes sustain more load; the requests are the same"),
    _condition("serving.client.connections", "with few connections, requests wait for one"),
    _condition("serving.client.timeout_s", "a shorter timeout turns slow answers into failures"),
    _condition("serving.client.first_byte_timeout_s", "a shorter timeout turns slow answers into failures"),
    _condition("serving.client.first_pause_s", "a rate-limited stream resumes sooner"),
    _condition("serving.client.most_pause_s", "a rate-limited stream resumes sooner"),
    _context("serving.client.dead_after_s", "it ends a load that yields no measurement"),
    _condition("serving.client.verify_tls", "without certificate checks, any server may have answered"),
    _condition("serving.client.http2", "requests share a connection"),
    _condition("serving.client.proxy", "a proxy adds its own time"),
    _condition("serving.arrivals.duration_s", "a growing queue shows in longer loads"),
    _condition("serving.arrivals.warm_up_s", "caches and compilers need time to warm up"),
    _condition("serving.arrivals.cold", "requests before the load warm the engine up"),
    _condition("serving.arrivals.drain_s", "requests that are not awaited count as failures"),
    _condition("foreign.version", "tools change their definitions between releases", lambda m, _: (m.foreign or {}).get("version"), IMPORT),
    _context("target.*", "an engine's address and name do not describe it", engines.of(engines.address)),
    _context("serving.correctness.grade", "a grade judges a record and changes no number"),
    _context("serving.client.most_lag", "a limit judges a record and changes no number"),
    _context("serving.client.free_lag_s", "a limit judges a record and changes no number"),
    _context("serving.client.least_achieved", "a limit judges a record and changes no number"),
    _context("foreign.file", "a file name has no meaning", lambda m, _: (m.foreign or {}).get("file"), IMPORT),
)
