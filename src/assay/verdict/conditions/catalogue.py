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

from assay.verdict.comparison.types import ConditionClass
from assay.verdict.conditions.condition import Condition, apart, within
from assay.verdict.conditions.declare import BEFORE, IMPORT, MEMORY, PERCENT, SPEC, condition, context, hardware
from assay.verdict.conditions.identity import IDENTITY
from assay.verdict.conditions.sources import engines, environment, experiment, facts, loads

CONDITIONS: Final[tuple[Condition, ...]] = (
    *IDENTITY,
    hardware("cpu.model", environment.of("cpu", "model"), "another processor has another speed", BEFORE),
    hardware("cpu.usable", environment.usable, "more processors do more work", BEFORE),
    hardware("cpu.smt", environment.of("cpu", "smt"), "two threads on one core share it", BEFORE),
    hardware("cpu.numa_nodes", environment.numa, "memory of another node is slower", BEFORE),
    hardware("host.machine", environment.of("host", "machine"), "another instruction set is another program", BEFORE),
    hardware(
        "memory.total_bytes",
        environment.of("memory", "total_bytes"),
        "what does not fit is swapped or not cached",
        BEFORE,
        same=within(MEMORY),
        how=PERCENT,
    ),
    hardware("gpu.models", environment.devices("name"), "another accelerator has another speed", BEFORE),
    hardware("gpu.count", environment.gpu_count, "more accelerators do more work", BEFORE),
    hardware(
        "gpu.memory_bytes",
        environment.devices("memory_bytes"),
        "memory decides which batch and which cache fit",
        BEFORE,
        same=within(MEMORY),
        how=PERCENT,
    ),
    hardware("gpu.driver", environment.of("gpu", "nvidia", "driver"), "the driver brings compilers and libraries of its own", BEFORE),
    hardware(
        "host.kernel",
        environment.leading(environment.of("host", "kernel"), 2),
        "scheduler and network stack change between releases",
        BEFORE,
        how="major.minor",
    ),
    hardware("host.virtualisation", environment.of("host", "virtualisation"), "a hypervisor costs time and takes some", BEFORE),
    hardware("host.container", environment.container, "a container has limits and file systems of its own", BEFORE),
    hardware(
        "cgroup.cpu_quota", environment.quota, "a quota stops the processes that used it up", BEFORE, same=within(0.01), how="within 1 %"
    ),
    hardware(
        "cgroup.memory_limit",
        environment.memory_limit,
        "what does not fit is killed or not cached",
        BEFORE,
        same=within(MEMORY),
        how=PERCENT,
    ),
    hardware(
        "software.python",
        environment.leading(environment.of("software", "python", "version"), 2),
        "interpreters differ in speed",
        BEFORE,
        how="major.minor",
    ),
    hardware(
        "software.torch.version", environment.of("software", "torch", "version"), "kernels and collectives change between releases", BEFORE
    ),
    hardware("software.torch.cuda", environment.of("software", "torch", "cuda"), "kernels and collectives change between releases", BEFORE),
    hardware("software.packages.*", environment.packages, "this package does part of the work", BEFORE),
    condition(
        "serving.client.transport",
        loads.of("client", "transport"),
        "a library carries less, and stamps later; what is sent is the same",
        SPEC,
    ),
    condition(
        "client.path",
        loads.path,
        "each path to the server costs the client something else, and tells the time in its own way",
        "table requests, transport",
    ),
    condition(
        "serving.client.processes", loads.of("client", "processes"), "more processes carry more load; what is sent is the same", SPEC
    ),
    condition("serving.client.connections", loads.of("client", "connections"), "requests wait for a connection where these are few", SPEC),
    condition("serving.client.timeout_s", loads.of("client", "timeout_s"), "a shorter patience turns slow answers into failures", SPEC),
    condition(
        "serving.client.first_byte_timeout_s",
        loads.of("client", "first_byte_timeout_s"),
        "a shorter patience turns slow answers into failures",
        SPEC,
    ),
    condition("serving.client.first_pause_s", loads.of("client", "first_pause_s"), "a limited stream comes back sooner", SPEC),
    condition("serving.client.most_pause_s", loads.of("client", "most_pause_s"), "a limited stream comes back sooner", SPEC),
    context("serving.client.dead_after_s", loads.of("client", "dead_after_s"), "it ends a load of which nothing is measured", SPEC),
    condition(
        "serving.client.verify_tls", loads.of("client", "verify_tls"), "where certificates are not checked, anybody may have answered", SPEC
    ),
    condition("serving.client.http2", loads.of("client", "http2"), "requests share a connection", SPEC),
    condition("serving.client.proxy", loads.of("client", "proxy"), "a proxy adds its own time", SPEC),
    condition("serving.arrivals.duration_s", loads.of("arrivals", "duration_s"), "a queue that grows shows in longer loads", SPEC),
    condition("serving.arrivals.warm_up_s", loads.of("arrivals", "warm_up_s"), "caches and compilers need their time", SPEC),
    condition("serving.arrivals.cold", loads.of("arrivals", "cold"), "requests before the load warm the engine up", SPEC),
    condition("serving.arrivals.drain_s", loads.of("arrivals", "drain_s"), "what is not waited for is a failure", SPEC),
    condition(
        "workload.variables.*",
        environment.variables,
        "it can change a measurement; what must not differ belongs into workload.environment",
        BEFORE,
    ),
    condition("host.os", environment.of("host", "os"), "system libraries change between releases", BEFORE),
    condition("cpu.governors", environment.of("cpu", "governors"), "the governor decides the clock", BEFORE),
    condition("host.aslr", environment.of("host", "aslr"), "memory layout varies from launch to launch", BEFORE),
    condition(
        "noise.load_per_processor",
        environment.load,
        "other programs take processors and caches",
        BEFORE,
        same=apart(0.25),
        how="within 0.25",
    ),
    condition(
        "noise.steal_share",
        environment.steal,
        "the hypervisor takes processor time",
        "environment before and after",
        same=apart(0.01),
        how="within 0.01",
    ),
    condition(
        "noise.pressure_cpu",
        environment.pressure("cpu"),
        "tasks waited for a processor",
        "environment before and after",
        same=apart(0.05),
        how="within 0.05",
    ),
    condition(
        "noise.pressure_memory",
        environment.pressure("memory"),
        "tasks waited for memory",
        "environment before and after",
        same=apart(0.05),
        how="within 0.05",
    ),
    condition(
        "noise.pressure_io",
        environment.pressure("io"),
        "tasks waited for input or output",
        "environment before and after",
        same=apart(0.05),
        how="within 0.05",
    ),
    condition(
        "noise.sentinel_s",
        facts.sentinel,
        "the machine itself got faster or slower",
        "table telemetry, median",
        same=within(0.05),
        how=PERCENT,
    ),
    condition(
        "gpu.power_limit_w",
        environment.devices("power_limit_w"),
        "a lower limit is a lower clock",
        BEFORE,
        same=within(0.02),
        how="within 2 %",
    ),
    condition(
        "gpu.sm_clock_max_mhz",
        environment.devices("sm_clock_max_mhz"),
        "the clock decides the speed",
        BEFORE,
        same=within(0.02),
        how="within 2 %",
    ),
    condition(
        "gpu.temperature_c",
        environment.devices("temperature_c"),
        "a hot device lowers its clock",
        BEFORE,
        same=within(0.25),
        how="within 25 %",
    ),
    condition(
        "doctor.noise_floor",
        environment.floor,
        "smaller differences cannot be seen on the machine",
        BEFORE,
        same=within(0.5),
        how="within 50 %",
    ),
    condition(
        "work.steps.*",
        facts.steps,
        "times and costs of whole runs compare only runs of the same length",
        "table steps, median",
        same=within(0.01),
        how="within 1 %",
    ),
    condition("foreign.version", lambda m, _: (m.foreign or {}).get("version"), "tools change their definitions between releases", IMPORT),
    condition("assay.version", environment.manifest("assay_version"), "another version may record otherwise", "manifest.json"),
    context("target.*", engines.of(engines.place), "where an engine listens and how it is called says nothing of it", SPEC),
    context("serving.correctness.grade", loads.of("correctness", "grade"), "a grade judges a record and changes no number", SPEC),
    context("serving.client.most_lag", loads.of("client", "most_lag"), "a limit judges a record and changes no number", SPEC),
    context("serving.client.free_lag_s", loads.of("client", "free_lag_s"), "a limit judges a record and changes no number", SPEC),
    context("serving.client.least_achieved", loads.of("client", "least_achieved"), "a limit judges a record and changes no number", SPEC),
    context("foreign.file", lambda m, _: (m.foreign or {}).get("file"), "a name means nothing", IMPORT),
    context("record.name", environment.manifest("name"), "a name means nothing", "manifest.json"),
    context("record.seal", lambda m, _: m.seal or None, "it says which record it is", "SHA-256 of manifest.json"),
    context("record.created_utc", environment.manifest("created_utc"), "records are made at different times", "manifest.json"),
    context("host.name", environment.of("host", "name"), "machines of one kind have different names", BEFORE),
    context("host.uptime_s", environment.of("host", "uptime_s"), "it grows", BEFORE),
    context(
        "workload.git.commit",
        environment.of("workload", "git", "commit"),
        "most commits leave the script as it is; its digest decides",
        BEFORE,
    ),
    context("workload.git.branch", environment.of("workload", "git", "branch"), "the script's digest decides", BEFORE),
    context("workload.git.dirty", environment.of("workload", "git", "dirty"), "the script's digest decides", BEFORE),
    context("software.python_executable", environment.of("software", "python", "executable"), "the version decides", BEFORE),
    context("prices", experiment.prices, "prices are inputs; where they differ, costs do too", SPEC),
    context("launches.seed", experiment.of("launches", "seed"), "it fixes order and training seeds", SPEC),
    context("launches.per_configuration", experiment.of("launches", "per_configuration"), "the intervals say what it means", SPEC),
    context("gates", lambda m, _: m.experiment.gates.model_dump(), "a gate judges a record and changes no number", SPEC),
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
