"""Under which conditions was a record made?

One catalogue: each field's class, its source and why it matters.

    identity    what was run and what "good" means          must match, else the comparison is refused
    hardware    what it ran on, machine and software        must match within a tolerance, else the comparison is refused
    condition   the state of the machine                    a difference beyond the tolerance is reported, and refuses nothing
    context     when, where and by whom                     recorded only

Raw readings are never hashed or compared digit by digit: sizes are compared by distance (with buckets, a reading near an edge would
split one machine into two), versions by their leading numbers. Hashing raw readings misfires in folo-rs/folo#429 and
pytest-benchmark#255. A field missing on one side is a mismatch if it is identity, else a note. Users add fields by `[conditions]` in
the experiment. Fields are drawn from the MLPerf system description, pyperf's metadata and the NeurIPS checklist.
Cannot tell: what was not recorded, such as a library that the script loads from its own path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from fireassay import catalog
from fireassay.metrics.metric import LAUNCHED
from fireassay.verdict.comparison.types import ConditionClass
from fireassay.verdict.conditions.condition import Condition, agree_on_common, apart, overlap, within
from fireassay.verdict.conditions.declare import BEFORE, PERCENT, SPEC, condition, context, hardware, identity
from fireassay.verdict.conditions.sources import environment, experiment, facts

MEMORY: Final = 0.05  # largest relative difference of sizes on one machine: kernels reserve some memory

COMMON: Final[tuple[Condition, ...]] = (
    identity("workload.runner", experiment.of("workload", "runner"), "each runner times something else", SPEC),
    identity(
        "workload.script_sha256", environment.of("script", "sha256"), "another program does other work", f"{BEFORE} script", about=LAUNCHED
    ),
    identity("workload.script", experiment.script, "another program does other work", f"{SPEC}; only where no digest was recorded"),
    identity(
        "workload.arguments",
        experiment.of("workload", "arguments"),
        "arguments change what the program does; the placeholders {workers}, {seed} and {launch} are compared unfilled",
        SPEC,
    ),
    identity(
        "workload.steps", experiment.ending, "a part of a job takes less time and begins colder than the whole", SPEC, about=("training",)
    ),
    identity("workload.work", experiment.of("workload", "work"), "rates count this unit of work", SPEC),
    identity(
        "workload.environment.*", lambda m, _: dict(m.experiment.workload.environment), "the variable changes what the program does", SPEC
    ),
    identity(
        "conditions.*", lambda m, _: dict(m.experiment.conditions), "the experiment names it as part of the workload's identity", SPEC
    ),
    identity("factor.name", experiment.of("factor", "name"), "configurations of different factors have nothing in common", SPEC),
    identity(
        "factor.levels",
        experiment.levels,
        "only configurations that both sides have can be compared",
        SPEC,
        same=overlap,
        how="at least one in common",
    ),
    identity("scaling.mode", lambda m, _: m.mode, "strong scaling fixes the whole work, weak scaling that of a worker", SPEC),
    identity("scaling.base", experiment.base, "speedups are relative to this configuration", SPEC),
    identity("scaling.time", experiment.of("scaling", "time"), "a speedup of steps is not one of whole runs", SPEC),
    identity("quality.metric", experiment.of("quality", "metric"), "quality is judged by this score", SPEC),
    identity("quality.direction", experiment.of("quality", "direction"), "it determines which of two scores is better", SPEC),
    identity("quality.max_flip_rate", experiment.of("quality", "max_flip_rate"), "it decides which result counts as held", SPEC),
    identity("quality.margin", experiment.of("quality", "margin"), "a result that may lose more quality is easier to make fast", SPEC),
    identity("launcher.kind", experiment.of("launcher", "kind"), "the launcher decides what starts the workers, and how", SPEC),
    identity("launcher.threads_per_worker", experiment.of("launcher", "threads_per_worker"), "more threads are more hardware", SPEC),
    identity("launcher.pin", experiment.of("launcher", "pin"), "pinning decides which caches and which memory a worker shares", SPEC),
    identity("launcher.start", experiment.of("launcher", "start"), "forked workers have paid for no import", SPEC),
    identity("launcher.numa", experiment.of("launcher", "numa"), "memory of another node is slower", SPEC),
    identity("launcher.nodes", experiment.of("launcher", "nodes"), "communication between nodes is slower than within one", SPEC),
    identity("energy.source", experiment.of("energy", "source"), "counted and modelled joules are different quantities", SPEC),
    identity("warm_up.trials", facts.warm_up_trials, "first calls are slower", "table trials", absent="note"),
    identity(
        "metrics.definitions",
        facts.definitions,
        "a number is only comparable with one of the same definition",
        "signatures of the estimates",
        same=agree_on_common,
        how="exactly, for the metrics that both sides have",
        absent="note",
    ),
    identity(
        "flops.convention",
        facts.tag("flops_per_step", "conv"),
        "conventions count other operations for the same model",
        "signature of flops_per_step",
        absent="note",
        about=("training",),
    ),
    identity(
        "flops.peak",
        facts.tag("mfu", "peak"),
        "a published, a measured and a given peak are different quantities",
        "signature of mfu",
        absent="note",
        about=("training",),
    ),
    identity("dataset.size", facts.fingerprint("dataset_size"), "another data set is other work", "table fingerprints", about=LAUNCHED),
    identity("model.parameters", facts.fingerprint("parameters"), "another model is other work", "table fingerprints", about=LAUNCHED),
    identity(
        "batch.items_per_step.*",
        facts.items_per_step,
        "a larger global batch is other work, and another training",
        "table steps, median",
        same=within(1e-6),
        absent="skip",
    ),
    identity("evaluation.examples", facts.examples, "quality on other questions is another quality", "table examples, digest of the ids"),
    identity(
        "samples.set",
        facts.samples,
        "other training samples are other work",
        "table samples, digest of the ids of a whole epoch",
        absent="note",
    ),
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
    hardware("gpu.driver", environment.of("gpu", "nvidia", "driver"), "the driver brings its own compilers and libraries", BEFORE),
    hardware(
        "host.kernel",
        environment.leading(environment.of("host", "kernel"), 2),
        "scheduler and network stack change between releases",
        BEFORE,
        how="major.minor",
    ),
    hardware("host.virtualisation", environment.of("host", "virtualisation"), "a hypervisor costs time and takes some", BEFORE),
    hardware("host.container", environment.container, "a container has its own limits and file systems", BEFORE),
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
        "workload.variables.*",
        environment.variables,
        "it can change a measurement; what must not differ belongs in workload.environment",
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
    condition("assay.version", environment.manifest("assay_version"), "another version may record differently", "manifest.json"),
    context("record.name", environment.manifest("name"), "a name means nothing", "manifest.json"),
    context("record.seal", lambda m, _: m.seal or None, "it identifies the record", "SHA-256 of manifest.json"),
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
OWN: Final[tuple[Condition, ...]] = tuple(
    condition for conditions in catalog.parts("kinds", "conditions", "CONDITIONS").values() for condition in conditions
)
CONDITIONS: Final[tuple[Condition, ...]] = (
    *(condition for condition in OWN if not condition.follows),
    *COMMON,
    *(condition for condition in OWN if condition.follows),
)


def known_names() -> tuple[str, ...]:
    """Names of the catalogue; families end in a star."""
    return tuple(condition.name for condition in CONDITIONS)


_HEADINGS: Final[Mapping[ConditionClass, str]] = {
    "identity": "Identity: must be equal; a difference refuses the comparison",
    "hardware": "Hardware and software: must be equal within a tolerance; a difference refuses the comparison",
    "condition": "Conditions: a difference beyond the tolerance is reported, and refuses nothing",
    "context": "Context: recorded only",
}


def reference(aliases: Mapping[str, Iterable[str]]) -> str:
    """The page docs/reference/conditions.md, from CONDITIONS and the aliases of `--varying`."""
    lines = [
        "# Conditions",
        "",
        "<!-- generated from src/fireassay/verdict/conditions/catalogue.py by `make docs`; do not edit -->",
        "",
        "Two records are compared only if they were made under the same conditions, but for what is studied. This is the whole",
        "catalogue. A name that ends in `.*` is a family: every key is a separate field. The decision behind it is",
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
