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

from assay.metrics.base import Results
from assay.metrics.estimate import Estimate
from assay.metrics.measured import Measured
from assay.spec.plan import configuration_name
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

    @property
    def family(self) -> str | None:
        """The common beginning of the fields of a family, with its dot."""
        return self.name[:-1] if self.name.endswith(".*") else None

    def fields(self, measured: Measured, results: Results) -> dict[str, Any]:
        """field -> value of one record, without what it did not record."""
        value = self.read(measured, results)
        if self.family is None:
            return {} if value is None else {self.name: value}
        return {f"{self.family}{key}": inner for key, inner in (value or {}).items() if inner is not None}


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
    """The script's name where its content was not recorded: else the digest says more."""
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
    return [configuration_name(level) for level in measured.levels]


# ---- the catalogue -----------------------------------------------------------------------------------------------------


def _identity(
    name: str,
    read: Read,
    why: str,
    source: str,
    *,
    same: Same = _equal,
    how: str = "exactly",
    absent: Absence = "differs",
) -> Condition:
    return Condition(name=name, kind="identity", read=read, why=why, source=source, same=same, how=how, absent=absent)


def _hardware(name: str, read: Read, why: str, source: str, *, same: Same = _equal, how: str = "exactly") -> Condition:
    return Condition(name=name, kind="hardware", read=read, why=why, source=source, same=same, how=how)


def _condition(name: str, read: Read, why: str, source: str, *, same: Same = _equal, how: str = "exactly") -> Condition:
    return Condition(name=name, kind="condition", read=read, why=why, source=source, same=same, how=how)


def _context(name: str, read: Read, why: str, source: str) -> Condition:
    return Condition(name=name, kind="context", read=read, why=why, source=source, same=_equal, how="recorded only")


_SPEC = "experiment.toml"
_BEFORE = "environment.before"
_PERCENT = "within 5 %"

CONDITIONS: Final[tuple[Condition, ...]] = (
    _identity("workload.runner", _asked("workload", "runner"), "each runner times something else", _SPEC),
    _identity("workload.script_sha256", _environment("script", "sha256"), "another program does other work", f"{_BEFORE} script"),
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
    _identity("scaling.mode", _asked("scaling", "mode"), "strong scaling fixes the whole work, weak scaling that of a worker", _SPEC),
    _identity("scaling.base", lambda m, _: m.base, "speedups are relative to this configuration", _SPEC),
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
    _identity("dataset.size", _fingerprint("dataset_size"), "another data set is other work", "table fingerprints"),
    _identity("model.parameters", _fingerprint("parameters"), "another model is other work", "table fingerprints"),
    _identity(
        "batch.items_per_step.*", _items_per_step,
        "a larger global batch is other work, and another training", "table steps, median", same=_within(1e-6), absent="skip",
    ),
    _identity("evaluation.examples", _examples, "quality on other questions is another quality", "table examples, digest of the ids"),
    _identity("samples.set", _samples, "other training samples are other work", "table samples, digest of the ids of a whole epoch", absent="note"),
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
    _condition("assay.version", _manifest("assay_version"), "another version may record otherwise", "manifest.json"),
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
