"""Under which conditions was a record made?  One catalogue: each field's class, where it comes from and why it matters.

    identity    what was run and what "good" means          must be equal, else the comparison is refused
    hardware    what it ran on, machine and software        must be equal after bucketing, else the comparison is refused
    condition   in which state the machine was              a difference beyond the tolerance is said, and refuses nothing
    context     when, where and by whom                     recorded only

No raw reading is ever hashed or compared digit by digit: a size is compared by distance (a bucket would have edges, and a
reading beside an edge would make two machines of one), a version by its leading numbers.  Sources: methodology, section 5;
folo-rs/folo#429 and pytest-benchmark#255 show what hashing raw readings does.  A field that one side did not record is a
mismatch if it is identity and a note if not.  A user adds fields by `[conditions]` in the experiment.
Cannot tell: what nothing recorded, such as a library that the script loads from a place of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import polars as pl

from assay.metrics.base import EVERYTHING, LAUNCHED, Results
from assay.metrics.estimate import Estimate
from assay.metrics.measured import Measured, Subject
from assay.spec.collectives import asked_of
from assay.spec.plan import targets_of
from assay.spec.serving import Serving, Target
from assay.verdict.compared import ConditionClass

Read = Callable[[Measured, Results], Any]  # a plain value or a mapping of them; None: not recorded
Same = Callable[[Any, Any], bool]
Absence = Literal["differs", "note", "skip"]  # what a key means that one side's family lacks

MEMORY: Final = 0.05  # relative distance of two sizes that are one machine: kernels reserve some of it
NOT_ASKED: Final = "not asked for"


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One field of the fingerprint; a name that ends in `.*` is a family, of which every key is a field of its own."""

    name: str
    kind: ConditionClass
    source: str
    why: str  # why it matters: the end of "it matters because ..."
    read: Read
    same: Same
    how: str  # in words, how two values are compared
    absent: Absence = "differs"  # only where it is identity; what is not recorded on one side is a note elsewhere
    about: tuple[Subject, ...] = EVERYTHING  # records that have it; of others its absence is no gap

    @property
    def family(self) -> str | None:
        """The common beginning of the fields of a family, with its dot."""
        return self.name[:-1] if self.name.endswith(".*") else None

    def fields(self, measured: Measured, results: Results) -> dict[str, Any]:
        """field -> value of one record, without what it did not record, or an imported file did not say."""
        value = self.read(measured, results)
        if self.family is None:
            found = {} if value is None else {self.name: value}
        else:
            found = {f"{self.family}{key}": inner for key, inner in (value or {}).items() if inner is not None}
        unsaid = tuple((measured.foreign or {}).get("unsaid") or ())
        return {field: inner for field, inner in found.items() if not _is_below(field, unsaid)} if unsaid else found


def _is_below(field: str, names: Iterable[str]) -> bool:
    """Whether a field is one of the names, or below one."""
    return any(field == name or field.startswith(f"{name}.") for name in names)


# ---- how two values are compared ---------------------------------------------------------------------------------------


def _equal(a: Any, b: Any) -> bool:
    return bool(a == b)


def _within(share: float) -> Same:
    """Numbers, or lists of them, that differ by at most this share of the larger."""

    def same(a: Any, b: Any) -> bool:
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
        if not (isinstance(a, int | float) and isinstance(b, int | float)):
            return bool(a == b)
        return bool(abs(a - b) <= share * max(abs(a), abs(b)))

    return same


def _apart(most: float) -> Same:
    """Numbers that differ by at most this much."""
    return lambda a, b: bool(abs(a - b) <= most)


def _overlap(a: Any, b: Any) -> bool:
    return bool(set(a) & set(b))


def _agree_on_common(a: Any, b: Any) -> bool:
    if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
        return bool(a == b)
    return all(a[key] == b[key] for key in a.keys() & b.keys())


# ---- where values come from -----------------------------------------------------------------------------------------


def seen(measured: Measured, *path: str, when: str = "before") -> Any:
    """A key of the captured environment; None where it was not recorded or could not be read."""
    found: Any = (measured.manifest.get("environment") or {}).get(when)
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return None if isinstance(found, Mapping) and "absent" in found else found


def _environment(*path: str) -> Read:
    return lambda measured, _: seen(measured, *path)


def _manifest(key: str) -> Read:
    return lambda measured, _: measured.manifest.get(key) or None


def _asked(*path: str) -> Read:
    """A key of the experiment; None only where this version of the experiment does not know it."""

    def read(measured: Measured, _: Results) -> Any:
        found: Any = measured.experiment
        for key in path:
            found = getattr(found, key, None)
            if found is None:
                return NOT_ASKED
        return list(found) if isinstance(found, tuple) else found

    return read


def _leading(read: Read, numbers: int) -> Read:
    """A version by its leading numbers: 6.18.44-fc -> 6.18."""

    def shortened(measured: Measured, results: Results) -> Any:
        value = read(measured, results)
        return ".".join(value.split(".")[:numbers]) if isinstance(value, str) else value

    return shortened


def _script(measured: Measured, _: Results) -> Any:
    """The script's name where its content was not recorded: else the digest says more. Of a load it is the engine's address."""
    if measured.subject == "serving":
        return NOT_ASKED
    return None if seen(measured, "script", "sha256") else measured.experiment.workload.script


def _usable(measured: Measured, _: Results) -> Any:
    return seen(measured, "cpu", "usable", "count")


def _numa(measured: Measured, _: Results) -> Any:
    nodes = seen(measured, "cpu", "numa")
    return len(nodes) if isinstance(nodes, list) else None


def _devices(key: str) -> Read:
    """One reading of every GPU, sorted: the order of the slots does not matter."""

    def read(measured: Measured, _: Results) -> Any:
        devices = seen(measured, "gpu", "nvidia", "devices")
        values = [device.get(key) for device in devices] if isinstance(devices, list) else []
        found = [value for value in values if isinstance(value, str | int | float)]
        return sorted(found) if len(found) == len(values) and found else None

    return read


def _gpu_count(measured: Measured, _: Results) -> Any:
    devices = seen(measured, "gpu", "nvidia", "devices")
    return len(devices) if isinstance(devices, list) else None


def _container(measured: Measured, _: Results) -> Any:
    hints = seen(measured, "host", "container")
    return (sorted(hints) or "none seen") if isinstance(hints, list) else None


def _quota(measured: Measured, _: Results) -> Any:
    quota = seen(measured, "cgroup", "cpu_quota")
    return quota.get("processors", "none") if isinstance(quota, Mapping) else None


def _memory_limit(measured: Measured, _: Results) -> Any:
    limit = seen(measured, "cgroup", "memory_limit")
    return limit.get("bytes", "none") if isinstance(limit, Mapping) else None


# Packages that do the work, or the numbers, of a typical workload; the record holds all of them.
PACKAGES: Final = (
    "accelerate", "cupy", "deepspeed", "flash-attn", "jax", "jaxlib", "lightning", "megatron-core", "mpi4py", "numpy",
    "onnxruntime", "polars", "pytorch-lightning", "ray", "scikit-learn", "scipy", "sglang", "tensorflow", "torchvision",
    "transformer-engine", "transformers", "triton", "vllm", "xformers",
)  # fmt: skip


def _packages(measured: Measured, _: Results) -> Any:
    """Versions of the packages that matter; one that is not installed has its word, so that its absence is seen."""
    found = seen(measured, "software", "packages")
    return {name: found.get(name, "not installed") for name in PACKAGES} if found else None


def _variables(measured: Measured, _: Results) -> Any:
    return seen(measured, "workload", "variables")


def _load(measured: Measured, _: Results) -> Any:
    """Runnable tasks for each usable processor just before the first launch."""
    load, usable = seen(measured, "noise", "load", "1min"), _usable(measured, {})
    return round(load / usable, 3) if isinstance(load, int | float) and usable else None


def _steal(measured: Measured, _: Results) -> Any:
    """Share of processor time that the hypervisor took between the two captures."""
    ticks = [seen(measured, "noise", "cpu_ticks", when=when) for when in ("before", "after")]
    if not all(isinstance(one, Mapping) for one in ticks):
        return None
    spent = {key: ticks[1].get(key, 0) - ticks[0].get(key, 0) for key in ticks[0]}
    return round(spent.get("steal", 0) / sum(spent.values()), 4) if sum(spent.values()) > 0 else None


def _pressure(resource: str) -> Read:
    """Share of the time between the two captures in which some task waited for the resource."""

    def read(measured: Measured, _: Results) -> Any:
        waited = [seen(measured, "noise", f"pressure_{resource}", "some_us", when=when) for when in ("before", "after")]
        up = [seen(measured, "host", "uptime_s", when=when) for when in ("before", "after")]
        if None in (*waited, *up) or up[1] <= up[0]:
            return None
        return round((waited[1] - waited[0]) / 1e6 / (up[1] - up[0]), 3)

    return read


# ---- facts derived from raw rows -----------------------------------------------------------------------------------------


def _fingerprint(what: str) -> Read:
    """A number that the script told: one value, or the sorted values where launches disagree."""

    def read(measured: Measured, _: Results) -> Any:
        rows = (
            measured.table("fingerprints").filter(pl.col("what") == what).join(measured.timed, on="launch", how="semi")
        )
        values = sorted(value for value in rows["value"].drop_nulls().unique().to_list())
        return (values[0] if len(values) == 1 else values) if values else None

    return read


def _per_configuration(measured: Measured, frame: pl.DataFrame) -> dict[str, Any]:
    """configuration -> median over its timed launches of a frame (launch, value)."""
    joined = measured.timed.join(frame, on="launch").group_by("configuration").agg(pl.col("value").median())
    return dict(zip(joined["configuration"].to_list(), joined["value"].to_list(), strict=True))


def _items_per_step(measured: Measured, _: Results) -> Any:
    counted = measured.global_steps.filter(pl.col("items").is_not_null())
    return _per_configuration(measured, counted.group_by("launch").agg(pl.col("items").median().alias("value")))


def _steps(measured: Measured, _: Results) -> Any:
    return _per_configuration(measured, measured.global_steps.group_by("launch").agg(pl.len().alias("value")))


def _warm_up_trials(measured: Measured, _: Results) -> Any:
    """Whether trials were made and left out before the counted ones."""
    trials = measured.table("trials")
    if trials.height == 0:
        return None
    return "made" if trials["warm_up"].sum() > 0 else "none"


def _examples(measured: Measured, _: Results) -> Any:
    """Digest of the set of scored examples, with its size; never their order or scores."""
    ids = measured.table("examples").select("metric", "example").unique().sort("metric", "example")
    return _digest(ids["metric"] + "\x1f" + ids["example"], "examples") if ids.height else None


def _samples(measured: Measured, _: Results) -> Any:
    """Digest of the set of training samples, where an epoch was whole: a part of one depends on the seed."""
    ids = measured.table("samples").select(pl.col("ids").explode()).drop_nulls().unique().sort("ids")
    whole = _fingerprint("dataset_size")(measured, {})
    return _digest(ids["ids"].cast(pl.String), "samples") if ids.height and ids.height == whole else None


def _digest(ids: pl.Series, what: str) -> str:
    text = "\n".join(ids.to_list())
    return f"{len(ids):,} {what}, {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _definitions(_: Measured, results: Results) -> Any:
    """metric -> version of its definition, from the signatures of its estimates."""
    found: dict[str, str] = {}
    for name, values in results.items():
        versions = {
            tag
            for value in values.values()
            if isinstance(value, Estimate)
            for tag in value.signature.split("|")
            if tag[:2] == "v:"
        }
        if versions:
            found[name] = "|".join(sorted(versions))
    return found or None


def _tag(metric: str, tag: str) -> Read:
    """A tag of a metric's signature; None where the metric is absent."""

    def read(_: Measured, results: Results) -> Any:
        values = (value for value in results.get(metric, {}).values() if isinstance(value, Estimate))
        parts = (part for value in values for part in value.signature.split("|"))
        return next((part.partition(":")[2] for part in parts if part.startswith(f"{tag}:")), None)

    return read


def _sentinel(measured: Measured, _: Results) -> Any:
    """Median of the fixed work that the coordinator times around each launch, seconds."""
    rows = measured.table("telemetry").filter(pl.col("device") == "sentinel")
    return rows["value"].median() if rows.height else None


def _floor(measured: Measured, _: Results) -> Any:
    return measured.noise_floor


def _prices(measured: Measured, _: Results) -> Any:
    prices = measured.experiment.prices
    return NOT_ASKED if prices is None else prices.model_dump(mode="json", by_alias=True)


def _levels(measured: Measured, _: Results) -> Any:
    return list(measured.configurations)


def _base(measured: Measured, _: Results) -> Any:
    """What speedups are relative to; a load has none."""
    return NOT_ASKED if measured.subject == "serving" else measured.base


# ---- what was asked of a load ------------------------------------------------------------------------------------------


def _of_load(*path: str) -> Read:
    """A key below [serving]; "not asked for" where it says nothing."""

    def read(measured: Measured, _: Results) -> Any:
        found: Any = measured.experiment.serving
        if found is None:
            return None
        for key in path:
            found = getattr(found, key, None)
            if found is None or found == "":
                return NOT_ASKED
        return list(found) if isinstance(found, tuple) else found

    return read


def _stages(measured: Measured, _: Results) -> Any:
    serving = measured.experiment.serving
    if serving is None:
        return None
    return (
        NOT_ASKED
        if not serving.arrivals.stages
        else [stage.model_dump(mode="json") for stage in serving.arrivals.stages]
    )


def _scenarios_fit(a: Any, b: Any) -> bool:
    """One in common, if both sides name their scenarios in their configurations; else the very same."""
    if isinstance(a, list) and isinstance(b, list) and len(a) > 1 and len(b) > 1:
        return _overlap(a, b)
    return _equal(a, b)


def _kinds_of_load(measured: Measured, _: Results) -> Any:
    """Whether loads are numbers in flight or rates: 8 of the one are not 8 of the other."""
    serving = measured.experiment.serving
    if serving is None:
        return None
    return "concurrency" if serving.concurrency else "rate" if serving.rate else "as the arrivals say"


def _objectives(measured: Measured, _: Results) -> Any:
    serving = measured.experiment.serving
    if serving is None:
        return None
    asked = serving.objectives.model_dump()
    return {name: NOT_ASKED if value is None else value for name, value in asked.items()}


def _prompts(measured: Measured, _: Results) -> Any:
    serving = measured.experiment.serving
    return None if serving is None else serving.prompts.model_dump(exclude={"source"})


def _checks_sent(measured: Measured, _: Results) -> Any:
    """Requests that are sent for a check are part of the load."""
    serving = measured.experiment.serving
    return None if serving is None else serving.correctness.model_dump(exclude={"grade"})


def _engines(read: Callable[[Measured, Target, Serving], Mapping[str, Any]]) -> Read:
    """Facts of every engine: "fact", or "name.fact" where a record has several."""

    def found(measured: Measured, _: Results) -> Any:
        serving = measured.experiment.serving
        if serving is None:
            return None
        targets = targets_of(serving)
        return {
            fact if len(targets) == 1 else f"{target.name}.{fact}": value
            for target in targets for fact, value in read(measured, target, serving).items()
        }  # fmt: skip

    return found


def _asked_of_engine(measured: Measured, target: Target, serving: Serving) -> Mapping[str, Any]:
    """What is done with an engine, without where it listens and who may use it."""
    return {
        "backend": target.backend, "model": target.model or serving.model or NOT_ASKED, "command": list(target.command),
        "router": list(target.router), "environment": dict(target.environment), "options": dict(target.options),
        "replicas": len(target.urls) or target.replicas, "balance": target.balance, "headers": sorted(target.headers),
        "restart": target.restart if target.command else NOT_ASKED,
    }  # fmt: skip


def _version_of_engine(measured: Measured, target: Target, _: Serving) -> Mapping[str, Any]:
    """What the engine says of its version, where it says anything (environment.before.engines)."""
    said = seen(measured, "engines", target.name, "said")
    try:
        told = json.loads(said) if isinstance(said, str) else said
    except ValueError:  # cut, because it was long
        told = None
    version = told.get("version") if isinstance(told, Mapping) else None
    return {"version": version} if isinstance(version, str | int | float) else {}


def _place_of_engine(_: Measured, target: Target, __: Serving) -> Mapping[str, Any]:
    return {"name": target.name, "urls": list(target.urls) or NOT_ASKED}


def _schedules(measured: Measured, _: Results) -> Any:
    """What fixes a schedule -> digest of everything that was to be sent; None: nothing was digested.

    The key holds configuration, seed and all settings that a schedule follows from: where these differ a field of their own says so.
    """
    digests, serving = measured.manifest.get("schedules"), measured.experiment.serving
    if serving is None or not isinstance(digests, Mapping):
        return None
    settings = serving.model_dump_json(include={"task", "scenarios", "tokenizer", "arrivals", "prompts", "correctness"})
    replicas = {one.name: one.workers for one in measured.varied}
    found: dict[str, set[str]] = {}
    for launch, configuration, seed in measured.timed.select("launch", "configuration", "seed").iter_rows():
        entry = digests.get(str(launch))
        if isinstance(entry, Mapping) and entry.get("sha256"):
            fixed = hashlib.sha256(f"{settings} {replicas.get(configuration)}".encode()).hexdigest()[:8]
            found.setdefault(f"{configuration} seed={seed} settings={fixed}", set()).add(str(entry["sha256"])[:16])
    return {key: sorted(digests) for key, digests in found.items()} or None


def _files(measured: Measured, _: Results) -> Any:
    """Key of the experiment -> digest of the file that it names: prompts, tokenizer, trace."""
    return seen(measured, "files")


def _tokens_from(measured: Measured, _: Results) -> Any:
    """Where the counts of output tokens come from; None: there are none. An import says it in foreign.tokens."""
    if measured.subject != "serving" or measured.foreign is not None:
        return None
    told = measured.table("requests").filter((pl.col("status") == "ok") & (pl.col("phase") == "main"))
    if told.height == 0:
        return None
    if told["tokens_out"].is_not_null().mean() == 1.0:
        return "the server's usage"
    counted = measured.table("token_counts").select("launch", "request", pl.col("tokens_out").alias("counted"))
    both = told.select("launch", "request", "tokens_out").join(counted, on=["launch", "request"], how="left")
    if both["tokens_out"].is_not_null().any():
        return "the server's usage in part"
    return "the tokenizer" if both["counted"].is_not_null().any() else None


OURS: Final[Mapping[str, str]] = {  # what an imported record says of its tool (runners/foreign), said of assay
    "tool": "assay", "clock": "scheduled", "first_token": "the first chunk with text: content, reasoning or a tool call",
    "end": "the last chunk with text", "tokens": "the server's usage, else the tokenizer",
    "connection": "kept alive; a new one is set up inside of the latency", "stamps": "monotonic, at the socket read, before parsing",
    "left_out": "nothing", "environment": "recorded",
}  # fmt: skip


def _foreign(key: str) -> Read:
    """Who measured, and what its numbers mean; the same for all of our own records of loads."""

    def read(measured: Measured, _: Results) -> Any:
        foreign = measured.foreign
        if measured.subject != "serving":
            return None
        if foreign is None:
            return OURS[key]
        return foreign.get(key) if key in ("tool", "clock") else (foreign.get("meanings") or {}).get(key)

    return read


def _engine(key: str) -> Read:
    """What carried the collectives, as their workers told it, or as far as another program's file does."""

    def read(measured: Measured, _: Results) -> Any:
        if measured.subject != "collectives":
            return None
        if measured.foreign is not None:
            return (measured.foreign.get("meanings") or {}).get(key)
        told = measured.table("events").filter(pl.col("kind") == "engine")["detail"]
        found = json.loads(told[0]).get(key) if len(told) else None
        return "chosen by the engine" if found is None and key == "interface" and len(told) else found

    return read


def _of_collectives(key: str) -> Read:
    """A key of what was asked for; nothing of records that time no collectives."""

    def read(measured: Measured, _: Results) -> Any:
        return getattr(asked_of(measured.experiment), key) if measured.subject == "collectives" else None

    return read


def _unseen_collectives(measured: Measured, _: Results) -> Any:
    """Two unknown machines are never known to be the same."""
    if measured.subject != "collectives":
        return None
    foreign = measured.foreign
    return (
        OURS["environment"]
        if foreign is None
        else f"not said by {foreign.get('file')} ({str(foreign.get('sha256'))[:8]})"
    )


def _unseen_environment(measured: Measured, _: Results) -> Any:
    """No imported file says on what it was measured; two unknown machines are never known to be the same."""
    foreign = measured.foreign
    if measured.subject != "serving":
        return None
    return (
        OURS["environment"]
        if foreign is None
        else f"not said by {foreign.get('file')} ({str(foreign.get('sha256'))[:8]})"
    )


# ---- the catalogue -----------------------------------------------------------------------------------------------------


_OF_LOADS = ("serving.", "engine.", "engines.", "target.", "foreign.")


def _about(name: str) -> tuple[Subject, ...]:
    return ("serving",) if name.startswith(_OF_LOADS) else EVERYTHING


def _identity(
    name: str,
    read: Read,
    why: str,
    source: str,
    *,
    same: Same = _equal,
    how: str = "exactly",
    absent: Absence = "differs",
    about: tuple[Subject, ...] | None = None,
) -> Condition:
    return Condition(
        name=name, kind="identity", read=read, why=why, source=source, same=same, how=how, absent=absent, about=about or _about(name)
    )  # fmt: skip


def _hardware(name: str, read: Read, why: str, source: str, *, same: Same = _equal, how: str = "exactly") -> Condition:
    return Condition(
        name=name, kind="hardware", read=read, why=why, source=source, same=same, how=how, about=_about(name)
    )


def _condition(name: str, read: Read, why: str, source: str, *, same: Same = _equal, how: str = "exactly") -> Condition:
    return Condition(
        name=name, kind="condition", read=read, why=why, source=source, same=same, how=how, about=_about(name)
    )


def _context(name: str, read: Read, why: str, source: str) -> Condition:
    return Condition(
        name=name, kind="context", read=read, why=why, source=source, same=_equal, how="recorded only", about=_about(name)
    )  # fmt: skip


_SPEC = "experiment.toml"
_BEFORE = "environment.before"
_IMPORT = "manifest.json foreign"
_EVENTS = "table events, kind engine"
_COLLECTIVES: Final[tuple[Subject, ...]] = ("collectives",)
_PERCENT = "within 5 %"

CONDITIONS: Final[tuple[Condition, ...]] = (
    _identity("foreign.tool", _foreign("tool"), "every load generator has its own client, window and definitions", _IMPORT),
    _identity("foreign.clock", _foreign("clock"), "a latency from sending hides what waited in the client; one from when it was due does not", _IMPORT),
    _identity("foreign.first_token", _foreign("first_token"), "an empty role chunk comes before any token is made", _IMPORT),
    _identity("foreign.end", _foreign("end"), "the usage chunk and the end mark come after the last token", _IMPORT),
    _identity("foreign.tokens", _foreign("tokens"), "counts by a server, by a tokenizer and of chunks are different quantities", _IMPORT),
    _identity("foreign.connection", _foreign("connection"), "a new connection takes its time before the request does", _IMPORT),
    _identity("foreign.stamps", _foreign("stamps"), "a time taken after parsing is later, and a wall clock can be set", _IMPORT),
    _identity("foreign.left_out", _foreign("left_out"), "percentiles without the slowest requests are lower", _IMPORT),
    _identity("foreign.environment", _unseen_environment, "another machine, accelerator or engine is another result", _IMPORT),
    _identity("collectives.machine", _unseen_collectives, "another machine or network is another result", _IMPORT, about=_COLLECTIVES),
    _identity("collectives.backend", _engine("backend"), "each backend has its own algorithms and transports", _EVENTS, about=_COLLECTIVES),
    _identity("collectives.convention", _engine("convention"), "busbw is only comparable by one definition", _EVENTS, about=_COLLECTIVES, absent="note"),
    _identity("collectives.interface", _engine("interface"), "another network is another speed", _EVENTS, about=_COLLECTIVES, absent="note"),
    _identity("collectives.dtype", _of_collectives("dtype"), "sums of other element types take other times", _SPEC, about=_COLLECTIVES),
    _identity("collectives.memory_mib", _of_collectives("memory_mib"), "what fits into a cache is faster", _SPEC, about=_COLLECTIVES),
    _identity("collectives.device", _engine("device"), "another device has another speed", _EVENTS, about=_COLLECTIVES, absent="note"),
    _identity("collectives.nccl", _engine("nccl"), "algorithms change between releases", _EVENTS, about=_COLLECTIVES, absent="note"),
    _identity("workload.runner", _asked("workload", "runner"), "each runner times something else", _SPEC),
    _identity("workload.script_sha256", _environment("script", "sha256"), "another program does other work", f"{_BEFORE} script", about=LAUNCHED),
    _identity("workload.script", _script, "another program does other work", f"{_SPEC}; only where no digest was recorded"),
    _identity(
        "workload.arguments", _asked("workload",
        "arguments"), "arguments change what the program does; the placeholders {workers}, {seed} and {launch} are compared unfilled", _SPEC,
    ),
    _identity("workload.work", _asked("workload", "work"), "rates count this unit of work", _SPEC),
    _identity("workload.environment.*", lambda m, _: dict(m.experiment.workload.environment), "the variable changes what the program does", _SPEC),
    _identity("conditions.*", lambda m, _: dict(m.experiment.conditions), "the experiment names it as part of the workload's identity", _SPEC),
    _identity("factor.name", _asked("factor", "name"), "configurations of different factors have nothing in common", _SPEC),
    _identity(
        "factor.levels", _levels,
        "only configurations that both sides have can be compared", _SPEC, same=_overlap, how="at least one in common",
    ),
    _identity("scaling.mode", lambda m, _: m.mode, "strong scaling fixes the whole work, weak scaling that of a worker", _SPEC),
    _identity("scaling.base", _base, "speedups are relative to this configuration", _SPEC),
    _identity("scaling.time", _asked("scaling", "time"), "a speedup of steps is not one of whole runs", _SPEC),
    _identity("quality.metric", _asked("quality", "metric"), "quality is held or lost in this score", _SPEC),
    _identity("quality.direction", _asked("quality", "direction"), "it says which of two scores is the better one", _SPEC),
    _identity("quality.margin", _asked("quality", "margin"), "a result that may lose more quality is easier to make fast", _SPEC),
    _identity("launcher.kind", _asked("launcher", "kind"), "the launcher decides what starts the workers, and how", _SPEC),
    _identity("launcher.threads_per_worker", _asked("launcher", "threads_per_worker"), "more threads are more hardware", _SPEC),
    _identity("launcher.pin", _asked("launcher", "pin"), "pinning decides which caches and which memory a worker shares", _SPEC),
    _identity("launcher.numa", _asked("launcher", "numa"), "memory of another node is slower", _SPEC),
    _identity("launcher.nodes", _asked("launcher", "nodes"), "communication between nodes is slower than within one", _SPEC),
    _identity("energy.source", _asked("energy", "source"), "counted and modelled joules are different quantities", _SPEC),
    _identity("warm_up.trials", _warm_up_trials, "first calls are slower", "table trials", absent="note"),
    _identity(
        "metrics.definitions", _definitions,
        "a number is only comparable with one of the same definition", "signatures of the estimates",
        same=_agree_on_common, how="exactly, for the metrics that both sides have", absent="note",
    ),
    _identity(
        "flops.convention", _tag("flops_per_step", "conv"), "conventions count other operations for the same model",
        "signature of flops_per_step", absent="note", about=("training",),
    ),
    _identity(
        "flops.peak", _tag("mfu", "peak"), "a published, a measured and a given peak are different quantities",
        "signature of mfu", absent="note", about=("training",),
    ),
    _identity("dataset.size", _fingerprint("dataset_size"), "another data set is other work", "table fingerprints", about=LAUNCHED),
    _identity("model.parameters", _fingerprint("parameters"), "another model is other work", "table fingerprints", about=LAUNCHED),
    _identity(
        "batch.items_per_step.*", _items_per_step,
        "a larger global batch is other work, and another training", "table steps, median", same=_within(1e-6), absent="skip",
    ),
    _identity("evaluation.examples", _examples, "quality on other questions is another quality", "table examples, digest of the ids"),
    _identity("samples.set", _samples, "other training samples are other work", "table samples, digest of the ids of a whole epoch", absent="note"),
    _identity("serving.task", _of_load("task"), "each task is other work", _SPEC),
    _identity("serving.model", _of_load("model"), "another model is other work", _SPEC),
    _identity("serving.tokenizer", _of_load("tokenizer"), "it decides how long a prompt of so many tokens is", f"{_SPEC}; its content where that was recorded"),
    _identity("serving.files.*", _files, "other content is another load", f"{_BEFORE} files, SHA-256", absent="note"),
    _identity(
        "serving.scenarios", _of_load("scenarios"), "lengths decide what a request costs", _SPEC,
        same=_scenarios_fit, how="exactly; at least one in common where both sides have several",
    ),
    _identity("serving.load", _kinds_of_load, "so many requests in flight are not so many per second", _SPEC),
    _identity("serving.arrivals.process", _of_load("arrivals", "process"), "waiting depends on how arrivals scatter", _SPEC),
    _identity("serving.arrivals.cv", _of_load("arrivals", "cv"), "bursts make queues", _SPEC),
    _identity("serving.arrivals.stages", _stages, "waiting depends on how the rate changes", _SPEC),
    _identity("serving.arrivals.trace", _of_load("arrivals", "trace"), "another trace is another load", _SPEC),
    _identity("serving.arrivals.trace_format", _of_load("arrivals", "trace_format"), "it decides how the trace is read", _SPEC),
    _identity("serving.arrivals.speed", _of_load("arrivals", "speed"), "a trace replayed faster is a higher rate", _SPEC),
    _identity("serving.arrivals.samples_per_query", _of_load("arrivals", "samples_per_query"), "requests that come together wait for each other", _SPEC),
    _identity("serving.arrivals.requests", _of_load("arrivals", "requests"), "a load that ends after so many requests is another one", _SPEC),
    _identity("serving.prompts.source", _of_load("prompts", "source"), "other prompts are another load", _SPEC),
    _identity("serving.prompts.*", _prompts, "it changes what is sent", _SPEC),
    _identity("serving.stream", _of_load("stream"), "without a stream there is no first token", _SPEC),
    _identity("serving.temperature", _of_load("temperature"), "sampling changes the answers and their lengths", _SPEC),
    _identity("serving.ignore_eos", _of_load("ignore_eos"), "answers that end where they like are shorter", _SPEC),
    _identity("serving.correctness.*", _checks_sent, "requests that are sent for a check are part of the load", _SPEC),
    _identity("serving.objectives.*", _objectives, "goodput and attainment are relative to the objectives", _SPEC),
    _identity(
        "serving.tokens_from", _tokens_from, "counts by a server and by a tokenizer are different quantities", "tables requests and token_counts",
        absent="note",
    ),
    _identity("engine.*", _engines(_asked_of_engine), "another engine, or one that is set otherwise, is what a comparison studies", _SPEC),
    _identity(
        "engines.*", _engines(_version_of_engine), "engines change between releases", f"{_BEFORE} engines: what the engine says of itself", absent="note",
    ),
    _identity(
        "serving.schedules", _schedules, "the same settings with the same seed must give the same requests", "manifest.json schedules",
        same=_agree_on_common, how="exactly, where configuration, seed and settings are the same", absent="note",
    ),
    _hardware("cpu.model", _environment("cpu", "model"), "another processor has another speed", _BEFORE),
    _hardware("cpu.usable", _usable, "more processors do more work", _BEFORE),
    _hardware("cpu.smt", _environment("cpu", "smt"), "two threads on one core share it", _BEFORE),
    _hardware("cpu.numa_nodes", _numa, "memory of another node is slower", _BEFORE),
    _hardware("host.machine", _environment("host", "machine"), "another instruction set is another program", _BEFORE),
    _hardware(
        "memory.total_bytes", _environment("memory",
        "total_bytes"), "what does not fit is swapped or not cached", _BEFORE, same=_within(MEMORY), how=_PERCENT,
    ),
    _hardware("gpu.models", _devices("name"), "another accelerator has another speed", _BEFORE),
    _hardware("gpu.count", _gpu_count, "more accelerators do more work", _BEFORE),
    _hardware(
        "gpu.memory_bytes", _devices("memory_bytes"),
        "memory decides which batch and which cache fit", _BEFORE, same=_within(MEMORY), how=_PERCENT,
    ),
    _hardware("gpu.driver", _environment("gpu", "nvidia", "driver"), "the driver brings compilers and libraries of its own", _BEFORE),
    _hardware(
        "host.kernel", _leading(_environment("host",
        "kernel"), 2), "scheduler and network stack change between releases", _BEFORE, how="major.minor",
    ),
    _hardware("host.virtualisation", _environment("host", "virtualisation"), "a hypervisor costs time and takes some", _BEFORE),
    _hardware("host.container", _container, "a container has limits and file systems of its own", _BEFORE),
    _hardware("cgroup.cpu_quota", _quota, "a quota stops the processes that used it up", _BEFORE, same=_within(0.01), how="within 1 %"),
    _hardware("cgroup.memory_limit", _memory_limit, "what does not fit is killed or not cached", _BEFORE, same=_within(MEMORY), how=_PERCENT),
    _hardware(
        "software.python", _leading(_environment("software",
        "python", "version"), 2), "interpreters differ in speed", _BEFORE, how="major.minor",
    ),
    _hardware("software.torch.version", _environment("software", "torch", "version"), "kernels and collectives change between releases", _BEFORE),
    _hardware("software.torch.cuda", _environment("software", "torch", "cuda"), "kernels and collectives change between releases", _BEFORE),
    _hardware("software.packages.*", _packages, "this package does part of the work", _BEFORE),
    _condition("serving.client.transport", _of_load("client", "transport"), "a library carries less, and stamps later; what is sent is the same", _SPEC),
    _condition("serving.client.processes", _of_load("client", "processes"), "more processes carry more load; what is sent is the same", _SPEC),
    _condition("serving.client.connections", _of_load("client", "connections"), "requests wait for a connection where these are few", _SPEC),
    _condition("serving.client.timeout_s", _of_load("client", "timeout_s"), "a shorter patience turns slow answers into failures", _SPEC),
    _condition("serving.client.first_byte_timeout_s", _of_load("client", "first_byte_timeout_s"), "a shorter patience turns slow answers into failures", _SPEC),
    _condition("serving.client.http2", _of_load("client", "http2"), "requests share a connection", _SPEC),
    _condition("serving.client.proxy", _of_load("client", "proxy"), "a proxy adds its own time", _SPEC),
    _condition("serving.arrivals.duration_s", _of_load("arrivals", "duration_s"), "a queue that grows shows in longer loads", _SPEC),
    _condition("serving.arrivals.warm_up_s", _of_load("arrivals", "warm_up_s"), "caches and compilers need their time", _SPEC),
    _condition("serving.arrivals.cold", _of_load("arrivals", "cold"), "requests before the load warm the engine up", _SPEC),
    _condition("serving.arrivals.drain_s", _of_load("arrivals", "drain_s"), "what is not waited for is a failure", _SPEC),
    _condition("workload.variables.*", _variables, "it can change a measurement; what must not differ belongs into workload.environment", _BEFORE),
    _condition("host.os", _environment("host", "os"), "system libraries change between releases", _BEFORE),
    _condition("cpu.governors", _environment("cpu", "governors"), "the governor decides the clock", _BEFORE),
    _condition("host.aslr", _environment("host", "aslr"), "memory layout varies from launch to launch", _BEFORE),
    _condition("noise.load_per_processor", _load, "other programs take processors and caches", _BEFORE, same=_apart(0.25), how="within 0.25"),
    _condition(
        "noise.steal_share", _steal,
        "the hypervisor takes processor time", "environment before and after", same=_apart(0.01), how="within 0.01",
    ),
    _condition(
        "noise.pressure_cpu", _pressure("cpu"),
        "tasks waited for a processor", "environment before and after", same=_apart(0.05), how="within 0.05",
    ),
    _condition(
        "noise.pressure_memory", _pressure("memory"),
        "tasks waited for memory", "environment before and after", same=_apart(0.05), how="within 0.05",
    ),
    _condition(
        "noise.pressure_io", _pressure("io"),
        "tasks waited for input or output", "environment before and after", same=_apart(0.05), how="within 0.05",
    ),
    _condition("noise.sentinel_s", _sentinel, "the machine itself got faster or slower", "table telemetry, median", same=_within(0.05), how=_PERCENT),
    _condition("gpu.power_limit_w", _devices("power_limit_w"), "a lower limit is a lower clock", _BEFORE, same=_within(0.02), how="within 2 %"),
    _condition("gpu.sm_clock_max_mhz", _devices("sm_clock_max_mhz"), "the clock decides the speed", _BEFORE, same=_within(0.02), how="within 2 %"),
    _condition("gpu.temperature_c", _devices("temperature_c"), "a hot device lowers its clock", _BEFORE, same=_within(0.25), how="within 25 %"),
    _condition("doctor.noise_floor", _floor, "smaller differences cannot be seen on the machine", _BEFORE, same=_within(0.5), how="within 50 %"),
    _condition(
        "work.steps.*", _steps,
        "times and costs of whole runs compare only runs of the same length", "table steps, median", same=_within(0.01), how="within 1 %",
    ),
    _condition("foreign.version", lambda m, _: (m.foreign or {}).get("version"), "tools change their definitions between releases", _IMPORT),
    _condition("assay.version", _manifest("assay_version"), "another version may record otherwise", "manifest.json"),
    _context("target.*", _engines(_place_of_engine), "where an engine listens and how it is called says nothing of it", _SPEC),
    _context("serving.correctness.grade", _of_load("correctness", "grade"), "a grade judges a record and changes no number", _SPEC),
    _context("serving.client.most_lag", _of_load("client", "most_lag"), "a limit judges a record and changes no number", _SPEC),
    _context("serving.client.least_achieved", _of_load("client", "least_achieved"), "a limit judges a record and changes no number", _SPEC),
    _context("foreign.file", lambda m, _: (m.foreign or {}).get("file"), "a name means nothing", _IMPORT),
    _context("record.name", _manifest("name"), "a name means nothing", "manifest.json"),
    _context("record.created_utc", _manifest("created_utc"), "records are made at different times", "manifest.json"),
    _context("host.name", _environment("host", "name"), "machines of one kind have different names", _BEFORE),
    _context("host.uptime_s", _environment("host", "uptime_s"), "it grows", _BEFORE),
    _context("workload.git.commit", _environment("workload", "git", "commit"), "most commits leave the script as it is; its digest decides", _BEFORE),
    _context("workload.git.branch", _environment("workload", "git", "branch"), "the script's digest decides", _BEFORE),
    _context("workload.git.dirty", _environment("workload", "git", "dirty"), "the script's digest decides", _BEFORE),
    _context("software.python_executable", _environment("software", "python", "executable"), "the version decides", _BEFORE),
    _context("prices", _prices, "prices are inputs; where they differ, costs do too", _SPEC),
    _context("launches.seed", _asked("launches", "seed"), "it fixes order and training seeds", _SPEC),
    _context("launches.per_configuration", _asked("launches", "per_configuration"), "the intervals say what it means", _SPEC),
    _context("gates", lambda m, _: m.experiment.gates.model_dump(), "a gate judges a record and changes no number", _SPEC),
)  # fmt: skip


_BREAKS: Final = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")  # str.splitlines


def text_of(value: Any) -> str:
    """A value of a condition as people read it, in one line: a text from a record must not look like a line of the report."""
    if isinstance(value, str):
        return one_line(value) or "(empty)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return one_line(" ".join(value)) or "(none)"
    return json.dumps(value, default=str, sort_keys=True)


def one_line(text: str) -> str:
    """With what would begin a new line spelled out."""
    return "".join(char if char not in _BREAKS else repr(char)[1:-1] for char in text)


def known_names() -> tuple[str, ...]:
    """The names of the catalogue; families with their star."""
    return tuple(condition.name for condition in CONDITIONS)


_HEADINGS: Final[Mapping[ConditionClass, str]] = {
    "identity": "Identity: must be equal; a difference refuses the comparison",
    "hardware": "Hardware and software: must be equal after bucketing; a difference refuses the comparison",
    "condition": "Conditions: a difference beyond the tolerance is said, and refuses nothing",
    "context": "Context: recorded only",
}


def reference(aliases: Mapping[str, Iterable[str]]) -> str:
    """The page docs/reference/conditions.md, from CONDITIONS and the names that `--varying` understands."""
    lines = [
        "# Conditions", "",
        "<!-- generated from src/assay/verdict/conditions.py by `make docs`; do not edit -->", "",
        "Two records are compared only if they were made under the same conditions, but for what is studied. This is the whole",
        "catalogue. A name that ends in `.*` is a family: every key is a field of its own. The decision behind it is",
        "[0013](../decisions/0013-what-refuses-a-comparison.md).",
    ]  # fmt: skip
    for kind, heading in _HEADINGS.items():
        lines += ["", f"## {heading}", "", "| field | compared | from | matters because |", "|---|---|---|---|"]
        lines += [f"| `{c.name}` | {c.how} | {c.source} | {c.why} |" for c in CONDITIONS if c.kind == kind]
    lines += [
        "", "## What `--varying` understands", "",
        "A field, the beginning of a family or group (`workload.environment`, `software`), a key of `[conditions]`, or:", "",
        "| name | fields |", "|---|---|",
        *(f"| `{name}` | {', '.join(f'`{field}`' for field in fields)} |" for name, fields in aliases.items()),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"
