"""Under which conditions was a record made?  One catalogue: each field's class, where it comes from and why it matters.

    identity    what was run and what "good" means          must be equal, else the comparison is refused
    hardware    what it ran on, machine and software        must be equal within a tolerance, else the comparison is refused
    condition   in which state the machine was              a difference beyond the tolerance is said, and refuses nothing
    context     when, where and by whom                     recorded only

No raw reading is ever hashed or compared digit by digit: a size is compared by distance (a bucket would have edges, and a
reading beside an edge would make two machines of one), a version by its leading numbers.  Sources: methodology, section 5;
folo-rs/folo#429 and pytest-benchmark#255 show what hashing raw readings does.  A field that one side did not record is a
mismatch if it is identity and a note if not.  A user adds fields by `[conditions]` in the experiment.
Cannot tell: what nothing recorded, such as a library that the script loads from a place of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from assay.metrics.base import EVERYTHING, LAUNCHED
from assay.verdict.comparison.types import ConditionClass
from assay.verdict.conditions.condition import Absence, Condition, Read, Same, agree_on_common, apart, equal, overlap, within
from assay.verdict.conditions.sources import collectives, engines, environment, experiment, facts, imported, loads

_OF_LOADS = ("serving.", "engine.", "engines.", "target.", "foreign.", "client.")


def _about(name: str) -> tuple[str, ...]:
    return ("serving",) if name.startswith(_OF_LOADS) else EVERYTHING


def _identity(
    name: str,
    read: Read,
    why: str,
    source: str,
    *,
    same: Same = equal,
    how: str = "exactly",
    absent: Absence = "differs",
    about: tuple[str, ...] | None = None,
) -> Condition:
    return Condition(
        name=name, kind="identity", read=read, why=why, source=source, same=same, how=how, absent=absent, about=about or _about(name)
    )


def _hardware(name: str, read: Read, why: str, source: str, *, same: Same = equal, how: str = "exactly") -> Condition:
    return Condition(name=name, kind="hardware", read=read, why=why, source=source, same=same, how=how, about=_about(name))


def _condition(name: str, read: Read, why: str, source: str, *, same: Same = equal, how: str = "exactly") -> Condition:
    return Condition(name=name, kind="condition", read=read, why=why, source=source, same=same, how=how, about=_about(name))


def _context(name: str, read: Read, why: str, source: str) -> Condition:
    return Condition(name=name, kind="context", read=read, why=why, source=source, same=equal, how="recorded only", about=_about(name))


_SPEC = "experiment.toml"
_BEFORE = "environment.before"
_IMPORT = "manifest.json foreign"
_EVENTS = "table events, kind engine"
_COLLECTIVES: Final[tuple[str, ...]] = ("collectives",)
MEMORY: Final = 0.05  # relative distance of two sizes that are one machine: kernels reserve some of it
_PERCENT = "within 5 %"

CONDITIONS: Final[tuple[Condition, ...]] = (
    _identity("foreign.tool", imported.meaning("tool"), "every load generator has its own client, window and definitions", _IMPORT),
    _identity(
        "foreign.clock",
        imported.meaning("clock"),
        "a latency from sending hides what waited in the client; one from when it was due does not",
        _IMPORT,
    ),
    _identity("foreign.first_token", imported.meaning("first_token"), "an empty role chunk comes before any token is made", _IMPORT),
    _identity("foreign.end", imported.meaning("end"), "the usage chunk and the end mark come after the last token", _IMPORT),
    _identity(
        "foreign.tokens", imported.meaning("tokens"), "counts by a server, by a tokenizer and of chunks are different quantities", _IMPORT
    ),
    _identity("foreign.connection", imported.meaning("connection"), "a new connection takes its time before the request does", _IMPORT),
    _identity("foreign.stamps", imported.meaning("stamps"), "a time taken after parsing is later, and a wall clock can be set", _IMPORT),
    _identity("foreign.left_out", imported.meaning("left_out"), "percentiles without the slowest requests are lower", _IMPORT),
    _identity("foreign.environment", imported.unseen("serving"), "another machine, accelerator or engine is another result", _IMPORT),
    _identity(
        "collectives.machine", imported.unseen("collectives"), "another machine or network is another result", _IMPORT, about=_COLLECTIVES
    ),
    _identity(
        "collectives.backend",
        collectives.engine("backend"),
        "each backend has its own algorithms and transports",
        _EVENTS,
        about=_COLLECTIVES,
    ),
    _identity(
        "collectives.convention",
        collectives.engine("convention"),
        "busbw is only comparable by one definition",
        _EVENTS,
        about=_COLLECTIVES,
        absent="note",
    ),
    _identity(
        "collectives.interface",
        collectives.engine("interface"),
        "another network is another speed",
        _EVENTS,
        about=_COLLECTIVES,
        absent="note",
    ),
    _identity("collectives.dtype", collectives.asked("dtype"), "sums of other element types take other times", _SPEC, about=_COLLECTIVES),
    _identity("collectives.memory_mib", collectives.asked("memory_mib"), "what fits into a cache is faster", _SPEC, about=_COLLECTIVES),
    _identity(
        "collectives.device", collectives.engine("device"), "another device has another speed", _EVENTS, about=_COLLECTIVES, absent="note"
    ),
    _identity(
        "collectives.nccl", collectives.engine("nccl"), "algorithms change between releases", _EVENTS, about=_COLLECTIVES, absent="note"
    ),
    _identity("workload.runner", experiment.of("workload", "runner"), "each runner times something else", _SPEC),
    _identity(
        "workload.script_sha256", environment.of("script", "sha256"), "another program does other work", f"{_BEFORE} script", about=LAUNCHED
    ),
    _identity("workload.script", experiment.script, "another program does other work", f"{_SPEC}; only where no digest was recorded"),
    _identity(
        "workload.arguments",
        experiment.of("workload", "arguments"),
        "arguments change what the program does; the placeholders {workers}, {seed} and {launch} are compared unfilled",
        _SPEC,
    ),
    _identity(
        "workload.steps", experiment.ending, "a part of a job takes less time and begins colder than the whole", _SPEC, about=("training",)
    ),
    _identity("workload.work", experiment.of("workload", "work"), "rates count this unit of work", _SPEC),
    _identity(
        "workload.environment.*", lambda m, _: dict(m.experiment.workload.environment), "the variable changes what the program does", _SPEC
    ),
    _identity(
        "conditions.*", lambda m, _: dict(m.experiment.conditions), "the experiment names it as part of the workload's identity", _SPEC
    ),
    _identity("factor.name", experiment.of("factor", "name"), "configurations of different factors have nothing in common", _SPEC),
    _identity(
        "factor.levels",
        experiment.levels,
        "only configurations that both sides have can be compared",
        _SPEC,
        same=overlap,
        how="at least one in common",
    ),
    _identity("scaling.mode", lambda m, _: m.mode, "strong scaling fixes the whole work, weak scaling that of a worker", _SPEC),
    _identity("scaling.base", experiment.base, "speedups are relative to this configuration", _SPEC),
    _identity("scaling.time", experiment.of("scaling", "time"), "a speedup of steps is not one of whole runs", _SPEC),
    _identity("quality.metric", experiment.of("quality", "metric"), "quality is held or lost in this score", _SPEC),
    _identity("quality.direction", experiment.of("quality", "direction"), "it says which of two scores is the better one", _SPEC),
    _identity("quality.margin", experiment.of("quality", "margin"), "a result that may lose more quality is easier to make fast", _SPEC),
    _identity("launcher.kind", experiment.of("launcher", "kind"), "the launcher decides what starts the workers, and how", _SPEC),
    _identity("launcher.threads_per_worker", experiment.of("launcher", "threads_per_worker"), "more threads are more hardware", _SPEC),
    _identity("launcher.pin", experiment.of("launcher", "pin"), "pinning decides which caches and which memory a worker shares", _SPEC),
    _identity("launcher.numa", experiment.of("launcher", "numa"), "memory of another node is slower", _SPEC),
    _identity("launcher.nodes", experiment.of("launcher", "nodes"), "communication between nodes is slower than within one", _SPEC),
    _identity("energy.source", experiment.of("energy", "source"), "counted and modelled joules are different quantities", _SPEC),
    _identity("warm_up.trials", facts.warm_up_trials, "first calls are slower", "table trials", absent="note"),
    _identity(
        "metrics.definitions",
        facts.definitions,
        "a number is only comparable with one of the same definition",
        "signatures of the estimates",
        same=agree_on_common,
        how="exactly, for the metrics that both sides have",
        absent="note",
    ),
    _identity(
        "flops.convention",
        facts.tag("flops_per_step", "conv"),
        "conventions count other operations for the same model",
        "signature of flops_per_step",
        absent="note",
        about=("training",),
    ),
    _identity(
        "flops.peak",
        facts.tag("mfu", "peak"),
        "a published, a measured and a given peak are different quantities",
        "signature of mfu",
        absent="note",
        about=("training",),
    ),
    _identity("dataset.size", facts.fingerprint("dataset_size"), "another data set is other work", "table fingerprints", about=LAUNCHED),
    _identity("model.parameters", facts.fingerprint("parameters"), "another model is other work", "table fingerprints", about=LAUNCHED),
    _identity(
        "batch.items_per_step.*",
        facts.items_per_step,
        "a larger global batch is other work, and another training",
        "table steps, median",
        same=within(1e-6),
        absent="skip",
    ),
    _identity("evaluation.examples", facts.examples, "quality on other questions is another quality", "table examples, digest of the ids"),
    _identity(
        "samples.set",
        facts.samples,
        "other training samples are other work",
        "table samples, digest of the ids of a whole epoch",
        absent="note",
    ),
    _identity("serving.task", loads.of("task"), "each task is other work", _SPEC),
    _identity("serving.model", loads.of("model"), "another model is other work", _SPEC),
    _identity(
        "serving.tokenizer",
        loads.of("tokenizer"),
        "it decides how long a prompt of so many tokens is",
        f"{_SPEC}; its content where that was recorded",
    ),
    _identity("serving.files.*", loads.files, "other content is another load", f"{_BEFORE} files, SHA-256", absent="note"),
    _identity(
        "serving.scenarios",
        loads.of("scenarios"),
        "lengths decide what a request costs",
        _SPEC,
        same=loads.scenarios_fit,
        how="exactly; at least one in common where both sides have several",
    ),
    _identity("serving.load", loads.kinds, "so many requests in flight are not so many per second", _SPEC),
    _identity("serving.arrivals.process", loads.of("arrivals", "process"), "waiting depends on how arrivals scatter", _SPEC),
    _identity("serving.arrivals.cv", loads.of("arrivals", "cv"), "bursts make queues", _SPEC),
    _identity("serving.arrivals.stages", loads.stages, "waiting depends on how the rate changes", _SPEC),
    _identity("serving.arrivals.trace", loads.of("arrivals", "trace"), "another trace is another load", _SPEC),
    _identity("serving.arrivals.trace_format", loads.of("arrivals", "trace_format"), "it decides how the trace is read", _SPEC),
    _identity("serving.arrivals.speed", loads.of("arrivals", "speed"), "a trace replayed faster is a higher rate", _SPEC),
    _identity(
        "serving.arrivals.samples_per_query",
        loads.of("arrivals", "samples_per_query"),
        "requests that come together wait for each other",
        _SPEC,
    ),
    _identity(
        "serving.arrivals.requests", loads.of("arrivals", "requests"), "a load that ends after so many requests is another one", _SPEC
    ),
    _identity("serving.prompts.source", loads.of("prompts", "source"), "other prompts are another load", _SPEC),
    _identity("serving.prompts.*", loads.prompts, "it changes what is sent", _SPEC),
    _identity("serving.stream", loads.of("stream"), "without a stream there is no first token", _SPEC),
    _identity("serving.temperature", loads.of("temperature"), "sampling changes the answers and their lengths", _SPEC),
    _identity("serving.ignore_eos", loads.of("ignore_eos"), "answers that end where they like are shorter", _SPEC),
    _identity("serving.correctness.*", loads.checks_sent, "requests that are sent for a check are part of the load", _SPEC),
    _identity("serving.objectives.*", loads.objectives, "goodput and attainment are relative to the objectives", _SPEC),
    _identity(
        "serving.tokens_from",
        loads.tokens_from,
        "counts by a server and by a tokenizer are different quantities",
        "tables requests and token_counts",
        absent="note",
    ),
    _identity("engine.*", engines.of(engines.asked), "another engine, or one that is set otherwise, is what a comparison studies", _SPEC),
    _identity(
        "engines.*",
        engines.of(engines.version),
        "engines change between releases",
        f"{_BEFORE} engines: what the engine says of itself",
        absent="note",
    ),
    _identity(
        "serving.schedules",
        loads.schedules,
        "the same settings with the same seed must give the same requests",
        "manifest.json schedules",
        same=agree_on_common,
        how="exactly, where configuration, seed and settings are the same",
        absent="note",
    ),
    _hardware("cpu.model", environment.of("cpu", "model"), "another processor has another speed", _BEFORE),
    _hardware("cpu.usable", environment.usable, "more processors do more work", _BEFORE),
    _hardware("cpu.smt", environment.of("cpu", "smt"), "two threads on one core share it", _BEFORE),
    _hardware("cpu.numa_nodes", environment.numa, "memory of another node is slower", _BEFORE),
    _hardware("host.machine", environment.of("host", "machine"), "another instruction set is another program", _BEFORE),
    _hardware(
        "memory.total_bytes",
        environment.of("memory", "total_bytes"),
        "what does not fit is swapped or not cached",
        _BEFORE,
        same=within(MEMORY),
        how=_PERCENT,
    ),
    _hardware("gpu.models", environment.devices("name"), "another accelerator has another speed", _BEFORE),
    _hardware("gpu.count", environment.gpu_count, "more accelerators do more work", _BEFORE),
    _hardware(
        "gpu.memory_bytes",
        environment.devices("memory_bytes"),
        "memory decides which batch and which cache fit",
        _BEFORE,
        same=within(MEMORY),
        how=_PERCENT,
    ),
    _hardware("gpu.driver", environment.of("gpu", "nvidia", "driver"), "the driver brings compilers and libraries of its own", _BEFORE),
    _hardware(
        "host.kernel",
        environment.leading(environment.of("host", "kernel"), 2),
        "scheduler and network stack change between releases",
        _BEFORE,
        how="major.minor",
    ),
    _hardware("host.virtualisation", environment.of("host", "virtualisation"), "a hypervisor costs time and takes some", _BEFORE),
    _hardware("host.container", environment.container, "a container has limits and file systems of its own", _BEFORE),
    _hardware(
        "cgroup.cpu_quota", environment.quota, "a quota stops the processes that used it up", _BEFORE, same=within(0.01), how="within 1 %"
    ),
    _hardware(
        "cgroup.memory_limit",
        environment.memory_limit,
        "what does not fit is killed or not cached",
        _BEFORE,
        same=within(MEMORY),
        how=_PERCENT,
    ),
    _hardware(
        "software.python",
        environment.leading(environment.of("software", "python", "version"), 2),
        "interpreters differ in speed",
        _BEFORE,
        how="major.minor",
    ),
    _hardware(
        "software.torch.version", environment.of("software", "torch", "version"), "kernels and collectives change between releases", _BEFORE
    ),
    _hardware(
        "software.torch.cuda", environment.of("software", "torch", "cuda"), "kernels and collectives change between releases", _BEFORE
    ),
    _hardware("software.packages.*", environment.packages, "this package does part of the work", _BEFORE),
    _condition(
        "serving.client.transport",
        loads.of("client", "transport"),
        "a library carries less, and stamps later; what is sent is the same",
        _SPEC,
    ),
    _condition(
        "client.path",
        loads.path,
        "each path to the server costs the client something else, and tells the time in its own way",
        "table requests, transport",
    ),
    _condition(
        "serving.client.processes", loads.of("client", "processes"), "more processes carry more load; what is sent is the same", _SPEC
    ),
    _condition(
        "serving.client.connections", loads.of("client", "connections"), "requests wait for a connection where these are few", _SPEC
    ),
    _condition("serving.client.timeout_s", loads.of("client", "timeout_s"), "a shorter patience turns slow answers into failures", _SPEC),
    _condition(
        "serving.client.first_byte_timeout_s",
        loads.of("client", "first_byte_timeout_s"),
        "a shorter patience turns slow answers into failures",
        _SPEC,
    ),
    _condition("serving.client.first_pause_s", loads.of("client", "first_pause_s"), "a limited stream comes back sooner", _SPEC),
    _condition("serving.client.most_pause_s", loads.of("client", "most_pause_s"), "a limited stream comes back sooner", _SPEC),
    _context("serving.client.dead_after_s", loads.of("client", "dead_after_s"), "it ends a load of which nothing is measured", _SPEC),
    _condition(
        "serving.client.verify_tls",
        loads.of("client", "verify_tls"),
        "where certificates are not checked, anybody may have answered",
        _SPEC,
    ),
    _condition("serving.client.http2", loads.of("client", "http2"), "requests share a connection", _SPEC),
    _condition("serving.client.proxy", loads.of("client", "proxy"), "a proxy adds its own time", _SPEC),
    _condition("serving.arrivals.duration_s", loads.of("arrivals", "duration_s"), "a queue that grows shows in longer loads", _SPEC),
    _condition("serving.arrivals.warm_up_s", loads.of("arrivals", "warm_up_s"), "caches and compilers need their time", _SPEC),
    _condition("serving.arrivals.cold", loads.of("arrivals", "cold"), "requests before the load warm the engine up", _SPEC),
    _condition("serving.arrivals.drain_s", loads.of("arrivals", "drain_s"), "what is not waited for is a failure", _SPEC),
    _condition(
        "workload.variables.*",
        environment.variables,
        "it can change a measurement; what must not differ belongs into workload.environment",
        _BEFORE,
    ),
    _condition("host.os", environment.of("host", "os"), "system libraries change between releases", _BEFORE),
    _condition("cpu.governors", environment.of("cpu", "governors"), "the governor decides the clock", _BEFORE),
    _condition("host.aslr", environment.of("host", "aslr"), "memory layout varies from launch to launch", _BEFORE),
    _condition(
        "noise.load_per_processor",
        environment.load,
        "other programs take processors and caches",
        _BEFORE,
        same=apart(0.25),
        how="within 0.25",
    ),
    _condition(
        "noise.steal_share",
        environment.steal,
        "the hypervisor takes processor time",
        "environment before and after",
        same=apart(0.01),
        how="within 0.01",
    ),
    _condition(
        "noise.pressure_cpu",
        environment.pressure("cpu"),
        "tasks waited for a processor",
        "environment before and after",
        same=apart(0.05),
        how="within 0.05",
    ),
    _condition(
        "noise.pressure_memory",
        environment.pressure("memory"),
        "tasks waited for memory",
        "environment before and after",
        same=apart(0.05),
        how="within 0.05",
    ),
    _condition(
        "noise.pressure_io",
        environment.pressure("io"),
        "tasks waited for input or output",
        "environment before and after",
        same=apart(0.05),
        how="within 0.05",
    ),
    _condition(
        "noise.sentinel_s",
        facts.sentinel,
        "the machine itself got faster or slower",
        "table telemetry, median",
        same=within(0.05),
        how=_PERCENT,
    ),
    _condition(
        "gpu.power_limit_w",
        environment.devices("power_limit_w"),
        "a lower limit is a lower clock",
        _BEFORE,
        same=within(0.02),
        how="within 2 %",
    ),
    _condition(
        "gpu.sm_clock_max_mhz",
        environment.devices("sm_clock_max_mhz"),
        "the clock decides the speed",
        _BEFORE,
        same=within(0.02),
        how="within 2 %",
    ),
    _condition(
        "gpu.temperature_c",
        environment.devices("temperature_c"),
        "a hot device lowers its clock",
        _BEFORE,
        same=within(0.25),
        how="within 25 %",
    ),
    _condition(
        "doctor.noise_floor",
        environment.floor,
        "smaller differences cannot be seen on the machine",
        _BEFORE,
        same=within(0.5),
        how="within 50 %",
    ),
    _condition(
        "work.steps.*",
        facts.steps,
        "times and costs of whole runs compare only runs of the same length",
        "table steps, median",
        same=within(0.01),
        how="within 1 %",
    ),
    _condition(
        "foreign.version", lambda m, _: (m.foreign or {}).get("version"), "tools change their definitions between releases", _IMPORT
    ),
    _condition("assay.version", environment.manifest("assay_version"), "another version may record otherwise", "manifest.json"),
    _context("target.*", engines.of(engines.place), "where an engine listens and how it is called says nothing of it", _SPEC),
    _context("serving.correctness.grade", loads.of("correctness", "grade"), "a grade judges a record and changes no number", _SPEC),
    _context("serving.client.most_lag", loads.of("client", "most_lag"), "a limit judges a record and changes no number", _SPEC),
    _context("serving.client.free_lag_s", loads.of("client", "free_lag_s"), "a limit judges a record and changes no number", _SPEC),
    _context("serving.client.least_achieved", loads.of("client", "least_achieved"), "a limit judges a record and changes no number", _SPEC),
    _context("foreign.file", lambda m, _: (m.foreign or {}).get("file"), "a name means nothing", _IMPORT),
    _context("record.name", environment.manifest("name"), "a name means nothing", "manifest.json"),
    _context("record.seal", lambda m, _: m.seal or None, "it says which record it is", "SHA-256 of manifest.json"),
    _context("record.created_utc", environment.manifest("created_utc"), "records are made at different times", "manifest.json"),
    _context("host.name", environment.of("host", "name"), "machines of one kind have different names", _BEFORE),
    _context("host.uptime_s", environment.of("host", "uptime_s"), "it grows", _BEFORE),
    _context(
        "workload.git.commit",
        environment.of("workload", "git", "commit"),
        "most commits leave the script as it is; its digest decides",
        _BEFORE,
    ),
    _context("workload.git.branch", environment.of("workload", "git", "branch"), "the script's digest decides", _BEFORE),
    _context("workload.git.dirty", environment.of("workload", "git", "dirty"), "the script's digest decides", _BEFORE),
    _context("software.python_executable", environment.of("software", "python", "executable"), "the version decides", _BEFORE),
    _context("prices", experiment.prices, "prices are inputs; where they differ, costs do too", _SPEC),
    _context("launches.seed", experiment.of("launches", "seed"), "it fixes order and training seeds", _SPEC),
    _context("launches.per_configuration", experiment.of("launches", "per_configuration"), "the intervals say what it means", _SPEC),
    _context("gates", lambda m, _: m.experiment.gates.model_dump(), "a gate judges a record and changes no number", _SPEC),
)


def known_names() -> tuple[str, ...]:
    """The names of the catalogue; families with their star."""
    return tuple(condition.name for condition in CONDITIONS)


_HEADINGS: Final[Mapping[ConditionClass, str]] = {
    "identity": "Identity: must be equal; a difference refuses the comparison",
    "hardware": "Hardware and software: must be equal within a tolerance; a difference refuses the comparison",
    "condition": "Conditions: a difference beyond the tolerance is said, and refuses nothing",
    "context": "Context: recorded only",
}


def reference(aliases: Mapping[str, Iterable[str]]) -> str:
    """The page docs/reference/conditions.md, from CONDITIONS and the names that `--varying` understands."""
    lines = [
        "# Conditions",
        "",
        "<!-- generated from src/assay/verdict/conditions/catalogue.py by `make docs`; do not edit -->",
        "",
        "Two records are compared only if they were made under the same conditions, but for what is studied. This is the whole",
        "catalogue. A name that ends in `.*` is a family: every key is a field of its own. The decision behind it is",
        "[0013](../decisions/0013-what-refuses-a-comparison.md).",
    ]
    for kind, heading in _HEADINGS.items():
        lines += ["", f"## {heading}", "", "| field | compared | from | matters because |", "|---|---|---|---|"]
        lines += [f"| `{c.name}` | {c.how} | {c.source} | {c.why} |" for c in CONDITIONS if c.kind == kind]
    lines += [
        "",
        "## What `--varying` understands",
        "",
        "A field, the beginning of a family or group (`workload.environment`, `software`), a key of `[conditions]`, or:",
        "",
        "| name | fields |",
        "|---|---|",
        *(f"| `{name}` | {', '.join(f'`{field}`' for field in fields)} |" for name, fields in aliases.items()),
    ]
    return "\n".join(lines) + "\n"
