"""Under which conditions was a load measured: which load, of which engines with which settings, by which client, and who counted its tokens?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.serving import Serving, Target
from fireassay.verdict.conditions import facts
from fireassay.verdict.conditions.condition import Condition, Read, agree_on_common, equal, overlap
from fireassay.verdict.conditions.declare import BEFORE, IMPORT, SPEC, condition, context, identity
from fireassay.verdict.conditions.environment import seen
from fireassay.verdict.conditions.facts import NOT_ASKED

ITEMS = "the items of the evaluation"
_identity = partial(identity, about=("serving",))


def of_engines(read: Callable[[RecordData, Target, Serving], Mapping[str, Any]]) -> Read:
    """Facts about every engine: "fact", or "name.fact" if a record has several."""

    def facts(measured: RecordData, _: Results) -> Any:
        serving = measured.experiment.serving
        if serving is None:
            return None
        targets = targets_of(serving)
        return {
            fact if len(targets) == 1 else f"{target.name}.{fact}": value
            for target in targets
            for fact, value in read(measured, target, serving).items()
        }

    return facts


def requested(measured: RecordData, target: Target, serving: Serving) -> Mapping[str, Any]:
    """The requested settings of an engine, without addresses and credentials."""
    return {
        "backend": target.backend,
        "model": target.model or serving.model or NOT_ASKED,
        "command": list(target.command),
        "router": list(target.router),
        "environment": dict(target.environment),
        "options": dict(target.options),
        "replicas": len(target.urls) or target.replicas,
        "balance": target.balance,
        "headers": sorted(target.headers),
        "restart": target.restart if target.command else NOT_ASKED,
    }


def version(measured: RecordData, target: Target, _: Serving) -> Mapping[str, Any]:
    """The version that the engine reports, if any (environment.before.engines)."""
    reported = seen(measured, "engines", target.name, "said")
    try:
        answer = json.loads(reported) if isinstance(reported, str) else reported
    except ValueError:  # truncated
        answer = None
    version = answer.get("version") if isinstance(answer, Mapping) else None
    return {"version": version} if isinstance(version, str | int | float) else {}


def address(_: RecordData, target: Target, __: Serving) -> Mapping[str, Any]:
    return {"name": target.name, "urls": list(target.urls) or NOT_ASKED}


# ---- the load --------------------------------------------------------------------------------------------------------


def of_loads(*path: str) -> Read:
    """A key below [serving]; NOT_ASKED if it is unset."""

    def read(measured: RecordData, _: Results) -> Any:
        setting: Any = measured.experiment.serving
        if setting is None:
            return None
        for key in path:
            setting = getattr(setting, key, None)
            if setting is None or setting == "":
                return NOT_ASKED
        return list(setting) if isinstance(setting, tuple) else setting

    return read


def path(measured: RecordData, _: Results) -> Any:
    """The paths that the requests took; None if nothing was sent."""
    transports = measured.table("requests").filter(pl.col("sent_ns").is_not_null())["transport"].unique().sort().to_list()
    return (transports[0] if len(transports) == 1 else transports) if transports else None


def stages(measured: RecordData, _: Results) -> Any:
    serving = measured.experiment.serving
    if serving is None:
        return None
    return NOT_ASKED if not serving.arrivals.stages else [stage.model_dump(mode="json") for stage in serving.arrivals.stages]


def scenarios_fit(a: Any, b: Any) -> bool:
    """At least one in common if both sides name their scenarios in their configurations; else equality."""
    if isinstance(a, list) and isinstance(b, list) and len(a) > 1 and len(b) > 1:
        return overlap(a, b)
    return equal(a, b)


def kinds(measured: RecordData, _: Results) -> Any:
    """True if loads are numbers in flight or rates, which are not comparable."""
    serving = measured.experiment.serving
    if serving is None:
        return None
    return "concurrency" if serving.concurrency else "rate" if serving.rate else "as the arrivals say"


def objectives(measured: RecordData, _: Results) -> Any:
    serving = measured.experiment.serving
    if serving is None:
        return None
    limits = serving.objectives.model_dump()
    return {name: NOT_ASKED if value is None else value for name, value in limits.items()}


def source(measured: RecordData, results: Results) -> Any:
    """Where the prompts are; for an evaluation its items, whose content has its own conditions."""
    return ITEMS if measured.experiment.evaluation else of_loads("prompts", "source")(measured, results)


def prompts(measured: RecordData, _: Results) -> Any:
    serving = measured.experiment.serving
    return None if serving is None else serving.prompts.model_dump(exclude={"source"})


def checks_sent(measured: RecordData, _: Results) -> Any:
    """Requests sent for checks are part of the load."""
    serving = measured.experiment.serving
    return None if serving is None else serving.correctness.model_dump(exclude={"grade"})


def schedules(measured: RecordData, _: Results) -> Any:
    """Schedule key -> digest of all requests to send; None: nothing was digested.

    None for an evaluation: it sends every item, whatever the order, and its items and settings have conditions of their own.
    The key holds configuration, seed and all settings that determine a schedule: their differences are separate conditions.
    """
    digests, serving = measured.manifest.get("schedules"), measured.experiment.serving
    if serving is None or measured.experiment.evaluation or not isinstance(digests, Mapping):
        return None
    settings = serving.model_dump_json(include={"task", "scenarios", "tokenizer", "arrivals", "prompts", "correctness"})
    replicas = {configured.name: configured.workers for configured in measured.varied}
    by_schedule: dict[str, set[str]] = {}
    for launch, configuration, seed in measured.timed.select("launch", "configuration", "seed").iter_rows():
        entry = digests.get(str(launch))
        if isinstance(entry, Mapping) and entry.get("sha256"):
            fixed = hashlib.sha256(f"{settings} {replicas.get(configuration)}".encode()).hexdigest()[:8]
            by_schedule.setdefault(f"{configuration} seed={seed} settings={fixed}", set()).add(str(entry["sha256"])[:16])
    return {key: sorted(digests) for key, digests in by_schedule.items()} or None


def files(measured: RecordData, _: Results) -> Any:
    """Key of the experiment -> digest of the file that it names: prompts, tokenizer, trace.

    Without the data of an evaluation: its items have digests of their own, which another order of keys leaves as they are.
    """
    digests = seen(measured, "files")
    if not measured.experiment.evaluation or not isinstance(digests, Mapping):
        return digests
    return {key: digest for key, digest in digests.items() if key != "serving.prompts.source"}


def tokens_from(measured: RecordData, _: Results) -> Any:
    """The source of the counts of output tokens; None: there are none. For imports, foreign.tokens states it."""
    if not measured.kind.sends_requests or measured.foreign is not None:
        return None
    answered = measured.table("requests").filter((pl.col("status") == "ok") & (pl.col("phase") == "main"))
    if answered.height == 0:
        return None
    if answered["tokens_out"].is_not_null().mean() == 1.0:
        return "the server's usage"
    counted = measured.table("token_counts").select("launch", "request", pl.col("tokens_out").alias("counted"))
    joined = answered.select("launch", "request", "tokens_out").join(counted, on=["launch", "request"], how="left")
    if joined["tokens_out"].is_not_null().any():
        return "the server's usage in part"
    return "the tokenizer" if joined["counted"].is_not_null().any() else None


# ---- all of them -----------------------------------------------------------------------------------------------------


def _setting(
    declare: Callable[..., Condition], name: str, why: str, read: Read | None = None, source: str = SPEC, **options: Any
) -> Condition:
    """By default a key below [serving], named after it."""
    return declare(name, why, read or of_loads(*name.split(".")[1:]), source, about=("serving",), **options)


_of_load = partial(_setting, identity, follows=True)
_condition = partial(_setting, condition)
_context = partial(_setting, context)

CONDITIONS: Final[tuple[Condition, ...]] = (
    _identity("foreign.tool", "every load generator has its own client, window and definitions", facts.meaning("tool"), IMPORT),
    _identity(
        "foreign.clock",
        "latency from sending hides waiting in the client; latency from the due time does not",
        facts.meaning("clock"),
        IMPORT,
    ),
    _identity("foreign.first_token", "an empty role chunk comes before the first token", facts.meaning("first_token"), IMPORT),
    _identity("foreign.end", "the usage chunk and the end mark come after the last token", facts.meaning("end"), IMPORT),
    _identity(
        "foreign.tokens", "counts by a server, by a tokenizer and of chunks are different quantities", facts.meaning("tokens"), IMPORT
    ),
    _identity("foreign.connection", "a new connection takes its time before the request does", facts.meaning("connection"), IMPORT),
    _identity("foreign.stamps", "a time taken after parsing is later, and a wall clock can be set", facts.meaning("stamps"), IMPORT),
    _identity("foreign.left_out", "percentiles without the slowest requests are lower", facts.meaning("left_out"), IMPORT),
    _identity("foreign.environment", "another machine, accelerator or engine gives another result", facts.unseen("serving"), IMPORT),
    _of_load("serving.task", "each task is different work"),
    _of_load("serving.model", "another model is different work"),
    _of_load(
        "serving.tokenizer", "it determines how long a prompt of so many tokens is", source=f"{SPEC}; its content where that was recorded"
    ),
    _of_load("serving.files.*", "other content is another load", files, f"{BEFORE} files, SHA-256", absent="note"),
    _of_load(
        "serving.scenarios",
        "lengths determine the cost of a request",
        same=scenarios_fit,
        how="exactly; at least one in common where both sides have several",
    ),
    _of_load("serving.load", "a number in flight is not a number per second", kinds),
    _of_load("serving.arrivals.process", "queueing depends on the variability of arrivals"),
    _of_load("serving.arrivals.cv", "bursts cause queues"),
    _of_load("serving.arrivals.stages", "queueing depends on how the rate changes", stages),
    _of_load("serving.arrivals.trace", "another trace is another load"),
    _of_load("serving.arrivals.trace_format", "it determines how the trace is read"),
    _of_load("serving.arrivals.speed", "a trace replayed faster is a higher rate"),
    _of_load("serving.arrivals.samples_per_query", "simultaneous requests wait for each other"),
    _of_load("serving.arrivals.requests", "the number of requests defines the load"),
    _of_load("serving.prompts.source", "other prompts are another load", source),
    _of_load("serving.prompts.*", "it changes what is sent", prompts),
    _of_load("serving.stream", "without a stream there is no first token"),
    _of_load("serving.temperature", "sampling changes the answers and their lengths"),
    _of_load("serving.ignore_eos", "answers that may end early are shorter"),
    _of_load("serving.correctness.*", "requests sent for checks are part of the load", checks_sent),
    _of_load("serving.objectives.*", "goodput and attainment are relative to the objectives", objectives),
    _of_load(
        "serving.tokens_from",
        "counts by a server and by a tokenizer are different quantities",
        tokens_from,
        "tables requests and token_counts",
        absent="note",
    ),
    _of_load("engine.*", "another engine, or one with other settings, is the subject of a comparison", of_engines(requested)),
    _of_load(
        "engines.*", "engines change between releases", of_engines(version), f"{BEFORE} engines: as reported by the engine", absent="note"
    ),
    _of_load(
        "serving.schedules",
        "the same settings with the same seed must give the same requests",
        schedules,
        "manifest.json schedules",
        same=agree_on_common,
        how="exactly, where configuration, seed and settings are the same",
        absent="note",
    ),
    _condition("serving.client.transport", "a library sustains less load and stamps later; the requests are the same"),
    _condition(
        "client.path", "each path to the server has its own cost for the client and its own timestamps", path, "table requests, transport"
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
    _context("target.*", "an engine's address and name do not describe it", of_engines(address)),
    _context("serving.correctness.grade", "a grade judges a record and changes no number"),
    _context("serving.client.most_lag", "a limit judges a record and changes no number"),
    _context("serving.client.free_lag_s", "a limit judges a record and changes no number"),
    _context("serving.client.least_achieved", "a limit judges a record and changes no number"),
    _context("foreign.file", "a file name has no meaning", lambda m, _: (m.foreign or {}).get("file"), IMPORT),
)
